#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "base/units.hpp"
#include "executor/input/sample_order.hpp"
#include "executor/input/transform.hpp"
#include "training/data_set.hpp"
#include "training/sweep.hpp"

namespace cohort {

/// Of minibatches that are kept to be gone through together.
inline constexpr std::size_t kMostMinibatchBytes = std::size_t{32} << 20U;

/// What one step reads, as elements (input_values.hpp), dense in logical order of the network's input.
struct Minibatch {
  std::vector<std::vector<float>> samples;  ///< one for all members, or one for each stream of variations
  std::vector<float> labels;  ///< int32 by their bits, or targets; of sequences all of a step side by side
  std::size_t size = 0;       ///< samples
  std::size_t rows = 1;       ///< of the output for each sample (NetworkEnds::rows)
  std::size_t count = 0;      ///< that count; the rest of an evaluation's last minibatch repeats them
};

/// Minibatches of a training set in an order of its own each epoch, varied as the sweep says. What step i holds depends
/// on data, seed and stream alone. The last samples of an epoch that do not fill a minibatch are left out.
///
/// prepare() of the next steps while others run takes decoding off their way:
///
///     device   |   step 0   |   step 1   | ...
///     workers  |  images 1  |  images 2  |
class Minibatches {
 public:
  struct Options {
    std::int64_t minibatch = 1;
    std::uint64_t seed = 0;
    Augmentation augmentation;
    std::optional<std::int64_t> resize;  ///< of images that are decoded each time
    int workers = 1;                     ///< that decode and vary samples
  };
  /// `data` must outlive this.
  Minibatches(const TrainingData& data, const NetworkEnds& ends, const Options& options);
  Minibatches(const Minibatches&) = delete;
  Minibatches& operator=(const Minibatches&) = delete;
  ~Minibatches();

  [[nodiscard]] std::int64_t steps_per_epoch() const { return steps_per_epoch_; }

  /// Begins to make the minibatches of `count` steps from `step` on, counted from 0 over all epochs. `streams`: one for
  /// each member whose samples vary by themselves; empty: one for all.
  void prepare(std::int64_t step, std::int64_t count, std::vector<std::uint64_t> streams);
  /// Waits for what prepare() began last; valid until the next but one prepare().
  /// Errors: those of decoding, naming the image.
  Result<std::span<const Minibatch>> take();

  /// What making minibatches took so far, over all workers: much of it while steps ran.
  [[nodiscard]] Nanoseconds work() const { return Nanoseconds(work_.load(std::memory_order_relaxed)); }

  /// Samples of the evaluation part from `begin` on, unvaried, in their order.
  Result<Minibatch> evaluation(std::size_t begin);

 private:
  class Workers;
  struct Job;
  [[nodiscard]] Result<void> make_sample(std::size_t worker, std::size_t item);
  void begin(std::int64_t step, Minibatch& minibatch);
  void make_labels(const DataSet& data, std::span<const std::size_t> positions, Minibatch& minibatch) const;
  void put(std::span<const float> sample, std::size_t place, std::span<float> minibatch) const;
  void vary(std::span<const float> sample, std::uint64_t seed, std::span<float> out) const;

  const TrainingData& data_;
  NetworkEnds ends_;
  Options options_;
  std::int64_t steps_per_epoch_;
  SampleOrder order_;
  ImageTarget target_;  ///< of images that are decoded each time, unvaried
  std::unique_ptr<Job> job_;
  std::array<std::vector<Minibatch>, 2> made_;
  std::size_t current_ = 0;
  std::atomic<std::int64_t> work_{0};  ///< nanoseconds
  std::unique_ptr<Workers> workers_;   ///< last: they use all of the above; null where nothing is decoded
};

/// As a sweep's training part is shown.
Minibatches::Options minibatch_options(const Sweep& sweep);

}  // namespace cohort
