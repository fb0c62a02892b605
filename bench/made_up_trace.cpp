#include "bench/made_up_trace.hpp"

#include <fmt/format.h>

#include <iterator>

namespace cohort {
namespace {

/// One op as PyTorch 2 records it: operator, launch, kernel, and the two ends of their flow.
void append_op(std::string& out, std::int64_t i) {
  const std::int64_t at = 1'700'000'000'000'000 + i * 40;
  const auto id = i + 1;
  const auto it = std::back_inserter(out);
  fmt::format_to(it, R"(  {{
    "ph": "X", "cat": "cpu_op", "name": "aten::op_{}", "pid": 4242, "tid": 4242,
    "ts": {}.125, "dur": 30.250,
    "args": {{
      "External id": {},"Record function id": 0, "Sequence number": {}, "Fwd thread id": 0, "Input Dims": [[64, 128, 56, 56], [64]], "Ev Idx": {}
    }}
  }},
)",
                 i % 60, at, id, id, i);
  fmt::format_to(it, R"(  {{
    "ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 4242, "tid": 4242,
    "ts": {}.500, "dur": 5.125,
    "args": {{
      "External id": {}, "cbid": 211, "correlation": {}
    }}
  }},
  {{
    "ph": "s", "id": {}, "pid": 4242, "tid": 4242, "ts": {}.500,
    "cat": "ac2g", "name": "ac2g"
  }},
)",
                 at + 2, id, id, id, at + 2);
  fmt::format_to(it, R"__(  {{
    "ph": "X", "cat": "kernel", "name": "void at::native::vectorized_elementwise_kernel<4, at::native::functor_{}<float>, at::detail::Array<char*, 2> >(int, at::native::functor_{}<float>, at::detail::Array<char*, 2>)", "pid": 0, "tid": 7,
    "ts": {}.875, "dur": 12.640,
    "args": {{
      "External id": {}, "queued": 0, "device": 0, "context": 1, "stream": 7, "correlation": {},
      "registers per thread": 32, "shared memory": 4096, "blocks per SM": 5.925926, "warps per SM": 23.703703,
      "grid": [{}, 16, 1], "block": [128, 1, 1], "est. achieved occupancy %": 75
    }}
  }},
  {{
    "ph": "f", "id": {}, "pid": 0, "tid": 7, "ts": {}.875,
    "cat": "ac2g", "name": "ac2g", "bp": "e"
  }},
)__",
                 i % 60, i % 60, at + 9, id, id, 1 + i % 500, id, at + 9);
}

}  // namespace

std::string made_up_trace(std::int64_t events) {
  std::string out = "{\n\"schemaVersion\": 1,\n\"deviceProperties\": [],\n\"traceEvents\": [\n";
  constexpr std::int64_t kEventsOfAnOp = 5;
  for (std::int64_t i = 0; i < events / kEventsOfAnOp; ++i) append_op(out, i);
  out +=
      "  {\"name\": \"process_name\", \"ph\": \"M\", \"pid\": 4242, \"tid\": 0, \"args\": {\"name\": "
      "\"python\"}}\n]}\n";
  return out;
}

}  // namespace cohort
