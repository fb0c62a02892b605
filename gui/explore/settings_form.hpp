#pragma once

#include <QWidget>
#include <optional>
#include <vector>

#include "gui/explore/number_field.hpp"
#include "view/explore/explore_facts.hpp"
#include "view/explore/explore_settings.hpp"

class QCheckBox;
class QComboBox;
class QFormLayout;
class QGroupBox;
class QLabel;
class QLineEdit;

namespace cohort {

/// Fields and sliders for all of the settings but groups and places. What does not apply to what is explored is hidden.
class SettingsForm : public QWidget {
  Q_OBJECT

 public:
  explicit SettingsForm(QWidget* parent = nullptr);

  /// What is explored: makes the fields anew.
  void set_facts(const ExploreFacts& facts);
  /// Without a signal.
  void set_settings(const ExploreSettings& settings);
  [[nodiscard]] const ExploreSettings& settings() const { return settings_; }
  /// What limits that are off start from when they are set: what the plan takes now.
  void suggest_limits(const Limits& taken);
  void show_problems(const std::vector<SettingsProblem>& problems);

 Q_SIGNALS:
  /// A field was changed; settings() has it.
  void changed();
  /// Other numbers of models were asked for, one for all or one by model: groups have to follow.
  void models_asked(const std::vector<int>& models);

 private:
  QFormLayout& section(const QString& title);
  NumberField& number(QFormLayout& form, const char* name, const QString& label, const NumberField::Range& range);
  QCheckBox& check(QFormLayout& form, const char* name, const QString& text);
  /// A limit in MiB that may be none.
  void add_limit(QFormLayout& form, const char* name, const QString& label, std::optional<Bytes> Limits::*limit);
  void add_members();
  void add_minibatch(QFormLayout& form);
  void add_device();
  void add_input();
  void add_limits();
  void add_changes();
  void add_fusion(QFormLayout& form);
  void read_models();
  void show_minibatch(const ExploreSettings& settings);
  void read_minibatch(ExploreSettings& settings);
  void show_fusion(const ExploreSettings& settings);
  void add_processes(QFormLayout& form);
  /// What does not apply to graphs, or to several processes.
  void enable_what_applies();
  void change();

  struct LimitField {
    QCheckBox* on = nullptr;
    NumberField* amount = nullptr;
    std::optional<Bytes> Limits::*limit = nullptr;
    double shown = 0;  ///< what it shows of the settings
  };

  ExploreFacts facts_;
  ExploreSettings settings_;
  QWidget* content_ = nullptr;
  QLabel* problems_ = nullptr;
  std::vector<NumberField*> models_;
  QComboBox* minibatch_ = nullptr;
  NumberField* any_minibatch_ = nullptr;
  QCheckBox* other_minibatch_ = nullptr;
  NumberField* recorded_minibatch_ = nullptr;  ///< 0: not said
  NumberField* streams_ = nullptr;
  QCheckBox* graphs_ = nullptr;
  QComboBox* processes_ = nullptr;
  NumberField* launch_threads_ = nullptr;
  QCheckBox* shared_input_ = nullptr;
  NumberField* buffers_ = nullptr;
  NumberField* decode_workers_ = nullptr;
  QLineEdit* data_ = nullptr;
  QComboBox* fuse_ = nullptr;
  QLineEdit* fused_ = nullptr;
  QLineEdit* faster_ = nullptr;
  bool faster_is_wrong_ = false;  ///< what is typed there; then no change is told of
  QCheckBox* mixed_precision_ = nullptr;
  NumberField* copy_speed_ = nullptr;
  NumberField* interconnect_speed_ = nullptr;
  std::vector<LimitField> limits_;
};

/// "softmax=2, gemm*=1.5" as names and factors; nothing where any part is not of this form.
std::optional<std::vector<std::pair<std::string, double>>> factors_from(const QString& text);

}  // namespace cohort
