#pragma once

#include "gui/files/recent_files.hpp"
#include "gui/process/child_program.hpp"
#include "gui/window/page.hpp"

class QLabel;
class QListWidget;
class QPushButton;

namespace cohort {

class ProfileForm;
class ProgressPanel;

/// The first station, a way in for someone who has no file yet: a model to profile here, files to open, those opened
/// last, and recorded examples.
class StartPage : public Page {
  Q_OBJECT

 public:
  /// `recent` must outlive it.
  explicit StartPage(RecentFiles& recent, QWidget* parent = nullptr);

  [[nodiscard]] QString title() const override { return tr("Profile"); }
  [[nodiscard]] PageState state() const override;
  void set_files(const std::vector<OpenFile>& files) override;
  void show_model(const QString& path) override;
  void save(QSettings& settings) const override;
  void restore(QSettings& settings) override;
  [[nodiscard]] bool settled() const override;

  [[nodiscard]] ProfileForm& form() { return *form_; }
  void start_profile();

 private:
  QWidget* make_profile_card();
  QWidget* make_open_card();
  QWidget* make_example_card();
  void fill_recent();
  void finish_profile(const ChildOutcome& outcome);
  void choose_files();

  RecentFiles& recent_;
  ChildProgram program_;
  ProfileForm* form_;
  QPushButton* start_;
  QLabel* trouble_;
  ProgressPanel* progress_;
  QListWidget* recent_list_;
  QLabel* no_recent_;
  QString profile_;  ///< that is being made
  bool has_files_ = false;
  bool has_profile_ = false;
};

}  // namespace cohort
