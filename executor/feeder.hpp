#pragma once

#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "executor/clock.hpp"
#include "executor/input/pipeline.hpp"
#include "executor/runner.hpp"

namespace cohort {

/// Those of `usable` cores that workers which decode for a program keep to: not those of its launch threads, each of
/// which has one to itself and would wait for it. Empty: any.
std::vector<int> decode_cores(const Program& program, std::span<const int> usable);

/// Feeds a runner with images: each step takes the next minibatch of every input, and the workers
/// decode the ones after it meanwhile.
///
///     workers   | 0 | 1 | wait | 2 | wait | 3 | ...      with two slots
///     steps         |    0     |    1     |    2     |
class Feeder {
 public:
  /// One pipeline per program input; `target` gives what an input's shape does not (mean, crop, ...).
  /// The runner must outlive the feeder.
  /// Errors: kInvalidInput naming an input that is not [N, C, H, W], or those of InputPipelines::open().
  static Result<std::unique_ptr<Feeder>> open(Runner& runner, ImageFolder folder, const InputOptions& options,
                                              const ImageTarget& target = {});

  /// Errors: those of InputPipelines::next() and Runner::step().
  Result<void> step();

  /// Waits until every slot holds a decoded minibatch, so that the workers rest.
  Result<void> settle();

  /// Time of `steps` steps of a run in progress: as many steps as there are slots go before them
  /// untimed, since their input was decoded beforehand, and settle() comes after them untimed, so
  /// that the workers do not disturb what is measured next.
  Result<Nanoseconds> timed_steps(int steps, const TimeSource& now);

  [[nodiscard]] const InputPipelines& pipelines() const { return *pipelines_; }

 private:
  Feeder(Runner& runner, std::unique_ptr<InputPipelines> pipelines);
  /// Takes the next minibatch of every pipeline into ready_.
  Result<void> take();

  Runner* runner_;
  std::unique_ptr<InputPipelines> pipelines_;
  std::deque<std::vector<ReadyMinibatch>> ready_;  ///< taken, not run yet; by pipeline
};

}  // namespace cohort
