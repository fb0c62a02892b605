#pragma once

#include <QString>
#include <optional>
#include <vector>

#include "gui/window/page.hpp"
#include "view/compare/compared_slices.hpp"

namespace cohort {

/// Paths of the two traces to compare.
using ComparedPaths = PerSide<QString>;

/// The pair that a user most likely means: the last opened predicted trace that has a measured one of the same plan,
/// with the last such; else the last predicted and the last measured one; else the first two traces, profiles behind
/// all others. Absent where fewer than two traces are open.
std::optional<ComparedPaths> likely_pair(const std::vector<OpenFile>& files);

/// Of an open trace; null where none of that path is open.
const OpenFile* open_trace(const std::vector<OpenFile>& files, const QString& path);

}  // namespace cohort
