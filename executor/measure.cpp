#include "executor/measure.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <utility>

#include "base/statistics.hpp"

namespace cohort {
namespace {

constexpr std::size_t kLeastBlocks = 3;
constexpr double kDeviations = 3;
/// Makes the median absolute deviation of normal noise its standard deviation.
constexpr double kMadScale = 1.4826;
/// Deviations below this part of the median never make a block an outlier.
constexpr double kLeastDeviation = 0.01;

/// Of a block: reached only by a subject that takes no time.
constexpr double kMostSteps = 1e8;

struct Block {
  Nanoseconds per_step{};
  double interference = 0;  ///< foreign CPU time per time
  Probed probed;            ///< before or after: the slower one
};

/// Runs one subject's blocks.
class SubjectRun {
 public:
  SubjectRun(const Subject& subject, const MeasureOptions& options, const TimeSource& now,
             const InterferenceProbe& foreign_time, WorkWatch& work)
      : subject_(&subject), options_(&options), now_(&now), foreign_time_(&foreign_time), work_(&work) {}

  /// Finds how many steps fill a block, and goes on until two blocks agree.
  Result<void> warm_up(const CancelToken* cancel) {
    const Nanoseconds start = (*now_)();
    std::optional<double> last;
    while (true) {
      if (cancel != nullptr) COHORT_CHECK(cancel->check());
      COHORT_TRY(const Nanoseconds time, subject_->run(steps_));
      const double per_step = static_cast<double>(time.count()) / steps_;
      const bool long_enough = time >= options_->block || steps_ >= static_cast<int>(kMostSteps);
      if (!long_enough) grow(time);
      const bool agrees = last && std::abs(per_step - *last) <= options_->stable * *last;
      if ((long_enough && agrees) || ((*now_)() - start >= options_->warm_up)) return {};
      if (long_enough) last = per_step;
    }
  }

  Result<void> run_block() {
    const std::optional<Nanoseconds> before = (*foreign_time_)();
    const Nanoseconds start = (*now_)();
    COHORT_TRY(const Nanoseconds time, subject_->run(steps_));
    const Nanoseconds whole = std::max((*now_)() - start, Nanoseconds(1));  // with what the subject leaves untimed
    const std::optional<Nanoseconds> after = (*foreign_time_)();
    Block block{time / steps_, 0, work_->next()};
    if (before && after) block.interference = std::max(0.0, seconds(*after - *before) / seconds(whole));
    blocks_.push_back(block);
    return {};
  }

  [[nodiscard]] std::size_t blocks() const { return blocks_.size(); }
  [[nodiscard]] std::size_t undisturbed() const {
    return static_cast<std::size_t>(
        std::count_if(blocks_.begin(), blocks_.end(), [&](const Block& block) { return is_quiet(block); }));
  }

  [[nodiscard]] SubjectTimes times() const {
    SubjectTimes times;
    times.wall.what = subject_->name;
    times.steps_per_block = steps_;
    const double most = most_disturbance();
    times.disturbed = most > 1;
    std::vector<Nanoseconds> round_trips;
    for (const Block& block : blocks_) {
      if (disturbance(block) > most) continue;
      times.wall.samples.push_back(block.per_step);
      round_trips.push_back(block.probed.round_trip);
    }
    times.round_trip = median(std::move(round_trips));
    discard_outliers(times.wall.samples);
    times.wall.discarded = static_cast<int>(blocks_.size() - times.wall.samples.size());
    times.median = median(times.wall.samples);
    times.lower = quantile(times.wall.samples, 0.25);
    times.upper = quantile(times.wall.samples, 0.75);
    return times;
  }

 private:
  /// At most 1 where it is none that counts.
  [[nodiscard]] double disturbance(const Block& block) const {
    return std::max(block.interference / options_->interference,
                    (work_->slowed(block.probed) - 1) / (WorkWatch::kSlowed - 1));
  }
  [[nodiscard]] bool is_quiet(const Block& block) const { return disturbance(block) <= 1; }

  void grow(Nanoseconds time) {
    const double wanted = steps_ * 1.1 * seconds(options_->block) / std::max(seconds(time), 1e-9);
    steps_ = static_cast<int>(std::min({std::max(std::ceil(wanted), steps_ + 1.0), steps_ * 10.0, kMostSteps}));
  }

  /// Above which blocks are not kept.
  [[nodiscard]] double most_disturbance() const {
    if (undisturbed() >= std::min(kLeastBlocks, blocks_.size())) return 1;
    std::vector<double> all;
    for (const Block& block : blocks_) all.push_back(disturbance(block));
    std::sort(all.begin(), all.end());
    return all[std::min(kLeastBlocks, all.size()) - 1];
  }

  static void discard_outliers(std::vector<Nanoseconds>& samples) {
    const Nanoseconds middle = median(samples);
    std::vector<Nanoseconds> distances;
    for (const Nanoseconds sample : samples) distances.push_back(std::chrono::abs(sample - middle));
    const double deviation = std::max(kMadScale * static_cast<double>(median(distances).count()),
                                      kLeastDeviation * static_cast<double>(middle.count()));
    const auto is_outlier = [&](Nanoseconds sample) {
      return static_cast<double>(std::chrono::abs(sample - middle).count()) > kDeviations * deviation;
    };
    samples.erase(std::remove_if(samples.begin(), samples.end(), is_outlier), samples.end());
  }

  const Subject* subject_;
  const MeasureOptions* options_;
  const TimeSource* now_;
  const InterferenceProbe* foreign_time_;
  WorkWatch* work_;
  int steps_ = 1;
  std::vector<Block> blocks_;
};

/// "measured 3 of 18 blocks, 2 disturbed by other programs": of those that are wanted, and how many must be repeated.
std::string progress_of(const std::vector<SubjectRun>& runs, const MeasureOptions& options) {
  const auto wanted = static_cast<std::size_t>(std::max(options.blocks, 1));
  std::size_t done = 0;
  std::size_t disturbed = 0;
  for (const SubjectRun& run : runs) {
    done += std::min(run.undisturbed(), wanted);
    disturbed += run.blocks() - run.undisturbed();
  }
  return fmt::format("measured {} of {} blocks{}", done, wanted * runs.size(),
                     disturbed > 0 ? fmt::format(", {} disturbed by other programs", disturbed) : "");
}

Nanoseconds time_of(const timeval& time) {
  return std::chrono::seconds(time.tv_sec) + std::chrono::microseconds(time.tv_usec);
}

}  // namespace

std::optional<Nanoseconds> foreign_cpu_time() {
  // "cpu user nice system idle iowait irq softirq steal ...", in ticks; see proc(5).
  std::ifstream file("/proc/stat");
  std::string cpu;
  std::array<std::int64_t, 8> ticks{};
  if (!(file >> cpu) || cpu != "cpu") return std::nullopt;
  for (std::int64_t& value : ticks) {
    if (!(file >> value)) return std::nullopt;
  }
  rusage usage{};
  const long per_second = sysconf(_SC_CLK_TCK);
  if (per_second <= 0 || getrusage(RUSAGE_SELF, &usage) != 0) return std::nullopt;
  const std::int64_t busy = ticks[0] + ticks[1] + ticks[2] + ticks[5] + ticks[6] + ticks[7];
  return std::chrono::nanoseconds(std::chrono::seconds(1)) / per_second * busy - time_of(usage.ru_utime) -
         time_of(usage.ru_stime);
}

Result<std::vector<SubjectTimes>> measure(std::span<const Subject> subjects, const MeasureOptions& options,
                                          const TimeSource& now, const InterferenceProbe& foreign_time,
                                          const CancelToken* cancel) {
  WorkWatch work(options.work_probe);
  std::vector<SubjectRun> runs;
  for (const Subject& subject : subjects) {
    if (options.progress) options.progress(fmt::format("warming up, {}", subject.name));
    runs.emplace_back(subject, options, now, foreign_time, work);
    COHORT_CHECK(runs.back().warm_up(cancel));
  }
  (void)work.next();
  const Nanoseconds start = now();
  const auto enough = [&] {
    return std::all_of(runs.begin(), runs.end(), [&](const SubjectRun& run) {
      return run.undisturbed() >= static_cast<std::size_t>(std::max(options.blocks, 1));
    });
  };
  for (int round = 0; round == 0 || (round < options.most_rounds && !enough() && now() - start < options.limit);
       ++round) {
    for (SubjectRun& run : runs) {
      if (options.progress) options.progress(progress_of(runs, options));
      if (cancel != nullptr) COHORT_CHECK(cancel->check());
      COHORT_CHECK(run.run_block());
    }
  }
  std::vector<SubjectTimes> times;
  for (const SubjectRun& run : runs) times.push_back(run.times());
  return times;
}

double speedup(const SubjectTimes& a, const SubjectTimes& b) {
  return static_cast<double>(a.median.count()) / static_cast<double>(b.median.count());
}

}  // namespace cohort
