#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tracer/summary/gpu_summary.hpp"
#include "tracer/trace.hpp"
#include "view/chart/drawing.hpp"

namespace cohort {

struct FigureSlice {
  Nanoseconds start{};  ///< from the figure's beginning
  Nanoseconds duration{};
  std::size_t colour = 0;  ///< position in TimelineFigure::colours
  std::string title;       ///< what a pointer on it is told
};

struct FigureLane {
  std::string name;
  std::vector<FigureSlice> slices;  ///< by start
};

/// Lanes of one trace.
struct FigureBand {
  std::string name;
  std::vector<FigureLane> lanes;
  std::string left_out = {};  ///< what is not drawn, for a line below the lanes
};

/// Small timelines one above the other on one scale of time, for a page.
struct TimelineFigure {
  std::string title;
  std::vector<FigureBand> bands;
  std::vector<std::string> colours;  ///< what each colour stands for

  [[nodiscard]] Nanoseconds length() const;
};

/// One step of a plan, predicted above measured, either of which may be null: of several iterations the one of the
/// median length. Slices are coloured by the plan's groups, of training steps by their phases.
TimelineFigure plan_timeline(const Trace* predicted, const Trace* measured);

/// Time of all tasks of each phase of a training step, mean over the steps of a trace, in the order in which phases
/// begin. Empty where tasks have none.
std::vector<std::pair<std::string, Nanoseconds>> phase_times(const Trace& trace);

/// The device's work in the typical step of a recorded trace, in all of it where no step is known; without device work
/// the outermost slices of each thread. The names that take most time have colours of their own.
TimelineFigure recorded_timeline(const Trace& trace, const std::optional<GpuSummary>& gpu);

/// Slices too narrow to be seen apart are drawn as one.
Drawing draw(const TimelineFigure& figure, double width);

}  // namespace cohort
