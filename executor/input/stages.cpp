#include "executor/input/stages.hpp"

#include <array>
#include <chrono>
#include <numeric>

#include "base/random.hpp"
#include "executor/input/image_loader.hpp"

namespace cohort {
namespace {

/// Length of each stage of the image made last.
class StageTimer : public InputObserver {
 public:
  explicit StageTimer(std::function<Nanoseconds()> clock) : clock_(std::move(clock)) {}

  void begin(InputStage stage, const InputWork& /*work*/) noexcept override { times_[index(stage)] = clock_(); }
  void end(InputStage stage, const InputWork& /*work*/) noexcept override {
    times_[index(stage)] = clock_() - times_[index(stage)];
  }
  [[nodiscard]] Nanoseconds time(InputStage stage) const { return times_[index(stage)]; }

 private:
  static std::size_t index(InputStage stage) { return static_cast<std::size_t>(stage); }

  std::function<Nanoseconds()> clock_;
  std::array<Nanoseconds, 3> times_{};
};

Nanoseconds steady_now() {
  return std::chrono::duration_cast<Nanoseconds>(std::chrono::steady_clock::now().time_since_epoch());
}

Result<void> check(const ImageFolder& folder, const StageSampling& sampling) {
  if (folder.images.empty()) return fail(ErrorCode::kInvalidInput, "no images in {}", folder.path.string());
  if (sampling.images < 1)
    return fail(ErrorCode::kInvalidInput, "{} images to measure; must be at least 1", sampling.images);
  if (sampling.warmup < 0) return fail(ErrorCode::kInvalidInput, "warmup is {}; must not be negative", sampling.warmup);
  return {};
}

}  // namespace

Result<StageSamples> measure_input_stages(const ImageFolder& folder, const ImageTarget& target,
                                          const StageSampling& sampling) {
  COHORT_CHECK(validate(target));
  COHORT_CHECK(check(folder, sampling));
  ImageLoader loader;
  StageTimer timer(sampling.clock ? sampling.clock : steady_now);
  loader.observe(&timer, {});

  std::vector<std::uint32_t> order(folder.images.size());
  std::iota(order.begin(), order.end(), 0U);
  Random random(sampling.seed);
  random.shuffle(order);

  // The warm-up takes its images from the end of the order, so that the measured ones are met fresh.
  std::vector<float> out(target.size());
  for (int i = 0; i < sampling.warmup; ++i) {
    const std::uint32_t image = order[order.size() - 1 - static_cast<std::size_t>(i) % order.size()];
    static_cast<void>(loader.load(folder.images[image].path, image, target, out));  // bad ones are counted below
  }
  StageSamples samples;
  Error last_error{ErrorCode::kInvalidInput, {}};
  for (const std::uint32_t image : order) {
    if (samples.read.size() == static_cast<std::size_t>(sampling.images)) break;
    if (sampling.cancel != nullptr) COHORT_CHECK(sampling.cancel->check());
    const auto loaded = loader.load(folder.images[image].path, derive_seed(sampling.seed, image), target, out);
    if (!loaded) {
      ++samples.bad_images;
      last_error = loaded.error();
      continue;
    }
    samples.read.push_back(timer.time(InputStage::kRead));
    samples.decode.push_back(timer.time(InputStage::kDecode));
    samples.transform.push_back(timer.time(InputStage::kTransform));
  }
  if (samples.read.empty())
    return fail(last_error.code, "none of the {} images in {} can be decoded; the last: {}", folder.images.size(),
                folder.path.string(), last_error.message);
  return samples;
}

}  // namespace cohort
