#pragma once

#include <span>
#include <vector>

#include "simulator/colocation/processes.hpp"
#include "view/chart/chart.hpp"

namespace cohort {

/// What equal processes of one model gain, by their number: a line for each minibatch, and points where the table has
/// measured rows. One chart for each part of the GPU and of the step, in the order of the rows. At most eight
/// minibatches, spread evenly from the smallest to the largest, so that colours tell them apart. The interval is drawn
/// where there is one minibatch; else hovering tells it.
std::vector<Chart> processes_charts(const TimedModel& model, std::span<const EqualProcesses> rows);

}  // namespace cohort
