#pragma once

#include <QObject>
#include <QString>
#include <vector>

#include "gui/process/child_program.hpp"

class QComboBox;

namespace cohort {

/// A device as `cohort devices --json` lists it.
struct ListedDevice {
  QString id;    ///< "cpu:0"
  QString name;  ///< "AMD EPYC"
  bool available = false;
  QString reason;  ///< why it is not available
};

/// Nothing where the text is no such list.
std::optional<std::vector<ListedDevice>> listed_devices_from(const QByteArray& json);

/// The devices of this machine, asked of `cohort` once: opening a GPU takes a moment.
class DeviceList : public QObject {
  Q_OBJECT

 public:
  explicit DeviceList(QObject* parent = nullptr);

  /// Asks, unless it is being asked or has answered.
  void load();
  [[nodiscard]] bool is_loaded() const { return is_loaded_; }
  [[nodiscard]] bool is_loading() const { return program_.running(); }
  [[nodiscard]] const std::vector<ListedDevice>& devices() const { return devices_; }
  /// Why there is no list; empty where there is one, or none yet.
  [[nodiscard]] const QString& message() const { return message_; }

 Q_SIGNALS:
  void changed();

 private:
  void take(const ChildOutcome& outcome);

  ChildProgram program_;
  std::vector<ListedDevice> devices_;
  QString message_;
  bool is_loaded_ = false;
};

/// Makes a box's entries those of a list, those that are not available greyed with the reason as tool tip; the entry
/// that was chosen stays, where there is one of its id.
void fill_with_devices(QComboBox& box, const DeviceList& list);

}  // namespace cohort
