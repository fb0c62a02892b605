#include "simulator/colocation/process_demand.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "base/statistics.hpp"

namespace cohort {
namespace {

// Fitted on ParvaGPU's measurements of densenet121, inceptionv3, mobilenetv2, resnet50 and vgg16 on an A100 (see
// docs/colocation.md); times in seconds.
constexpr double kIdleTime = 0.4e-3;    // between two steps
constexpr double kIdleOfHost = 0.05;    // and this part of the host's time
constexpr double kLeastWork = 0.3;      // of a step that the GPU decides
constexpr double kSameLevel = 1.12;     // steps on the host's plateau differ by less
constexpr double kAbovePlateau = 1.15;  // times the plateau: the GPU decides
constexpr double kClearlyAbove = 1.2;   // the same where a larger minibatch is on the plateau
constexpr double kPlateau = 1.5;        // a plateau reaches over minibatches that differ by this factor
// GPU time times the part of the GPU, over that on the smallest part; 0.9 to 1.2 in networks that follow the model.
constexpr double kMostOfShares = 1.5;
constexpr std::size_t kAnchors = 3;  // rows that a line or a scale goes through

/// Seconds by minibatch.
using Curve = std::map<std::int64_t, double>;

/// The host's time as the rows of one part of the GPU show it.
std::optional<double> plateau_of(const Curve& steps) {
  if (steps.size() < 2) return std::nullopt;
  const double least = std::min_element(steps.begin(), steps.end(), [](const auto& a, const auto& b) {
                         return a.second < b.second;
                       })->second;
  std::vector<double> level;
  std::int64_t first = 0;
  std::int64_t last = 0;
  for (const auto& [minibatch, time] : steps) {
    if (time > kSameLevel * least) continue;
    if (level.empty()) first = minibatch;
    last = minibatch;
    level.push_back(time);
  }
  if (level.size() < 2 || static_cast<double>(last) < kPlateau * static_cast<double>(first)) return std::nullopt;
  return median(std::move(level));
}

/// One noisy part of the GPU must not decide: those near the lowest do.
std::optional<double> host_time_of(const std::map<double, Curve>& by_share) {
  std::vector<double> levels;
  for (const auto& [share, steps] : by_share) {
    if (const auto level = plateau_of(steps)) levels.push_back(*level);
  }
  if (levels.empty()) return std::nullopt;
  const double least = *std::min_element(levels.begin(), levels.end());
  std::erase_if(levels, [&](double level) { return level > kAbovePlateau * least; });
  return median(std::move(levels));
}

/// A line through the smallest minibatches, each by its relative error; through zero where it would begin below.
std::function<double(std::int64_t)> line_through(const Curve& work) {
  double sum = 0, sum_b = 0, sum_bb = 0, sum_w = 0, sum_bw = 0;
  std::size_t count = 0;
  for (const auto& [minibatch, time] : work) {
    if (count++ == kAnchors) break;
    const auto b = static_cast<double>(minibatch);
    const double weight = 1 / (time * time);
    sum += weight;
    sum_b += weight * b;
    sum_bb += weight * b * b;
    sum_w += weight * time;
    sum_bw += weight * b * time;
  }
  const double spread = sum * sum_bb - sum_b * sum_b;
  double slope = sum_bw / sum_bb;
  double begin = 0;
  if (work.size() > 1 && spread > 0) {
    const double own_slope = (sum * sum_bw - sum_b * sum_w) / spread;
    const double own_begin = (sum_w - own_slope * sum_b) / sum;
    if (own_begin > 0) {
      slope = std::max(0.0, own_slope);
      begin = own_slope < 0 ? sum_w / sum : own_begin;
    }
  }
  return [=](std::int64_t minibatch) { return begin + slope * static_cast<double>(minibatch); };
}

/// The rows of one part of a step.
class Fit {
 public:
  explicit Fit(std::map<double, Curve> steps) : steps_(std::move(steps)), host_(host_time_of(steps_)) {
    for (const auto& [share, curve] : steps_) bound_.emplace(share, gpu_bound(curve));
    for (const auto& [share, work] : bound_) {
      if (!work.empty()) {
        smallest_ = share;
        break;
      }
    }
    for (const auto& [share, work] : bound_) {
      if (!work.empty() && scale_between(bound_.at(*smallest_), work) * share / *smallest_ > kMostOfShares)
        follows_shares_ = false;
    }
  }

  [[nodiscard]] std::optional<double> host() const { return host_; }
  [[nodiscard]] bool follows_shares() const { return follows_shares_; }

  [[nodiscard]] std::pair<double, WorkOrigin> work(double share, std::int64_t minibatch) const {
    const auto [work, origin] = fitted_work(share, minibatch);
    return {work, follows_shares_ ? origin : WorkOrigin::kAtMost};
  }

 private:
  [[nodiscard]] std::pair<double, WorkOrigin> fitted_work(double share, std::int64_t minibatch) const {
    const Curve& own = bound_.at(share);
    const double most = work_of(steps_.at(share).at(minibatch));
    if (const auto found = own.find(minibatch); found != own.end())
      return {found->second, is_told_apart(share) ? WorkOrigin::kGpuBound : WorkOrigin::kAtMost};
    if (smallest_ && *smallest_ < share) {
      const Curve& shown = bound_.at(*smallest_);
      const double there = at(shown, minibatch);
      const double scale = own.empty() ? *smallest_ / share : scale_between(shown, own);
      const bool measured = shown.contains(minibatch);
      return {std::min(most, scale * there), measured ? WorkOrigin::kOtherShare : WorkOrigin::kOtherMinibatch};
    }
    if (own.empty()) {
      // All on the host's plateau: no more than in proportion to the largest minibatch, where it is at most the step.
      const auto& [largest, step] = *steps_.at(share).rbegin();
      return {work_of(step) * static_cast<double>(minibatch) / static_cast<double>(largest), WorkOrigin::kAtMost};
    }
    return {std::min(most, line_through(own)(minibatch)), WorkOrigin::kOtherMinibatch};
  }

  [[nodiscard]] double work_of(double step) const {
    return std::max(step - kIdleTime - kIdleOfHost * host_.value_or(0), kLeastWork * step);
  }

  /// Steps that the GPU decides: from the largest minibatch down to where the host's plateau begins, and what lies
  /// clearly above it.
  [[nodiscard]] Curve gpu_bound(const Curve& steps) const {
    Curve bound;
    bool behind_plateau = false;
    for (auto row = steps.rbegin(); row != steps.rend(); ++row) {
      const double factor = host_ ? row->second / *host_ : kClearlyAbove + 1;
      if (factor <= kAbovePlateau) behind_plateau = true;
      if (factor > (behind_plateau ? kClearlyAbove : kAbovePlateau)) bound[row->first] = work_of(row->second);
    }
    return bound;
  }

  /// One row alone, or several on one level, may be decided by the host as well as by the GPU.
  [[nodiscard]] bool is_told_apart(double share) const {
    if (host_) return true;
    const auto [least, most] = std::minmax_element(steps_.at(share).begin(), steps_.at(share).end(),
                                                   [](const auto& a, const auto& b) { return a.second < b.second; });
    return most->second > kSameLevel * least->second;
  }

  static double at(const Curve& work, std::int64_t minibatch) {
    const auto found = work.find(minibatch);
    return found != work.end() ? found->second : line_through(work)(minibatch);
  }

  /// Of the GPU time on another part of the GPU to that on this one, where both show it.
  static double scale_between(const Curve& from, const Curve& to) {
    std::vector<double> scales;
    for (const auto& [minibatch, work] : to) {
      scales.push_back(work / at(from, minibatch));
      if (scales.size() == kAnchors) break;
    }
    return median(std::move(scales));
  }

  std::map<double, Curve> steps_;  ///< by share, without the copies
  std::optional<double> host_;
  std::map<double, Curve> bound_;   ///< GPU time of the steps that the GPU decides
  std::optional<double> smallest_;  ///< part of the GPU that shows any
  bool follows_shares_ = true;
};

Nanoseconds nanoseconds(double time) { return Nanoseconds(std::llround(time * 1e9)); }

/// Of one process, and not of a part of it.
bool is_whole_step(const StepTime& row) { return row.processes == 1 && row.part.empty(); }

/// What a row or, for a part of a step, the row of the whole step says that the GPU works. A part of a step keeps the
/// GPU as busy as the whole does.
std::optional<Nanoseconds> recorded_work(const StepTimes& times, const StepTime& row) {
  if (row.gpu_busy || row.part.empty()) return row.gpu_busy;
  const auto whole = std::find_if(times.rows.begin(), times.rows.end(), [&](const StepTime& other) {
    return is_whole_step(other) && other.minibatch == row.minibatch && other.share == row.share;
  });
  if (whole == times.rows.end() || !whole->gpu_busy) return std::nullopt;
  return nanoseconds(seconds(row.step) * seconds(*whole->gpu_busy) / seconds(whole->step));
}

/// Seconds that the input of a step takes to the GPU.
double copy_time(const StepTime& row, Bytes copied, double copy_rate) {
  return static_cast<double>(row.minibatch) * static_cast<double>(copied.value) / copy_rate;
}

}  // namespace

std::string_view to_string(WorkOrigin origin) {
  switch (origin) {
    case WorkOrigin::kRecorded:
      return "recorded";
    case WorkOrigin::kGpuBound:
      return "own step time";
    case WorkOrigin::kOtherShare:
      return "a smaller part of the GPU";
    case WorkOrigin::kOtherMinibatch:
      return "other minibatches";
    case WorkOrigin::kAtMost:
      return "unknown, at most the step";
  }
  return "";
}

const ProcessDemand* ProcessDemands::find(std::int64_t minibatch, double share, std::string_view part) const {
  const auto found = std::find_if(rows.begin(), rows.end(), [&](const ProcessDemand& row) {
    return row.alone.minibatch == minibatch && row.alone.share == share && row.alone.part == part;
  });
  return found == rows.end() ? nullptr : &*found;
}

Result<void> check_copied(const StepTimes& times, Bytes copied, double copy_rate) {
  constexpr double kMost = 9e9;  // seconds that nanoseconds can hold
  for (const StepTime& row : times.rows) {
    const double copy = copy_time(row, copied, copy_rate);
    if (!is_whole_step(row) || copy < seconds(row.step)) continue;
    return fail(
        ErrorCode::kInvalidInput,
        "line {}: --copied: {} samples of {} would take {} to copy, longer than the step; give the bytes of one "
        "sample",
        row.line, row.minibatch, format_bytes(copied), format_time(nanoseconds(std::min(copy, kMost))));
  }
  return {};
}

ProcessDemands process_demands(const StepTimes& times, Bytes copied, double copy_rate) {
  std::map<double, Curve> whole;
  for (const StepTime& row : times.rows) {
    if (!is_whole_step(row)) continue;
    const double copy = copy_time(row, copied, copy_rate);
    whole[row.share][row.minibatch] = std::max(seconds(row.step) - copy, kLeastWork * seconds(row.step));
  }
  const Fit fit(whole);
  ProcessDemands demands;
  demands.follows_shares = fit.follows_shares();
  if (fit.host()) demands.host_time = nanoseconds(*fit.host());
  for (const StepTime& row : times.rows) {
    if (row.processes != 1) continue;
    ProcessDemand demand{row, row.step, WorkOrigin::kAtMost};
    const auto curve = whole.find(row.share);
    if (const auto recorded = recorded_work(times, row)) {
      demand.gpu_work = *recorded;
      demand.origin = WorkOrigin::kRecorded;
    } else if (curve != whole.end() && curve->second.contains(row.minibatch)) {
      const auto [work, origin] = fit.work(row.share, row.minibatch);
      const double of_step = row.part.empty() ? 1 : seconds(row.step) / curve->second.at(row.minibatch);
      demand.gpu_work = std::min(row.step, nanoseconds(work * of_step));
      demand.origin = origin;
    }
    demands.rows.push_back(std::move(demand));
  }
  return demands;
}

}  // namespace cohort
