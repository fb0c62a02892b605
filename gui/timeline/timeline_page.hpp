#pragma once

#include "gui/timeline/timeline_panel.hpp"
#include "gui/window/page.hpp"

namespace cohort {

/// The screen that looks at open traces closely: one of them, or several on one time axis.
class TimelinePage : public Page {
  Q_OBJECT

 public:
  explicit TimelinePage(QWidget* parent = nullptr);
  ~TimelinePage() override;

  [[nodiscard]] QString title() const override;
  [[nodiscard]] PageState state() const override;
  void set_files(const std::vector<OpenFile>& files) override;
  void show_files(const QStringList& paths) override;
  void set_theme(const Theme& theme) override;
  void save(QSettings& settings) const override;
  void restore(QSettings& settings) override;
  [[nodiscard]] std::vector<Shortcut> shortcuts() const override;
  [[nodiscard]] std::vector<QAction*> commands() const override;
  [[nodiscard]] bool settled() const override;

  [[nodiscard]] TimelinePanel& panel() { return *panel_; }
  /// Paths of the traces that are shown or being made ready.
  [[nodiscard]] const QStringList& shown() const { return shown_; }

 private:
  void make_commands();
  void update_chooser();
  void choose(int index);
  void show_traces(const QStringList& paths);

  TimelinePanel* panel_ = nullptr;
  QComboBox* chooser_ = nullptr;
  std::vector<QAction*> commands_;
  std::vector<OpenFile> traces_;  ///< of the open files those with a trace
  QStringList shown_;
  std::vector<std::shared_ptr<const Trace>> shown_traces_;
  LatestJob<TimelineWithCurves> making_;
};

}  // namespace cohort
