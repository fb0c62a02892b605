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

/// The cores among `usable` for a program's decode workers: not those of its launch threads, which need a core of their
/// own. Empty: any.
std::vector<int> decode_cores(const Program& program, std::span<const int> usable);

/// The pipelines' image settings from a plan, without those that follow from a network's input.
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
  /// One pipeline per program input that takes images; `target` gives what an input's shape does not (mean, crop, ...).
  /// An input of N whole numbers gets the labels of those images, settings are the usual ones, the same at every step.
  /// The runner must outlive the feeder.
  /// Errors: kInvalidInput naming an input that is neither, or those of InputPipelines::open().
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
  /// An input that gets the labels of a pipeline's images.
  struct Labels {
    std::size_t input = 0, pipeline = 0;
  };

  Feeder(Runner& runner, std::unique_ptr<InputPipelines> pipelines, std::size_t count, std::vector<Labels> labels);
  static Result<std::vector<Labels>> labels_of(const Program& program, std::span<const std::size_t> images);
  /// Takes the next minibatch of every pipeline into ready_.
  Result<void> take();
  /// Gives the copy of the next minibatch to the device. Returns its slot.
  Result<int> upload_next();

  Runner* runner_;
  std::unique_ptr<InputPipelines> pipelines_;
  std::size_t count_;  ///< of pipelines
  std::vector<Labels> labels_;
  bool overlaps_;
  std::deque<int> ready_;            ///< slots taken, not uploaded yet
  std::vector<int> uploaded_;        ///< slots to be released once they have been waited for
  std::optional<Result<int>> next_;  ///< what upload_next() gave ahead of the step that will ask for it
};

}  // namespace cohort
