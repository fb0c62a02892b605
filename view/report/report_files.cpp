#include <memory>
#include <utility>

#include "base/text.hpp"
#include "planning/plan_files.hpp"
#include "tracer/file/trace_file.hpp"
#include "view/report/report.hpp"

namespace cohort {
namespace {

Result<ReportFile> read_report_file(const std::filesystem::path& path, const TraceReadOptions& read) {
  if (looks_like_plan(path)) {
    COHORT_TRY(Plan plan, read_plan(path));
    return ReportFile{path, std::move(plan)};
  }
  if (to_lower(path.extension().string()) == ".csv") {
    COHORT_TRY(StepTimes times, read_step_times(path));
    return ReportFile{path, std::move(times)};
  }
  COHORT_TRY(Trace trace, read_trace(path, read));
  return ReportFile{path, std::make_shared<const Trace>(std::move(trace))};
}

}  // namespace

const Trace* ReportFile::trace(TraceKind kind) const {
  const Trace* any = trace();
  return any != nullptr && any->info.kind == kind ? any : nullptr;
}

const Trace* ReportFile::trace() const {
  const auto* trace = std::get_if<std::shared_ptr<const Trace>>(&content);
  return trace != nullptr ? trace->get() : nullptr;
}

Result<std::vector<ReportFile>> read_report_files(std::span<const std::filesystem::path> files,
                                                  const TraceReadOptions& read) {
  std::vector<ReportFile> result;
  for (const std::filesystem::path& path : files) {
    COHORT_TRY(ReportFile file, read_report_file(path, read));
    result.push_back(std::move(file));
  }
  return result;
}

}  // namespace cohort
