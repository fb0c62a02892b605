#include "executor/input/pipeline.hpp"

#include <algorithm>
#include <cassert>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <tuple>

#include "executor/host/core_binding.hpp"
#include "executor/input/image_loader.hpp"
#include "executor/input/sample_order.hpp"

namespace cohort {
namespace {

/// A signal handler can set a CancelToken but not wake anybody, so waits look at it this often.
constexpr std::chrono::milliseconds kCancelPoll{50};

enum class SlotState { kFree, kFilling, kReady, kTaken };

struct Failure {
  int place = 0;
  Error error;
};

struct Slot {
  SlotState state = SlotState::kFree;
  std::int64_t minibatch = 0;
  int begun = 0;  ///< places given to workers
  int done = 0;
  std::vector<std::uint32_t> labels;
  std::vector<std::uint32_t> images;
  std::vector<std::uint32_t> passed_over;  ///< bad images met on the way, once per place
  std::optional<Failure> failure;          ///< of the lowest place, so that the message is always the same
};

struct Pipeline {
  PipelineOptions options;
  std::vector<Slot> slots;
  std::int64_t next_begun = 0;  ///< minibatch that the next free slot is filled with
  std::int64_t next_wanted = 0;

  Slot& slot_of(std::int64_t minibatch) {
    return slots[static_cast<std::size_t>(minibatch % static_cast<std::int64_t>(slots.size()))];
  }
};

/// One image to make.
struct Job {
  int pipeline = 0;
  int place = 0;
  std::int64_t minibatch = 0;
};

struct Outcome {
  std::uint32_t image = 0;
  std::vector<std::uint32_t> passed_over;
  std::optional<Error> error;
};

Result<void> check_options(const ImageFolder& folder, const InputOptions& options) {
  constexpr int kMostWorkers = 1024;
  if (folder.images.empty()) return fail(ErrorCode::kInvalidInput, "no images in {}", folder.path.string());
  if (folder.images.size() > UINT32_MAX)
    return fail(ErrorCode::kInvalidInput, "{} images in {} are more than {}", folder.images.size(),
                folder.path.string(), UINT32_MAX);
  if (options.workers < 1 || options.workers > kMostWorkers)
    return fail(ErrorCode::kInvalidInput, "{} decode workers; must be 1 to {}", options.workers, kMostWorkers);
  return {};
}

Result<void> check_pipeline(const PipelineOptions& pipeline) {
  COHORT_CHECK(validate(pipeline.target));
  if (pipeline.minibatch < 1)
    return fail(ErrorCode::kInvalidInput, "minibatch is {}; must be at least 1", pipeline.minibatch);
  if (pipeline.slots.empty()) return fail(ErrorCode::kInvalidInput, "no slot to decode into; at least one is needed");
  const std::size_t size = static_cast<std::size_t>(pipeline.minibatch) * pipeline.target.size();
  for (std::size_t i = 0; i < pipeline.slots.size(); ++i)
    if (pipeline.slots[i].size() != size)
      return fail(ErrorCode::kInvalidInput, "slot {} holds {} values; a minibatch of {} images has {}", i,
                  pipeline.slots[i].size(), pipeline.minibatch, size);
  return {};
}

}  // namespace

class InputPipelines::Pool {
 public:
  Pool(ImageFolder folder, const InputOptions& options, std::vector<PipelineOptions> pipelines)
      : folder_(std::move(folder)),
        options_(options),
        order_(static_cast<std::uint32_t>(folder_.images.size()), options.seed, options.shuffle) {
    for (PipelineOptions& pipeline : pipelines) {
      Pipeline& added = pipelines_.emplace_back();
      added.slots.resize(pipeline.slots.size());
      for (Slot& slot : added.slots) {
        slot.labels.resize(static_cast<std::size_t>(pipeline.minibatch));
        slot.images.resize(static_cast<std::size_t>(pipeline.minibatch));
      }
      added.options = std::move(pipeline);
    }
  }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  ~Pool() {
    stop();
    for (std::thread& worker : workers_) worker.join();
  }

  Result<void> start() {
    for (int i = 0; i < options_.workers; ++i) {
      try {
        workers_.emplace_back([this, i] { work(i); });
      } catch (const std::system_error& error) {
        return fail(ErrorCode::kDoesNotFit, "cannot start decode worker {} of {}: {}", i + 1, options_.workers,
                    error.what());
      }
    }
    return {};
  }

  Result<ReadyMinibatch> next(int index);
  void release(int index, int slot_index);
  void stop();
  std::vector<BadImage> bad_images() const;

 private:
  [[nodiscard]] bool cancelled() const { return options_.cancel != nullptr && options_.cancel->cancelled(); }
  [[nodiscard]] bool stopped() const {
    const std::lock_guard lock(mutex_);
    return stop_ || cancelled();
  }
  void work(int worker);
  std::optional<Job> take_job();
  Outcome make(const Job& job, int worker, ImageLoader& loader);
  bool finish(const Job& job, Outcome outcome);
  [[nodiscard]] Error nothing_decodes() const;
  [[nodiscard]] bool known_as_bad(std::uint32_t image) const;
  void remember_as_bad(std::uint32_t image, const std::string& reason);
  std::string reason_without_path(std::uint32_t image, const Error& error) const;

  const ImageFolder folder_;
  const InputOptions options_;
  SampleOrder order_;

  mutable std::mutex mutex_;  ///< of everything below
  std::condition_variable work_available_;
  std::condition_variable minibatch_ready_;
  bool stop_ = false;
  std::vector<Pipeline> pipelines_;
  std::map<std::uint32_t, std::string> bad_;           ///< reason by image, as workers meet them
  std::map<std::uint32_t, std::int64_t> passed_over_;  ///< count by image, of minibatches handed out

  std::vector<std::thread> workers_;
};

Result<ReadyMinibatch> InputPipelines::Pool::next(int index) {
  std::unique_lock lock(mutex_);
  Pipeline& pipeline = pipelines_[static_cast<std::size_t>(index)];
  Slot& slot = pipeline.slot_of(pipeline.next_wanted);
  while (true) {
    if (stop_ || cancelled()) return fail(ErrorCode::kInterrupted, "interrupted while waiting for images");
    if (slot.state == SlotState::kReady && slot.minibatch == pipeline.next_wanted) break;
    minibatch_ready_.wait_for(lock, kCancelPoll);
  }
  if (slot.failure) return tl::unexpected<Error>(slot.failure->error);
  for (const std::uint32_t image : slot.passed_over) ++passed_over_[image];
  slot.state = SlotState::kTaken;
  ++pipeline.next_wanted;
  return ReadyMinibatch{static_cast<int>(&slot - pipeline.slots.data()), slot.minibatch, slot.labels, slot.images};
}

void InputPipelines::Pool::release(int index, int slot_index) {
  {
    const std::lock_guard lock(mutex_);
    Slot& slot = pipelines_[static_cast<std::size_t>(index)].slots[static_cast<std::size_t>(slot_index)];
    assert(slot.state == SlotState::kTaken);
    slot.state = SlotState::kFree;
  }
  work_available_.notify_all();
}

void InputPipelines::Pool::stop() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  work_available_.notify_all();
  minibatch_ready_.notify_all();
}

std::vector<BadImage> InputPipelines::Pool::bad_images() const {
  const std::lock_guard lock(mutex_);
  std::vector<BadImage> images;
  for (const auto& [image, count] : passed_over_)
    images.push_back({folder_.images[image].path.string(), bad_.at(image), count});
  std::sort(images.begin(), images.end(), [](const BadImage& a, const BadImage& b) { return a.path < b.path; });
  return images;
}

void InputPipelines::Pool::work(int worker) {
  if (!options_.cores.empty()) bind_to_cores(options_.cores);
  ImageLoader loader;
  std::unique_lock lock(mutex_);
  while (!stop_ && !cancelled()) {
    const std::optional<Job> job = take_job();
    if (!job) {
      work_available_.wait(lock);
      continue;
    }
    lock.unlock();
    Outcome outcome = make(*job, worker, loader);
    lock.lock();
    if (finish(*job, std::move(outcome))) minibatch_ready_.notify_all();
  }
}

/// The next image of the minibatch that its caller needs soonest; among equals, of the pipeline that is
/// furthest behind, so that none starves.
std::optional<Job> InputPipelines::Pool::take_job() {
  std::optional<Job> best;
  const auto urgency = [&](const Job& job) {
    const Pipeline& pipeline = pipelines_[static_cast<std::size_t>(job.pipeline)];
    return std::tuple(job.minibatch - pipeline.next_wanted, job.minibatch, job.pipeline);
  };
  for (int p = 0; p < static_cast<int>(pipelines_.size()); ++p) {
    Pipeline& pipeline = pipelines_[static_cast<std::size_t>(p)];
    Slot& fresh = pipeline.slot_of(pipeline.next_begun);
    if (fresh.state == SlotState::kFree) {
      fresh.state = SlotState::kFilling;
      fresh.minibatch = pipeline.next_begun++;
      fresh.begun = fresh.done = 0;
      fresh.passed_over.clear();
      fresh.failure.reset();
    }
    for (const Slot& slot : pipeline.slots) {
      if (slot.state != SlotState::kFilling || slot.begun == pipeline.options.minibatch) continue;
      const Job job{p, slot.begun, slot.minibatch};
      if (!best || urgency(job) < urgency(*best)) best = job;
    }
  }
  if (best) ++pipelines_[static_cast<std::size_t>(best->pipeline)].slot_of(best->minibatch).begun;
  return best;
}

/// Decodes the first good image at or after the place's own. Runs without the lock; the slot's memory
/// of this place is this worker's alone until finish().
Outcome InputPipelines::Pool::make(const Job& job, int worker, ImageLoader& loader) {
  Outcome outcome;
  const PipelineOptions& options = pipelines_[static_cast<std::size_t>(job.pipeline)].options;
  const auto slot = static_cast<std::size_t>(job.minibatch) % options.slots.size();
  const std::size_t size = options.target.size();
  const auto out = options.slots[slot].subspan(static_cast<std::size_t>(job.place) * size, size);
  const auto position = static_cast<std::uint64_t>(job.minibatch) * static_cast<std::uint64_t>(options.minibatch) +
                        static_cast<std::uint64_t>(job.place);
  // Twice the folder less one covers one whole epoch from wherever the place stands.
  const std::uint64_t attempts = 2 * folder_.images.size() - 1;
  for (std::uint64_t attempt = 0; attempt < attempts && !stopped(); ++attempt) {
    const Sample sample = order_.at(position + attempt);
    if (known_as_bad(sample.image)) {
      outcome.passed_over.push_back(sample.image);
      continue;
    }
    outcome.image = sample.image;
    loader.observe(options_.observer, {worker, job.pipeline, job.minibatch, job.place, sample.image});
    try {
      const auto loaded = loader.load(folder_.images[sample.image].path, sample.seed, options.target, out);
      if (loaded) {
        // A search that crosses into the next epoch can meet the same image twice.
        std::sort(outcome.passed_over.begin(), outcome.passed_over.end());
        outcome.passed_over.erase(std::unique(outcome.passed_over.begin(), outcome.passed_over.end()),
                                  outcome.passed_over.end());
        return outcome;
      }
      if (options_.on_bad_image == OnBadImage::kFatal || loaded.error().code != ErrorCode::kInvalidInput) {
        outcome.error = loaded.error();
        return outcome;
      }
      remember_as_bad(sample.image, reason_without_path(sample.image, loaded.error()));
      outcome.passed_over.push_back(sample.image);
    } catch (const std::exception& error) {  // memory ran out while reading or transforming
      outcome.error = Error{ErrorCode::kDoesNotFit,
                            fmt::format("{}: {}", folder_.images[sample.image].path.string(), error.what())};
      return outcome;
    }
  }
  outcome.error = nothing_decodes();
  return outcome;
}

Error InputPipelines::Pool::nothing_decodes() const {
  const std::lock_guard lock(mutex_);
  std::string first;
  if (!bad_.empty())
    first = fmt::format("; the first, {}: {}", folder_.images[bad_.begin()->first].path.string(), bad_.begin()->second);
  return {ErrorCode::kInvalidInput, fmt::format("none of the {} images in {} can be decoded{}", folder_.images.size(),
                                                folder_.path.string(), first)};
}

bool InputPipelines::Pool::finish(const Job& job, Outcome outcome) {
  Pipeline& pipeline = pipelines_[static_cast<std::size_t>(job.pipeline)];
  Slot& slot = pipeline.slot_of(job.minibatch);
  const auto place = static_cast<std::size_t>(job.place);
  slot.images[place] = outcome.image;
  slot.labels[place] = folder_.images[outcome.image].label;
  slot.passed_over.insert(slot.passed_over.end(), outcome.passed_over.begin(), outcome.passed_over.end());
  if (outcome.error && (!slot.failure || job.place < slot.failure->place))
    slot.failure = Failure{job.place, std::move(*outcome.error)};
  if (++slot.done < pipeline.options.minibatch) return false;
  slot.state = SlotState::kReady;
  return true;
}

bool InputPipelines::Pool::known_as_bad(std::uint32_t image) const {
  const std::lock_guard lock(mutex_);
  return bad_.contains(image);
}

void InputPipelines::Pool::remember_as_bad(std::uint32_t image, const std::string& reason) {
  const std::lock_guard lock(mutex_);
  bad_.emplace(image, reason);
}

std::string InputPipelines::Pool::reason_without_path(std::uint32_t image, const Error& error) const {
  const std::string prefix = folder_.images[image].path.string() + ": ";
  return error.message.starts_with(prefix) ? error.message.substr(prefix.size()) : error.message;
}

Result<std::unique_ptr<InputPipelines>> InputPipelines::open(ImageFolder folder, const InputOptions& options,
                                                             std::vector<PipelineOptions> pipelines) {
  COHORT_CHECK(check_options(folder, options));
  if (pipelines.empty()) return fail(ErrorCode::kInvalidInput, "input needs at least one pipeline");
  for (std::size_t p = 0; p < pipelines.size(); ++p) {
    const auto checked = check_pipeline(pipelines[p]);
    if (!checked) return in_context(fmt::format("input pipeline {}", p), checked.error());
  }
  auto pool = std::make_unique<Pool>(std::move(folder), options, std::move(pipelines));
  COHORT_CHECK(pool->start());
  return std::unique_ptr<InputPipelines>(new InputPipelines(std::move(pool)));
}

InputPipelines::InputPipelines(std::unique_ptr<Pool> pool) : pool_(std::move(pool)) {}
InputPipelines::~InputPipelines() = default;
Result<ReadyMinibatch> InputPipelines::next(int pipeline) { return pool_->next(pipeline); }
void InputPipelines::release(int pipeline, int slot) { pool_->release(pipeline, slot); }
void InputPipelines::stop() { pool_->stop(); }
std::vector<BadImage> InputPipelines::bad_images() const { return pool_->bad_images(); }

}  // namespace cohort
