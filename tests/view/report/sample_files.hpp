#pragma once

#include <memory>
#include <string>
#include <vector>

#include "view/report/report.hpp"

namespace cohort {

/// Two members of one model on two workers; the model's name is text that a page must not take for markup.
Plan sample_plan(const std::string& model = "tiny");

/// Three program steps of the plan on two streams, the second one of the median length, with wall times and a date.
/// `longer`: nanoseconds that the second task takes more than the first.
Trace sample_trace(const Plan& plan, TraceKind kind, int longer);

std::shared_ptr<const Trace> shared(Trace trace);

/// A plan, its predicted and its measured trace.
std::vector<ReportFile> sample_files(const std::string& model = "tiny");

/// A GPU's trace of two kernels and a copy.
Trace sample_recording();

}  // namespace cohort
