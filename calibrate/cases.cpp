#include <algorithm>

#include "calibrate/benchmarks.hpp"

namespace cohort::calibrate {

std::vector<Shape> spin_shapes(const DeviceFacts& facts) {
  constexpr int kThreads = 256;
  const int all = std::max(2, std::min(facts.threads_per_sm / kThreads, facts.blocks_per_sm));
  const std::size_t half_shared = std::min(facts.shared_per_block, facts.shared_per_sm / 2 - 2048);
  return {
      {facts.sms * all / 2, kThreads, 0},
      {facts.sms * all, kThreads, 0},
      {facts.sms * all * 3 / 2, kThreads, 0},
      {facts.sms * 2, kThreads, half_shared},
      {1, kThreads, 0},
  };
}

std::vector<PairCase> pair_cases() {
  const std::vector<std::pair<std::string, std::string>> kinds = {
      {"copy", "copy"}, {"copy", "fma"},   {"copy", "tensor bf16"}, {"l2", "l2"},
      {"l2", "copy"},   {"fma", "shared"}, {"fma", "fma"},
  };
  std::vector<PairCase> cases;
  for (const auto& [a, b] : kinds) {
    cases.push_back({a, b, 0.5, 0.5, false});
    cases.push_back({a, b, 0.25, 0.5, true});
    cases.push_back({a, b, 0.25, 0.25, false});
    cases.push_back({a, b, 0.5, 0.25, true});
  }
  return cases;
}

}  // namespace cohort::calibrate
