#include "gui/process/device_list.hpp"

#include <QComboBox>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QStandardItemModel>

namespace cohort {

std::optional<std::vector<ListedDevice>> listed_devices_from(const QByteArray& json) {
  const QJsonDocument document = QJsonDocument::fromJson(json);
  if (!document.isArray()) return std::nullopt;
  std::vector<ListedDevice> devices;
  for (const QJsonValue& value : document.array()) {
    const QJsonObject object = value.toObject();
    ListedDevice device;
    device.id = object.value(QLatin1String("id")).toString();
    device.name = object.value(QLatin1String("name")).toString();
    device.available = object.value(QLatin1String("available")).toBool();
    device.reason = object.value(QLatin1String("reason")).toString();
    if (device.id.isEmpty()) return std::nullopt;
    devices.push_back(std::move(device));
  }
  return devices;
}

DeviceList::DeviceList(QObject* parent) : QObject(parent) {
  connect(&program_, &ChildProgram::finished, this, &DeviceList::take);
}

void DeviceList::load() {
  if (is_loaded_ || program_.running()) return;
  const auto cohort = find_cohort();
  if (!cohort) {
    message_ = QString::fromStdString(cohort.error().message);
    Q_EMIT changed();
    return;
  }
  program_.start(*cohort, {QStringLiteral("devices"), QStringLiteral("--json")});
}

void DeviceList::take(const ChildOutcome& outcome) {
  auto devices = outcome.done() ? listed_devices_from(outcome.output) : std::nullopt;
  is_loaded_ = devices.has_value();
  if (devices) devices_ = std::move(*devices);
  message_ = is_loaded_ ? QString() : outcome.done() ? tr("cohort devices gave no list") : outcome.message;
  Q_EMIT changed();
}

void fill_with_devices(QComboBox& box, const DeviceList& list) {
  const QString chosen = box.currentData().toString();
  box.clear();
  auto* model = qobject_cast<QStandardItemModel*>(box.model());
  for (const ListedDevice& device : list.devices()) {
    box.addItem(device.id + QStringLiteral(" – ") + (device.available ? device.name : QObject::tr("not available")),
                device.id);
    const int row = box.count() - 1;
    box.setItemData(row, device.available ? device.name : device.reason, Qt::ToolTipRole);
    if (!device.available && model != nullptr) model->item(row)->setEnabled(false);
  }
  if (const int row = box.findData(chosen); row >= 0) box.setCurrentIndex(row);
}

}  // namespace cohort
