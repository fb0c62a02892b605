#pragma once

#include <QWidget>
#include <map>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "gui/process/device_list.hpp"

class QComboBox;
class QFormLayout;
class QLabel;
class QLineEdit;
class QSpinBox;

namespace cohort {

/// What is to be profiled, and how: the fields of a `cohort profile`.
class ProfileForm : public QWidget {
  Q_OBJECT

 public:
  explicit ProfileForm(QWidget* parent = nullptr);

  /// Words after "cohort". Errors: kUsage, naming the field.
  [[nodiscard]] Result<QStringList> words() const;
  /// The profile that is written, absolute.
  [[nodiscard]] QString output() const;
  /// Says whether a file is there that would be replaced; words() replaces no other.
  void note_output();
  [[nodiscard]] QString model() const;  ///< a network's name, or the path of an .onnx file
  void choose_model(const QString& network_or_file);
  /// Where profiles are put unless another place is given.
  void set_folder(const QString& folder);
  [[nodiscard]] QString folder() const;
  /// False while the devices are being asked for.
  [[nodiscard]] bool is_settled() const { return !devices_.is_loading(); }

 Q_SIGNALS:
  void settled();

 private:
  struct ArgumentField {
    QLineEdit* edit = nullptr;
    QString default_value;
  };
  /// A field that ONNX files alone have.
  struct FileField {
    QLineEdit* edit = nullptr;
    QString option;    ///< of the command, for each of its values
    QString between;   ///< what separates these, a regular expression
    std::string form;  ///< how each has to be given, with '='; empty: any way
  };
  void make_model_row(QFormLayout& form);
  void make_file_rows();
  void make_output_row(QFormLayout& form);
  void model_changed();
  void show_arguments();
  void propose_output();
  void choose_onnx_file();

  QComboBox* model_;
  QLabel* description_;
  QWidget* arguments_;
  std::map<QString, ArgumentField> argument_fields_;
  std::vector<FileField> file_fields_;
  QString file_;  ///< that they are of
  QSpinBox* minibatch_;
  QComboBox* device_;
  QComboBox* budget_;
  QLineEdit* output_;
  QLabel* output_note_;
  QFormLayout* form_;
  QString folder_;
  int last_network_ = 0;  ///< to go back to where no .onnx file is chosen
  DeviceList devices_;
};

}  // namespace cohort
