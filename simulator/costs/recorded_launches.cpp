#include "simulator/costs/recorded_launches.hpp"

#include <algorithm>
#include <cmath>

#include "simulator/costs/copy_times.hpp"
#include "simulator/costs/recorded_gpu_work.hpp"

namespace cohort {
namespace {

/// Copies of equal shape launch the same kernel, in and out of stacks, too.
std::string launch_signature(std::string_view signature) {
  return recorded_signature(signature.starts_with(kCopyPrefix) ? without_stack(signature) : std::string(signature));
}

}  // namespace

RecordedLaunches::RecordedLaunches(std::span<const Trace* const> profiles) {
  constexpr std::int64_t kMostWidth = 65536;
  for (const Trace* profile : profiles) {
    for (const Slice& slice : profile->slices) {
      if (profile->strings[slice.category] != "kernel") continue;
      const auto signature = profile->text_arg(slice, "signature");
      const auto strategy = profile->text_arg(slice, "strategy");
      const auto algorithm = profile->text_arg(slice, "algorithm");
      const auto width = profile->integer_arg(slice, "width");
      const auto shape = launch_shape(*profile, slice);
      if (!signature || !strategy || !algorithm || !shape || !width || *width < 1 || *width > kMostWidth) continue;
      for (const std::string_view of : {*algorithm, std::string_view()}) {
        auto& widths = forms_[{launch_signature(*signature), std::string(*strategy), std::string(of)}];
        const auto [place, is_new] = widths.try_emplace(static_cast<int>(*width), Longest{slice.duration, *shape});
        if (!is_new && slice.duration > place->second.time) place->second = {slice.duration, *shape};
        if (algorithm->empty()) break;
      }
    }
  }
}

std::optional<LaunchShape> RecordedLaunches::find(const CostKey& key) const {
  const auto of = [&](std::string_view signature) {
    return forms_.find({launch_signature(signature), std::string(to_string(key.strategy)), key.algorithm});
  };
  auto found = of(key.signature);
  if (found == forms_.end()) found = of(for_all_multiprocessors(key.signature));
  if (found == forms_.end()) return std::nullopt;
  const auto& widths = found->second;
  const auto nearest = std::min_element(widths.begin(), widths.end(), [&](const auto& a, const auto& b) {
    return std::abs(a.first - key.width) < std::abs(b.first - key.width);
  });
  LaunchShape shape = nearest->second.shape;
  if (nearest->first == key.width) return shape;
  const double blocks = static_cast<double>(shape.blocks) * key.width / nearest->first;
  shape.blocks = std::max<std::int64_t>(1, std::llround(std::ceil(blocks)));
  return shape;
}

}  // namespace cohort
