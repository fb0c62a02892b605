#include "gui/window/desktop_theme.hpp"

#include <QDBusConnection>
#include <QDBusMessage>
#include <QDBusPendingCallWatcher>
#include <QDBusPendingReply>

namespace cohort {
namespace {

const QString kService = QStringLiteral("org.freedesktop.portal.Desktop");
const QString kPath = QStringLiteral("/org/freedesktop/portal/desktop");
const QString kInterface = QStringLiteral("org.freedesktop.portal.Settings");
const QString kSchemeGroup = QStringLiteral("org.freedesktop.appearance");
const QString kSchemeKey = QStringLiteral("color-scheme");

}  // namespace

DesktopTheme::DesktopTheme(const QPalette& palette, QObject* parent)
    : QObject(parent), by_palette_(system_theme(palette)), kind_(by_palette_) {
  if (qEnvironmentVariableIsEmpty("DBUS_SESSION_BUS_ADDRESS")) return;  // else Qt might start a bus
  QDBusConnection bus = QDBusConnection::sessionBus();
  if (!bus.isConnected()) return;
  bus.connect(kService, kPath, kInterface, QStringLiteral("SettingChanged"), this,
              SLOT(take_setting(QString, QString, QDBusVariant)));
  QDBusMessage question = QDBusMessage::createMethodCall(kService, kPath, kInterface, QStringLiteral("Read"));
  question << kSchemeGroup << kSchemeKey;
  auto* answer = new QDBusPendingCallWatcher(bus.asyncCall(question), this);
  connect(answer, &QDBusPendingCallWatcher::finished, this, [this, answer] {
    const QDBusPendingReply<QDBusVariant> reply = *answer;
    if (reply.isValid()) take_scheme(reply.value().variant());
    answer->deleteLater();
  });
}

void DesktopTheme::take_setting(const QString& group, const QString& key, const QDBusVariant& value) {
  if (group == kSchemeGroup && key == kSchemeKey) take_scheme(value.variant());
}

void DesktopTheme::take_scheme(const QVariant& value) {
  constexpr uint kNoPreference = 0;
  constexpr uint kPrefersDark = 1;
  QVariant scheme = value;
  while (scheme.canConvert<QDBusVariant>()) scheme = scheme.value<QDBusVariant>().variant();  // Read() wraps it twice
  bool is_number = false;
  const uint number = scheme.toUInt(&is_number);
  if (!is_number) return;
  const ThemeKind preferred = number == kPrefersDark ? ThemeKind::kDark : ThemeKind::kLight;
  const ThemeKind kind = number == kNoPreference ? by_palette_ : preferred;
  if (std::exchange(kind_, kind) != kind) Q_EMIT changed();
}

}  // namespace cohort
