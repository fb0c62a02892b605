#pragma once

#include <QByteArray>
#include <QString>
#include <optional>
#include <vector>

#include "base/units.hpp"
#include "gui/window/page.hpp"

namespace cohort {

/// What `cohort run --json` says of a run.
struct RunFigures {
  Nanoseconds plan{};      ///< of a step, median
  Nanoseconds baseline{};  ///< of the members one by one, median
  double speedup = 0;
  std::int64_t samples_per_step = 0;
};

/// Nothing where the text is something else.
std::optional<RunFigures> run_figures_from(const QByteArray& json);

/// The trace of a plan that was predicted: among the open files one of the same plan, else the file that `cohort plan`
/// puts beside it. Empty where there is neither.
QString predicted_trace_of(const OpenFile& plan, const std::vector<OpenFile>& files);

/// "16 members of lenet5 on cpu:0, 2 streams: concurrent (all ops)", what a plan does.
QString summary_of(const Plan& plan);

}  // namespace cohort
