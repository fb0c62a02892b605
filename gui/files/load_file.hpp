#pragma once

#include <QString>

#include "base/cancel.hpp"
#include "base/result.hpp"
#include "gui/window/page.hpp"
#include "tracer/file/trace_file.hpp"

namespace cohort {

/// Reads a trace or a plan; which it is is seen from its content. For any thread.
/// Errors: those of read_trace() and parse_plan(), naming the file; kInterrupted once cancelled.
Result<OpenFile> load_file(const QString& path, const CancelToken& cancel, ReadProgress& progress);

/// What a file holds, in a few words: "profile of lenet5, cpu:0".
QString description_of(const OpenFile& file);

}  // namespace cohort
