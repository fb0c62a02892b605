#include "fuzz/trace_input.hpp"

#include "fuzz/require.hpp"
#include "tracer/file/trace_file.hpp"
#include "tracer/steps/steps.hpp"
#include "tracer/summary/gpu_summary.hpp"
#include "tracer/summary/summary.hpp"

namespace cohort {

void check_trace_input(std::string_view bytes) {
  TraceReadOptions options;
  options.most_inflated_bytes = std::size_t{64} << 20;  // a fuzzer must not run out of memory
  const auto trace = parse_trace(bytes, options);
  if (!trace) {
    require(!trace.error().message.empty(), "an error says something");
    return;
  }
  const std::string once = trace_to_json(*trace);
  const auto again = parse_trace(once);
  require(again.has_value(), "what was read can be written and read");
  require(trace_to_json(*again) == once, "what was written reads back the same");
  require(!format_summary(summarize(*trace)).empty(), "a trace can be summarised");
  if (const auto gpu = summarize_gpu(*trace)) require(!format_gpu_summary(*gpu).empty(), "a GPU's trace likewise");
  require(select_step(*trace, {}).has_value(), "all of a trace can be selected");
}

}  // namespace cohort
