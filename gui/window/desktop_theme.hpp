#pragma once

#include <QDBusVariant>
#include <QObject>

#include "gui/window/theme.hpp"

namespace cohort {

/// Whether the desktop asks for dark windows: what its settings portal says, else what the palette tells that Qt made
/// of the desktop's. Source: the portal's key "color-scheme" of "org.freedesktop.appearance",
/// https://flatpak.github.io/xdg-desktop-portal/docs/doc-org.freedesktop.portal.Settings.html
class DesktopTheme : public QObject {
  Q_OBJECT

 public:
  /// `palette` as it was before the program set its own. Asks the portal without waiting for it.
  explicit DesktopTheme(const QPalette& palette, QObject* parent = nullptr);

  [[nodiscard]] ThemeKind kind() const { return kind_; }

 Q_SIGNALS:
  void changed();

 private Q_SLOTS:
  void take_setting(const QString& group, const QString& key, const QDBusVariant& value);

 private:
  void take_scheme(const QVariant& value);

  ThemeKind by_palette_;
  ThemeKind kind_;
};

}  // namespace cohort
