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

template <class Widths>
auto nearest(const Widths& widths, int width) {
  return std::min_element(widths.begin(), widths.end(), [&](const auto& a, const auto& b) {
    return std::abs(a.first - width) < std::abs(b.first - width);
  });
}

}  // namespace

RecordedLaunches::RecordedLaunches(std::span<const Trace* const> profiles) {
  constexpr std::int64_t kMostWidth = 65536;
  for (const Trace* profile : profiles) {
    // Of each way, by the launch that they belong to and the task in it, which tell one call from another.
    std::map<std::tuple<Recorded*, std::int64_t, std::string>, int> calls;
    for (const Slice& slice : profile->slices) {
      if (profile->strings[slice.category] != "kernel") continue;
      const auto signature = profile->text_arg(slice, "signature");
      const auto strategy = profile->text_arg(slice, "strategy");
      const auto algorithm = profile->text_arg(slice, "algorithm");
      const auto width = profile->integer_arg(slice, "width");
      const auto shape = launch_shape(*profile, slice);
      if (!signature || !strategy || !algorithm || !shape || !width || *width < 1 || *width > kMostWidth) continue;
      const auto launch = profile->integer_arg(slice, "correlation");
      for (const std::string_view of : {*algorithm, std::string_view()}) {
        auto& widths = forms_[{launch_signature(*signature), std::string(*strategy), std::string(of)}];
        const auto [place, is_new] = widths.try_emplace(static_cast<int>(*width), Recorded{slice.duration, *shape});
        Recorded& recorded = place->second;
        if (!is_new && slice.duration > recorded.time) {
          recorded.time = slice.duration;
          recorded.shape = *shape;
        }
        if (launch) {
          const std::string task(profile->text_arg(slice, "of task").value_or(""));
          recorded.kernels = std::max(recorded.kernels, ++calls[{&recorded, *launch, task + std::string(*algorithm)}]);
        }
        if (algorithm->empty()) break;
      }
    }
  }
}

const RecordedLaunches::Widths* RecordedLaunches::widths_of(const CostKey& key) const {
  const auto of = [&](std::string_view signature) {
    return forms_.find({launch_signature(signature), std::string(to_string(key.strategy)), key.algorithm});
  };
  auto found = of(key.signature);
  if (found == forms_.end()) found = of(for_all_multiprocessors(key.signature));
  return found == forms_.end() ? nullptr : &found->second;
}

std::optional<LaunchShape> RecordedLaunches::find(const CostKey& key) const {
  const Widths* const widths = widths_of(key);
  if (widths == nullptr) return std::nullopt;
  const auto& [width, recorded] = *nearest(*widths, key.width);
  LaunchShape shape = recorded.shape;
  if (width == key.width) return shape;
  const double blocks = static_cast<double>(shape.blocks) * key.width / width;
  shape.blocks = std::max<std::int64_t>(1, std::llround(std::ceil(blocks)));
  return shape;
}

int RecordedLaunches::kernels(const CostKey& key) const {
  const Widths* const widths = widths_of(key);
  if (widths == nullptr) return 1;
  const auto& [width, recorded] = *nearest(*widths, key.width);
  return recorded.kernels == width ? key.width : recorded.kernels;
}

}  // namespace cohort
