#pragma once

#include <QObject>
#include <QStringList>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "gui/jobs/latest_job.hpp"
#include "gui/window/page.hpp"
#include "view/explore/exploration.hpp"

namespace cohort {

/// What of the open files is explored, opened off the GUI thread, with the settings that the user is looking at. The
/// pages that explore share one.
class ExplorationSource : public QObject {
  Q_OBJECT

 public:
  using Opener =
      std::function<Result<std::unique_ptr<Exploration>>(std::vector<NamedTrace> traces, const CancelToken& cancel)>;
  /// `opener` unless given: Exploration::open().
  explicit ExplorationSource(QObject* parent = nullptr, Opener opener = {});
  ~ExplorationSource() override;

  /// One thing that can be explored: a profile, a trace of a run, or all profiles together.
  struct Choice {
    QString title;
    QStringList paths;
  };

  /// Any page that has been given the open files hands them on; the same ones again change nothing.
  void set_files(const std::vector<OpenFile>& files);
  [[nodiscard]] const std::vector<Choice>& choices() const { return choices_; }
  [[nodiscard]] int chosen() const { return chosen_; }
  void choose(int choice);
  /// The choice that has these files alone; absent where there is none.
  [[nodiscard]] std::optional<int> choice_of(const QStringList& paths) const;
  [[nodiscard]] const std::vector<OpenFile>& files() const { return files_; }

  /// Null until something is opened.
  [[nodiscard]] const std::shared_ptr<Exploration>& exploration() const { return exploration_; }
  /// What exploration() is made of, traces of runs that were measured beside profiles apart.
  [[nodiscard]] const std::vector<std::shared_ptr<const Trace>>& recordings() const { return recordings_; }
  [[nodiscard]] bool opening() const { return job_.running(); }
  [[nodiscard]] const QString& error() const { return error_; }
  /// Of pages that have nothing to show: that it is being opened, or why it cannot be; else `nothing_yet`. Rich text.
  [[nodiscard]] QString emptiness(const QString& nothing_yet) const;

  [[nodiscard]] const ExploreSettings& settings() const { return settings_; }
  void set_settings(ExploreSettings settings);
  /// Those of the plan that was opened last, of those that fit what is explored; without one where that begins.
  [[nodiscard]] ExploreSettings first_settings() const;

 Q_SIGNALS:
  void choices_changed();
  /// Opening began, or ended: exploration() and error() say how.
  void exploration_changed();
  void settings_changed();

 private:
  void open();
  void follow_plans();

  Opener opener_;
  std::vector<OpenFile> files_;
  std::vector<Choice> choices_;
  int chosen_ = -1;
  std::vector<std::shared_ptr<const Trace>> opened_;  ///< of exploration_, or of what is being opened
  std::vector<std::shared_ptr<const Trace>> recordings_;
  QStringList opened_paths_;  ///< of the choice that settings_ are for
  std::shared_ptr<Exploration> exploration_;
  QString error_;
  ExploreSettings settings_;
  ExploreSettings first_settings_;  ///< what settings_ began with
  LatestJob<Result<std::unique_ptr<Exploration>>> job_;
};

}  // namespace cohort
