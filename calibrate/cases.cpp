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

Shape whole_sm_shape(const DeviceFacts& facts) {
  constexpr int kThreads = 256;
  constexpr std::size_t kReserved = 1024;  // of each block, by the system
  const std::size_t most = facts.shared_per_sm - facts.shared_per_sm / 10 - kReserved;
  return {facts.sms, kThreads, std::min(facts.shared_per_block, most)};
}

std::vector<PairCase> pair_cases() {
  std::vector<PairCase> cases;
  for (std::size_t i = 0; i < kProbes.size(); ++i) {
    for (std::size_t j = i; j < kProbes.size(); ++j) {
      const std::string a(kProbes[i]);
      const std::string b(kProbes[j]);
      cases.push_back({a, b, 0.5, 0.5, false});
      cases.push_back({a, b, 0.25, 0.5, true});
      cases.push_back({a, b, 0.25, 0.25, false});
      cases.push_back({a, b, 0.5, 0.25, true});
    }
  }
  return cases;
}

}  // namespace cohort::calibrate
