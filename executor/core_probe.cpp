#include "executor/core_probe.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <limits>
#include <memory>
#include <system_error>
#include <thread>

#include "executor/clock.hpp"
#include "executor/host/core_binding.hpp"

namespace cohort {
namespace {

/// Keeps the units for floating point and for whole numbers busy at once, so that nothing is left over for a twin.
Nanoseconds time_work() {
  constexpr int kRounds = 20000;
  volatile float sink = 0;
  const Nanoseconds begin = steady_now();
  std::array<float, 32> values{};
  std::uint64_t product = 1;
  std::uint64_t shifted = 3;
  for (std::uint64_t i = 0; i < kRounds; ++i) {
    for (float& value : values) value = value * 0.999F + 0.001F;
    product = product * 31 + i;
    shifted ^= shifted << 3;
  }
  for (const float value : values) sink = sink + value;
  sink = sink + static_cast<float>((product + shifted) % 2);
  return steady_now() - begin;
}

/// The best of a few, which an interrupt or a helper that still spins does not lengthen.
Nanoseconds best_work() {
  constexpr int kTimes = 3;
  Nanoseconds best = time_work();
  for (int i = 1; i < kTimes; ++i) best = std::min(best, time_work());
  return best;
}

/// A value that two cores hand to each other.
class Ball {
 public:
  /// Waits until the other core has sent its `number`-th value.
  void wait_for(std::uint32_t number) const {
    constexpr int kPatience = 10000;
    for (int i = 1; value_.load(std::memory_order_acquire) != number; ++i) {
      if (i % kPatience == 0) std::this_thread::yield();  // the other core is busy with something else
    }
  }
  void send(std::uint32_t number) { value_.store(number, std::memory_order_release); }

 private:
  alignas(64) std::atomic<std::uint32_t> value_ = 0;
};

/// A thread bound to each core but the first, which is the caller's.
class CoreProbe {
 public:
  explicit CoreProbe(std::vector<int> cores) : cores_(std::move(cores)), times_(cores_.size()) {
    try {
      for (std::size_t i = 1; i < cores_.size(); ++i) threads_.emplace_back([this, i] { work_when_asked(i); });
    } catch (const std::system_error&) {  // no more threads: as many cores as there are
    }
    used_ = threads_.size() + 1;
  }
  CoreProbe(const CoreProbe&) = delete;
  CoreProbe& operator=(const CoreProbe&) = delete;
  ~CoreProbe() {
    round_ = kEnd;
    round_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  /// Of the core that is slowest, and of the pair that is furthest apart.
  Probed slowest() {
    // Helpers of the last parallel region spin a while on cores that are not theirs any more.
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    bind_to_core(cores_[0]);
    working_ = threads_.size();
    talking_ = 0;
    ++round_;
    round_.notify_all();
    times_[0] = best_work();
    for (std::size_t left = working_; left > 0; left = working_) working_.wait(left);
    Probed slowest{*std::max_element(times_.begin(), times_.end()), {}};  // of a core without a thread: 0
    for (talking_ = 1; talking_ < used_; ++talking_) {
      talking_.notify_all();
      slowest.round_trip = std::max(slowest.round_trip, serve() / kTrips);
    }
    bind_to_cores(cores_);
    return slowest;
  }

 private:
  static constexpr std::uint64_t kEnd = std::numeric_limits<std::uint64_t>::max();
  static constexpr std::uint32_t kTrips = 300;  // in each of a few times
  static constexpr std::uint32_t kTimes = 4;    // with the first, until the other core is there

  /// The first core's part: odd values out, even ones back. Returns the time of kTrips there and back.
  Nanoseconds serve() {
    ball_.send(0);
    std::uint32_t last = 0;
    const auto trips = [&] {
      const Nanoseconds begin = steady_now();
      for (std::uint32_t i = 0; i < kTrips; ++i) {
        ball_.send(last + 1);
        last += 2;
        ball_.wait_for(last);
      }
      return steady_now() - begin;
    };
    Nanoseconds best = Nanoseconds::max();
    for (std::uint32_t i = 0; i < kTimes; ++i) best = std::min(best, trips());
    return best;
  }
  void return_all() {
    for (std::uint32_t value = 1; value < 2 * kTrips * kTimes; value += 2) {
      ball_.wait_for(value);
      ball_.send(value + 1);
    }
  }

  void work_when_asked(std::size_t place) {
    bind_to_core(cores_[place]);
    for (std::uint64_t seen = 0; seen != kEnd;) {
      round_.wait(seen);
      seen = round_;
      if (seen == kEnd) return;
      times_[place] = best_work();
      --working_;
      working_.notify_all();
      for (std::size_t talking = talking_; talking < place; talking = talking_) talking_.wait(talking);
      return_all();
    }
  }

  std::vector<int> cores_;
  std::vector<Nanoseconds> times_;
  std::size_t used_ = 1;  ///< cores, the caller's among them
  std::atomic<std::uint64_t> round_ = 0;
  std::atomic<std::size_t> working_ = 0;
  std::atomic<std::size_t> talking_ = 0;  ///< the place whose core returns the ball
  Ball ball_;
  std::vector<std::thread> threads_;
};

}  // namespace

WorkProbe core_probe(const DeviceInfo& device) {
  if (device.kind != "cpu") return {};
  std::vector<int> cores = cores_to_bind();
  if (cores.empty()) return {};
  return [probe = std::make_shared<CoreProbe>(std::move(cores))] { return probe->slowest(); };
}

}  // namespace cohort
