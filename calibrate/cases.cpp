#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "calibrate/benchmarks.hpp"
#include "executor/device_error.hpp"

namespace cohort::calibrate {

std::string_view name_of(ChainKind kind) {
  switch (kind) {
    case ChainKind::kFma:
      return "fma";
    case ChainKind::kTensorBf16:
      return "tensor bf16";
    case ChainKind::kTensorTf32:
      return "tensor tf32";
    case ChainKind::kShared:
      return "shared";
    case ChainKind::kL2:
      return "l2";
  }
  return "";
}

bool can_run(const DeviceFacts& facts, std::string_view kernel) {
  const bool on_tensor_cores = kernel == name_of(ChainKind::kTensorBf16) || kernel == name_of(ChainKind::kTensorTf32);
  return !on_tensor_cores || facts.tensor_kernels;
}

int amount_for(std::string_view kernel, Nanoseconds length, const std::function<Nanoseconds(int amount)>& time_of) {
  constexpr Nanoseconds kLongEnough = std::chrono::microseconds(100);
  Nanoseconds time{};
  for (int amount = 1; amount <= kMostAmount; amount *= 4) {
    time = time_of(amount);
    if (time < kLongEnough && time < length) continue;
    const double factor = static_cast<double>(length.count()) / static_cast<double>(time.count());
    return static_cast<int>(std::clamp(std::round(amount * factor), 1.0, static_cast<double>(kMostAmount)));
  }
  throw DeviceError(fmt::format("kernel \"{}\": {} repeats of its work take {} ns, so that it does none", kernel,
                                kMostAmount, time.count()));
}

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
      // All of these use up what they use. Of kernels that wait for their data a few warps do not: how much they slow
      // each other before that shows nowhere else.
      if (i == j && (a == "copy" || a == name_of(ChainKind::kL2) || a == name_of(ChainKind::kShared))) {
        cases.push_back({a, b, 1.0 / 16, 1.0 / 16, false});
        cases.push_back({a, b, 1.0 / 16, 1.0 / 8, true});
      }
    }
  }
  return cases;
}

}  // namespace cohort::calibrate
