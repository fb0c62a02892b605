#pragma once

#include <QString>
#include <QStringList>
#include <QWidget>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gui/window/theme.hpp"
#include "simulator/plan/plan.hpp"
#include "tracer/trace.hpp"

class QAction;
class QSettings;

namespace cohort {

/// The screens. Profile, Explore, Run and Compare are the stations of the way from a model to a verdict; Timeline and
/// Scaling look closer.
enum class PageId { kProfile, kExplore, kRun, kCompare, kTimeline, kScaling };

/// A file that is open: a trace of any kind, or a plan.
struct OpenFile {
  QString path;                        ///< absolute
  std::shared_ptr<const Trace> trace;  ///< null for a plan
  std::shared_ptr<const Plan> plan;    ///< null for a trace
};

/// What a page asks of the window: to open `files` where they are not open yet, and to show them on a page.
struct PageRequest {
  std::optional<PageId> page;  ///< none: the one where such files belong
  QStringList files;           ///< of Compare: predicted, then measured
};

/// What a page's place in the line at the top says.
struct PageState {
  bool enabled = true;
  QString next;  ///< one sentence: what to do here next; of a page that is not enabled, what it waits for
};

/// One line of the sheet that `?` opens.
struct Shortcut {
  QString keys;     ///< "Ctrl+wheel"
  QString meaning;  ///< "zoom at the cursor"
};

/// A screen of the window. It gets all open files, takes of them what it can show, and says what to do next. Loading,
/// watching, themes and settings are the window's; a page does its own long work off the GUI thread.
class Page : public QWidget {
  Q_OBJECT

 public:
  explicit Page(QWidget* parent = nullptr);

  [[nodiscard]] virtual QString title() const = 0;  ///< "Explore"
  [[nodiscard]] virtual PageState state() const = 0;

  /// The open files in the order in which they were opened: when one is opened, closed or has changed on disk. A file
  /// that has not changed keeps its pointers.
  virtual void set_files(const std::vector<OpenFile>& files) = 0;
  /// Shows these of the open files, which the user has just asked to see here (PageRequest::files).
  virtual void show_files(const QStringList& paths) { static_cast<void>(paths); }

  /// Prepares what can be done with an .onnx file, which is never open: the user has asked to see it.
  virtual void show_model(const QString& path) { static_cast<void>(path); }

  virtual void set_theme(const Theme& theme) { static_cast<void>(theme); }

  /// What is to be remembered from one start to the next, in a group of the page's own.
  virtual void save(QSettings& settings) const { static_cast<void>(settings); }
  virtual void restore(QSettings& settings) { static_cast<void>(settings); }

  [[nodiscard]] virtual std::vector<Shortcut> shortcuts() const { return {}; }
  /// For the menu and the command palette while the page is shown; the page owns them.
  [[nodiscard]] virtual std::vector<QAction*> commands() const { return {}; }

  /// False while work is under way whose end changes the picture: a screenshot waits for it.
  [[nodiscard]] virtual bool settled() const { return true; }

 Q_SIGNALS:
  /// state(), commands() or settled() have changed.
  void state_changed();
  void requested(const PageRequest& request);
  /// A failure to show in a banner until it is closed.
  void failed(const QString& message);
};

}  // namespace cohort
