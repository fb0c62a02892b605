#pragma once

#include "gui/process/child_program.hpp"
#include "gui/process/device_list.hpp"
#include "gui/run/run_outcome.hpp"
#include "gui/window/page.hpp"

class QComboBox;
class QFrame;
class QLabel;
class QPushButton;

namespace cohort {

class ProgressPanel;

/// The third station: runs a plan on a device of this machine, measured in turn with its members one by one, and opens
/// what was measured over what was predicted.
class RunPage : public Page {
  Q_OBJECT

 public:
  explicit RunPage(QWidget* parent = nullptr);

  [[nodiscard]] QString title() const override { return tr("Run"); }
  [[nodiscard]] PageState state() const override;
  void set_files(const std::vector<OpenFile>& files) override;
  void show_files(const QStringList& paths) override;
  [[nodiscard]] bool settled() const override { return !program_.running() && !devices_.is_loading(); }

  void start_run();
  /// Where the trace of a plan's run goes: beside the plan, as `cohort run` names it.
  [[nodiscard]] static QString measured_trace_of(const QString& plan);

 protected:
  void showEvent(QShowEvent* event) override;

 private:
  QWidget* make_choice();
  QWidget* make_result();
  [[nodiscard]] const OpenFile* chosen() const;
  void choose_device();
  void show_plan();
  void finish_run(const ChildOutcome& outcome);
  void show_figures(const RunFigures& figures);

  std::vector<OpenFile> files_;
  ChildProgram program_;
  DeviceList devices_;
  QComboBox* plan_;
  QLabel* summary_;
  QComboBox* device_;
  QLabel* note_;
  QPushButton* start_;
  QLabel* trouble_;
  ProgressPanel* progress_;
  QFrame* result_;
  QLabel* speedup_;
  QLabel* times_;
  QPushButton* compare_;
  QString running_plan_;
  QString measured_;
  PageRequest comparison_;  ///< of the run that was made last
};

}  // namespace cohort
