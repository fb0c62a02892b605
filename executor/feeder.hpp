#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "executor/clock.hpp"
#include "executor/input/pipeline.hpp"
#include "executor/runner.hpp"
#include "simulator/plan/image_preparation.hpp"

namespace cohort {

/// Those of `usable` cores that workers which decode for a program keep to: not those of its launch threads, each of
/// which has one to itself and would wait for it. Empty: any.
std::vector<int> decode_cores(const Program& program, std::span<const int> usable);

/// What a plan says of images, for the pipelines; what follows from a network's input is left as it is.
ImageTarget image_target(const ImagePreparation& images);

/// Feeds a runner with images: each step takes the next minibatch of every input, and the workers
/// decode the ones after it meanwhile.
///
///     workers   | 0 | 1 | wait | 2 | wait | 3 | ...      with two slots
///     steps         |    0     |    1     |    2     |
///
/// Where uploads overlap steps and there are two slots or more, the next minibatch is copied to the device while a step
/// runs. A slot of host memory is free for the next decoding once its copy has been waited for; on the device it is
/// written again only after the step that reads it:
///
///     workers   | 0 | 1 | wait |2|3| wait  |4| ...       with two slots
///     copies        |0|  |1|       |2|      |3|
///     steps           |     0     |    1     |    2  |
///     host            L  C        W L C     W L C        launch, copy as soon as it is decoded, wait for both
class Feeder {
 public:
  /// One pipeline per program input; `target` gives what an input's shape does not (mean, crop, ...).
  /// The runner must outlive the feeder.
  /// Errors: kInvalidInput naming an input that is not [N, C, H, W], or those of InputPipelines::open().
  static Result<std::unique_ptr<Feeder>> open(Runner& runner, ImageFolder folder, const InputOptions& options,
                                              const ImageTarget& target = {});

  /// Errors: those of InputPipelines::next() for this step's minibatch, and of Runner::wait().
  Result<void> step();

  /// Waits until every slot holds a decoded minibatch, so that the workers rest.
  Result<void> settle();

  /// Time of `steps` steps of a run in progress, copies to the device included: as many steps as can
  /// have had their input made beforehand go before them untimed, and settle() comes after them
  /// untimed, so that the workers do not disturb what is measured next.
  Result<Nanoseconds> timed_steps(int steps, const TimeSource& now);

  [[nodiscard]] const InputPipelines& pipelines() const { return *pipelines_; }

 private:
  Feeder(Runner& runner, std::unique_ptr<InputPipelines> pipelines);
  /// Takes the next minibatch of every pipeline into ready_.
  Result<void> take();
  /// Gives the copy of the next minibatch to the device. Returns its slot.
  Result<int> upload_next();

  Runner* runner_;
  std::unique_ptr<InputPipelines> pipelines_;
  bool overlaps_;
  std::deque<int> ready_;            ///< slots taken, not uploaded yet
  std::vector<int> uploaded_;        ///< slots to be released once they have been waited for
  std::optional<Result<int>> next_;  ///< what upload_next() gave ahead of the step that will ask for it
};

}  // namespace cohort
