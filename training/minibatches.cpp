#include "training/minibatches.hpp"

#include <algorithm>
#include <bit>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

#include "base/random.hpp"
#include "executor/clock.hpp"
#include "executor/input/image_loader.hpp"
#include "training/image_target.hpp"

namespace cohort {

/// Threads that share out the items of one job at a time.
class Minibatches::Workers {
 public:
  using Work = std::function<Result<void>(std::size_t worker, std::size_t item)>;

  explicit Workers(int count) {
    for (int i = 0; i < count; ++i) threads_.emplace_back([this, i] { run(static_cast<std::size_t>(i)); });
  }
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;
  ~Workers() {
    {
      const std::scoped_lock lock(mutex_);
      stopping_ = true;
      next_ = items_;
    }
    changed_.notify_all();
  }

  void start(std::size_t items, Work work) {
    {
      const std::scoped_lock lock(mutex_);
      work_ = std::move(work);
      items_ = items;
      next_ = done_ = 0;
      errors_.clear();
    }
    changed_.notify_all();
  }

  /// Errors: that of the first item that failed.
  Result<void> finish() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return done_ == items_; });
    if (!errors_.empty()) return tl::unexpected<Error>(errors_.begin()->second);
    return {};
  }

 private:
  void run(std::size_t worker) {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [&] { return stopping_ || next_ < items_; });
      if (stopping_) return;
      const std::size_t item = next_++;
      lock.unlock();
      const Result<void> made = work_(worker, item);
      lock.lock();
      if (!made) errors_.emplace(item, made.error());
      if (++done_ == items_) changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  Work work_;              ///< guarded by the mutex while none of its items is under way
  std::size_t items_ = 0;  ///< guarded, as the next four
  std::size_t next_ = 0;
  std::size_t done_ = 0;
  bool stopping_ = false;
  std::map<std::size_t, Error> errors_;
  std::vector<std::jthread> threads_;  ///< last: they use all of the above
};

/// The minibatches being made.
struct Minibatches::Job {
  std::vector<Sample> samples;  ///< of all of them
  std::vector<std::uint64_t> streams;
  std::span<Minibatch> made;
  std::vector<ImageLoader> loaders;          ///< by worker
  std::vector<std::vector<float>> decoded;   ///< by worker: one sample that is then moved
  std::vector<std::vector<float>> unplaced;  ///< by worker: one sample
};

Minibatches::Minibatches(const TrainingData& data, const NetworkEnds& ends, const Options& options)
    : data_(data),
      ends_(ends),
      options_(options),
      steps_per_epoch_(static_cast<std::int64_t>(data.train.samples) / options.minibatch),
      order_(static_cast<std::uint32_t>(data.train.samples), options.seed, true),
      job_(std::make_unique<Job>()) {
  const bool costly = data.decoded_each_time;  // else copying takes less than waking a thread
  const int workers = costly ? options.workers : 0;
  job_->loaders.resize(static_cast<std::size_t>(std::max(1, workers)));
  job_->unplaced.resize(job_->loaders.size());
  for (auto& sample : job_->unplaced) sample.resize(static_cast<std::size_t>(element_count(ends.input)));
  job_->decoded = job_->unplaced;
  if (!costly) return;
  target_ = plain_image_target(ends.input, options.resize);
  // One for all channels, or one each; a single channel takes the first.
  for (std::size_t c = 0; c < target_.mean.size() && !data.normalization.mean.empty(); ++c) {
    const std::size_t of = std::min(c, data.normalization.mean.size() - 1);
    target_.mean[c] = data.normalization.mean[of];
    target_.stddev[c] = data.normalization.stddev[of];
  }
  workers_ = std::make_unique<Workers>(workers);
}

Minibatches::~Minibatches() = default;

/// Sequences [T, N, I] take a sample's steps apart.
void Minibatches::put(std::span<const float> sample, std::size_t place, std::span<float> minibatch) const {
  const auto samples = static_cast<std::size_t>(options_.minibatch);
  const std::size_t runs = ends_.sample_axis == 0 ? 1 : static_cast<std::size_t>(ends_.input.front());
  const std::size_t length = sample.size() / runs;
  for (std::size_t run = 0; run < runs; ++run) {
    std::copy_n(sample.begin() + static_cast<std::ptrdiff_t>(run * length), length,
                minibatch.begin() + static_cast<std::ptrdiff_t>((run * samples + place) * length));
  }
}

/// An image in memory moved and turned. Always the same number of draws.
void Minibatches::vary(std::span<const float> sample, std::uint64_t seed, std::span<float> out) const {
  const std::int64_t height = ends_.input.size() >= 2 ? ends_.input[ends_.input.size() - 2] : 1;
  const std::int64_t width = ends_.input.back();
  const std::int64_t most = options_.augmentation.shift.value_or(height / 8);
  Random random(seed);
  const auto shift = [&] {
    return static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(2 * most + 1))) - most;
  };
  const std::int64_t down = shift();
  const std::int64_t right = shift();
  const bool flip = (random.next() >> 63) != 0 && options_.augmentation.flip;
  const std::int64_t planes = static_cast<std::int64_t>(sample.size()) / (height * width);
  for (std::int64_t row = 0; row < planes * height; ++row) {
    const std::int64_t y = row % height - down;
    float* const to = out.data() + row * width;
    if (y < 0 || y >= height) {
      std::fill_n(to, width, 0.0F);
      continue;
    }
    const float* const from = sample.data() + (row - row % height + y) * width;
    for (std::int64_t i = 0; i < width; ++i) {
      const std::int64_t x = (flip ? width - 1 - i : i) - right;
      to[i] = x >= 0 && x < width ? from[x] : 0.0F;
    }
  }
}

void Minibatches::make_labels(const DataSet& data, std::span<const std::size_t> positions, Minibatch& minibatch) const {
  minibatch.labels.clear();
  minibatch.rows = static_cast<std::size_t>(ends_.rows);
  const std::size_t size = data.target_size / minibatch.rows;
  for (std::size_t row = 0; row < minibatch.rows; ++row) {
    for (const std::size_t i : positions) {
      if (!data.labels.empty()) {
        minibatch.labels.push_back(std::bit_cast<float>(data.labels[i * minibatch.rows + row]));
        continue;
      }
      const auto begin = data.targets.begin() + static_cast<std::ptrdiff_t>(i * data.target_size + row * size);
      minibatch.labels.insert(minibatch.labels.end(), begin, begin + static_cast<std::ptrdiff_t>(size));
    }
  }
}

/// Items are the places of the first step's first stream, then of its second one, then of the next step.
Result<void> Minibatches::make_sample(std::size_t worker, std::size_t item) {
  const auto places = static_cast<std::size_t>(options_.minibatch);
  const std::size_t place = item % places;
  const std::size_t streams = job_->made.front().samples.size();
  const std::size_t stream = item / places % streams;
  const std::size_t step = item / places / streams;
  const Sample& sample = job_->samples[step * places + place];
  const std::uint64_t seed = job_->streams.empty() ? sample.seed : derive_seed(sample.seed, job_->streams[stream] + 1);
  const std::span<float> to(job_->made[step].samples[stream]);
  const bool varied = options_.augmentation.sharing != Augmentation::Sharing::kNone;
  std::vector<float>& scratch = job_->unplaced[worker];
  if (!data_.decoded_each_time) {
    const std::size_t size = scratch.size();
    const std::span<const float> kept = std::span(data_.train.values).subspan(sample.image * size, size);
    if (varied) vary(kept, seed, scratch);
    put(varied ? std::span<const float>(scratch) : kept, place, to);
    return {};
  }
  const std::filesystem::path& image = data_.train.images[sample.image];
  if (varied && options_.augmentation.shift) {
    COHORT_CHECK(job_->loaders[worker].load(image, seed, target_, job_->decoded[worker]));
    vary(job_->decoded[worker], seed, scratch);
    put(scratch, place, to);
    return {};
  }
  ImageTarget target = target_;
  target.random_crop = varied;
  target.random_flip = varied && options_.augmentation.flip;
  COHORT_CHECK(job_->loaders[worker].load(image, seed, target, scratch));
  put(scratch, place, to);
  return {};
}

/// Labels and samples to be made, and room for them.
void Minibatches::begin(std::int64_t step, Minibatch& made) {
  const std::int64_t epoch = step / steps_per_epoch_;
  const std::int64_t first =
      epoch * static_cast<std::int64_t>(data_.train.samples) + step % steps_per_epoch_ * options_.minibatch;
  std::vector<std::size_t> positions;
  for (std::int64_t i = 0; i < options_.minibatch; ++i) {
    job_->samples.push_back(order_.at(static_cast<std::uint64_t>(first + i)));
    positions.push_back(job_->samples.back().image);
  }
  made.size = made.count = positions.size();
  make_labels(data_.train, positions, made);
  made.samples.resize(std::max<std::size_t>(1, job_->streams.size()));
  for (auto& samples : made.samples) samples.resize(positions.size() * job_->unplaced.front().size());
}

void Minibatches::prepare(std::int64_t step, std::int64_t count, std::vector<std::uint64_t> streams) {
  current_ = 1 - current_;
  job_->streams = std::move(streams);
  job_->samples.clear();
  made_[current_].resize(static_cast<std::size_t>(count));
  std::size_t items = 0;
  for (Minibatch& each : made_[current_]) {
    begin(step++, each);
    items += each.samples.size() * each.size;
  }
  job_->made = made_[current_];
  if (workers_) {
    workers_->start(items, [this](std::size_t worker, std::size_t item) {
      const Nanoseconds begin = steady_now();
      auto result = make_sample(worker, item);
      work_ += (steady_now() - begin).count();
      return result;
    });
    return;
  }
  const Nanoseconds begin = steady_now();
  for (std::size_t item = 0; item < items; ++item) (void)make_sample(0, item);  // copies, which do not fail
  work_ += (steady_now() - begin).count();
}

Result<std::span<const Minibatch>> Minibatches::take() {
  if (workers_) COHORT_CHECK(workers_->finish());
  return std::span<const Minibatch>(made_[current_]);
}

Result<Minibatch> Minibatches::evaluation(std::size_t begin) {
  const DataSet& data = data_.evaluation;
  Minibatch minibatch;
  minibatch.size = static_cast<std::size_t>(options_.minibatch);
  minibatch.count = std::min(data.samples - begin, minibatch.size);
  std::vector<std::size_t> positions;
  for (std::size_t i = 0; i < minibatch.size; ++i) positions.push_back(i < minibatch.count ? begin + i : begin);
  make_labels(data, positions, minibatch);
  const auto size = static_cast<std::size_t>(element_count(ends_.input));
  minibatch.samples.emplace_back(positions.size() * size);
  std::vector<float> decoded(size);
  ImageLoader loader;
  for (std::size_t i = 0; i < positions.size(); ++i) {
    if (data_.decoded_each_time) COHORT_CHECK(loader.load(data.images[positions[i]], 0, target_, decoded));
    put(data_.decoded_each_time ? std::span<const float>(decoded)
                                : std::span(data.values).subspan(positions[i] * size, size),
        i, minibatch.samples.front());
  }
  return minibatch;
}

Minibatches::Options minibatch_options(const Sweep& sweep) {
  return {sweep.minibatch, sweep.seed, sweep.data.augmentation, sweep.data.resize, worker_count(sweep.data)};
}

}  // namespace cohort
