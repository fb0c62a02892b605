#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/what_if/what_if.hpp"
#include "tracer/trace.hpp"

namespace cohort {

/// Kernels of 2 us each behind launches of 5 us with 5 us of the framework's work between them: the GPU idles.
std::string launch_bound(int kernels);

/// One copy of the input, then three large kernels launched far ahead.
inline constexpr std::string_view kCopyAndCompute = R"(
  main cudaMemcpyAsync        0    4  c1
  main cudaLaunchKernel       5    9  c2
  main cudaLaunchKernel      10   14  c3
  main cudaLaunchKernel      15   19  c4
  main cudaDeviceSynchronize 20  706  c5
  s7   Memcpy_HtoD_(Pinned_->_Device) 8 208 c1
  s7   conv                 209  409  c2
  s7   relu                 410  500  c3
  s7   gemm                 501  700  c4)";

/// Of two cores: one op of 1 us, one of half that.
Trace cpu_trace();

/// Whole traces as the members of a what-if.
struct Case {
  explicit Case(std::vector<Trace> of, std::optional<TimeWindow> window = std::nullopt);
  /// gpu_trace_from()
  explicit Case(std::string_view text, std::optional<TimeWindow> window = std::nullopt);

  WhatIfPrediction predict(const WhatIf& what_if) const;

  std::vector<Trace> traces;
  WhatIfCase what_if_case;
};

/// Every kernel takes this part of the device.
Case filling(Case of, float waves);

/// Bounds hold, and the parts of the gain are all of it.
void expect_sound(const WhatIfPrediction& prediction);

/// So many members of each trace, or by trace.
WhatIf models(int count);
WhatIf models(std::vector<int> counts);

}  // namespace cohort
