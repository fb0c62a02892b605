#pragma once

#include <QWidget>
#include <vector>

#include "gui/compare/pairing.hpp"
#include "view/compare/trace_comparison.hpp"

class QComboBox;
class QLabel;
class QToolButton;

namespace cohort {

/// What is compared and where it is laid over each other: two files, a step of each, the alignment.
class CompareBar : public QWidget {
  Q_OBJECT

 public:
  explicit CompareBar(QWidget* parent = nullptr);

  /// Traces to choose from; keeps the chosen ones where they are still open.
  void set_files(const std::vector<OpenFile>& files);
  void choose(const ComparedPaths& paths);
  /// No file of either side, with names of what is compared instead. Without a signal.
  void choose_none(const PerSide<QString>& instead);
  /// Empty for a side without a file.
  [[nodiscard]] ComparedPaths chosen() const;
  /// Files and the names that stand instead change sides.
  void swap();

  /// What there is to choose among the steps and names of the chosen traces, and what of it is shown.
  void set_choices(const TraceComparison& comparison, const CompareSettings& shown,
                   const std::vector<std::string>& anchors);
  [[nodiscard]] CompareSettings settings() const;
  void set_align(AlignAt align);
  /// Aligns at a name, if it is one to choose.
  void align_at(const QString& name);
  void set_scope(CompareScope scope);

 Q_SIGNALS:
  void traces_changed();
  void swapped();
  void settings_changed();

 private:
  void show_anchors();

  PerSide<QLabel*> sides_{};
  PerSide<QComboBox*> files_{};
  PerSide<QComboBox*> steps_{};
  QToolButton* swap_ = nullptr;
  QComboBox* align_ = nullptr;
  QComboBox* anchor_ = nullptr;
  QComboBox* scope_ = nullptr;
};

}  // namespace cohort
