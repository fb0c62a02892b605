#include "planning/trace_case.hpp"

#include <utility>

namespace cohort {

Result<void> TraceCase::add(NamedTrace added, const Steps& steps, const CancelToken* cancel) {
  const std::size_t index = traces_.size();
  const std::string file = added.file.string();
  if (added.trace->info.kind == TraceKind::kProfile) {
    return fail(ErrorCode::kInvalidInput, "{} is a profile and {} the trace of a run: take either of them", file,
                traces_.empty() ? file : traces_.front().file.string());
  }
  const Trace& trace = *traces_.emplace_back(std::move(added)).trace;
  const StepOptions& step = steps.by_trace[index];
  const auto made = steps.second_minibatch && index == 1 ? case_.add_second(trace, step, *steps.second_minibatch, file)
                                                         : case_.add(trace, step, file);
  if (!made) return in_context(file, made.error());
  return cancel != nullptr ? cancel->check() : Result<void>();
}

Result<std::unique_ptr<TraceCase>> TraceCase::of(std::vector<NamedTrace> traces, const Steps& steps,
                                                 const CancelToken* cancel) {
  std::unique_ptr<TraceCase> result(new TraceCase());
  for (NamedTrace& trace : traces) COHORT_CHECK(result->add(std::move(trace), steps, cancel));
  return result;
}

Result<std::unique_ptr<TraceCase>> TraceCase::read(const std::vector<std::filesystem::path>& files, Trace first,
                                                   const Steps& steps, const TraceReadOptions& read) {
  std::unique_ptr<TraceCase> result(new TraceCase());
  COHORT_CHECK(result->add({files.front(), std::make_shared<const Trace>(std::move(first))}, steps, read.cancel));
  for (std::size_t i = 1; i < files.size(); ++i) {
    COHORT_TRY(Trace trace, read_trace(files[i], read));
    COHORT_CHECK(result->add({files[i], std::make_shared<const Trace>(std::move(trace))}, steps, read.cancel));
  }
  return result;
}

}  // namespace cohort
