#pragma once

#include <QString>
#include <QStringList>
#include <vector>

#include "gui/window/page.hpp"

namespace cohort {

/// Recorded files to try the viewer on.
struct Example {
  QString title;
  QString text;  ///< what is to be seen in it
  PageRequest request;
};

/// The folder of recorded examples of a program in `program_folder`: ../share/cohort/examples of one that is installed,
/// the sources' traces/ of one in their build folder. Empty where there is neither.
QString find_examples(const QString& program_folder);

/// Walk-throughs (predicted and measured) first, then profiles, by name. What they are is told from their names.
std::vector<Example> examples_in(const QString& folder);

}  // namespace cohort
