#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/cancel.hpp"
#include "base/result.hpp"
#include "executor/input/image_folder.hpp"
#include "executor/input/observer.hpp"
#include "executor/input/transform.hpp"

namespace cohort {

/// What to do about an image that cannot be decoded.
enum class OnBadImage {
  kSkip,   ///< take the next good one in the order instead, and report it
  kFatal,  ///< next() fails at its minibatch
};

/// One stream of minibatches: what all members of a shared input read, or one member on its own.
struct PipelineOptions {
  ImageTarget target;
  int minibatch = 1;
  /// Host memory of each minibatch in flight, minibatch * target.size() values; two are double
  /// buffering. Minibatch i is written to slots[i % slots.size()].
  std::vector<std::span<float>> slots;
};

struct InputOptions {
  int workers = 1;  ///< decode threads, serving all pipelines
  std::uint64_t seed = 0;
  bool shuffle = true;
  OnBadImage on_bad_image = OnBadImage::kSkip;
  std::vector<int> cores;               ///< that the workers keep to; empty: any
  InputObserver* observer = nullptr;    ///< null: none, at no cost; must outlive the pipelines
  const CancelToken* cancel = nullptr;  ///< wakes who is blocked within 100 ms; must outlive the pipelines
};

/// A minibatch in its slot. The spans are valid until the slot is released.
struct ReadyMinibatch {
  int slot = 0;
  std::int64_t index = 0;                 ///< counted from 0
  std::span<const std::uint32_t> labels;  ///< per place
  std::span<const std::uint32_t> images;  ///< per place, positions in ImageFolder::images
};

/// An image that could not be decoded, in the minibatches handed out so far.
struct BadImage {
  std::string path;
  std::string reason;
  std::int64_t count = 0;  ///< places it was passed over for, over all pipelines
};

/// Decodes a folder of JPEGs into minibatches, ahead of who uses them, on a pool of threads.
///
/// What minibatch i holds depends on the folder, the seed and the target alone: place k is image number
/// i * minibatch + k of an endless order of epochs, or the first one after it that can be decoded;
/// neither the number of workers nor of pipelines changes it. Pipelines with the same target and
/// minibatch see the same images, each decoding for itself.
///
/// Never more minibatches in flight per pipeline than it has slots: a slot is written again only after
/// release(). Images of the minibatch needed soonest come first, whatever the pipeline:
///
///     next(0)      waits . . . |0|    handed out      release   |2| ...
///     slot 0   [ images of 0  ]|     held by caller  |[ images of 2 ]
///     slot 1                   [ images of 1  ]| ready . . . .
///
/// Each pipeline is for one thread at a time; different pipelines may be used from different threads.
class InputPipelines {
 public:
  /// Starts the workers, which begin to decode at once.
  ///
  /// Errors: kInvalidInput naming the option or the slot; kDoesNotFit if the threads cannot be had.
  static Result<std::unique_ptr<InputPipelines>> open(ImageFolder folder, const InputOptions& options,
                                                      std::vector<PipelineOptions> pipelines);

  InputPipelines(const InputPipelines&) = delete;
  InputPipelines& operator=(const InputPipelines&) = delete;
  /// Stops the workers, at most one image each from here, and waits for them.
  ~InputPipelines();

  /// Blocks until the next minibatch of `pipeline` is in its slot. Minibatches come in order, 0, 1, 2, ...
  ///
  /// Errors: kInterrupted once cancelled or stopped; kInvalidInput naming the file for a bad image that is
  /// fatal, or when no image of the folder can be decoded; kDoesNotFit without memory. A pipeline that
  /// failed fails again.
  Result<ReadyMinibatch> next(int pipeline);
  /// Gives a slot that next() handed out back to the workers.
  void release(int pipeline, int slot);
  /// Makes every next(), waiting or to come, fail with kInterrupted. From any thread.
  void stop();

  /// Sorted by path. Depends on the minibatches handed out alone, not on how far the workers are ahead.
  [[nodiscard]] std::vector<BadImage> bad_images() const;

 private:
  class Pool;
  explicit InputPipelines(std::unique_ptr<Pool> pool);

  std::unique_ptr<Pool> pool_;
};

}  // namespace cohort
