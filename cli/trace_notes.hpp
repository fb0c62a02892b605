#pragma once

#include <filesystem>

#include "cli/console.hpp"
#include "tracer/steps/steps.hpp"
#include "tracer/trace.hpp"

namespace cohort {

/// Says what was done to a trace that a prediction is made from: records that were mended or dropped for their times,
/// and steps without device work that were passed over.
void note_trace(const std::filesystem::path& file, const Trace& trace, const StepOptions& step, Console& console);

}  // namespace cohort
