#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "view/explore/exploration.hpp"

namespace cohort {

/// What a test sees of predictions, and how it holds them up.
struct FakeControl {
  std::atomic<bool> hold{false};  ///< predictions run until they are cancelled
  std::atomic<int> started{0};
  std::atomic<int> cancelled{0};
  std::atomic<int> followed{0};         ///< times that scaling was asked for
  std::atomic<bool> finds_none{false};  ///< recommend() fails
  std::mutex mutex;
  std::vector<ExploreSettings> predicted;  ///< those that ended

  void keep(const ExploreSettings& settings) {
    const std::scoped_lock lock(mutex);
    predicted.push_back(settings);
  }
};

/// An exploration whose answers follow from a formula: the speedup is the number of streams, the step takes a
/// microsecond a member.
class FakeExploration final : public Exploration {
 public:
  explicit FakeExploration(std::shared_ptr<FakeControl> control) : control_(std::move(control)) {
    facts_.name = "tiny";
    facts_.models = {{"tiny", {"tiny.trace.json"}, 1}};
    facts_.ops = {{"conv1", "Conv", 1, 1, Nanoseconds(10), {Strategy::kDenseConvolution}},
                  {"relu", "Relu", 1, 1, Nanoseconds(1), {}},
                  {"fc1", "Gemm", 1, 1, Nanoseconds(5), {Strategy::kStridedBatch, Strategy::kGroupedGemm}},
                  {"fc2", "Gemm", 1, 1, Nanoseconds(5), {Strategy::kStridedBatch}}};
    facts_.minibatches = {1, 8};
    facts_.most_models = 1024;
    facts_.most_streams = 8;
    facts_.on_gpu = true;
    facts_.launches = true;
    facts_.most_launch_threads = 4;
    facts_.limits_workspace = true;
    facts_.device_memory = Bytes{1 << 30};
  }

  [[nodiscard]] ExploreSettings initial_settings() const override {
    ExploreSettings settings;
    settings.models = {4};
    settings.streams = 2;
    settings.groups = {all_ops(Strategy::kConcurrent)};
    return settings;
  }
  [[nodiscard]] ExploreSettings first_settings() const override { return initial_settings(); }
  [[nodiscard]] ExploreSettings with_models(ExploreSettings settings, std::vector<int> models) const override {
    settings.models = std::move(models);
    settings.member_streams.clear();
    return settings;
  }
  [[nodiscard]] std::vector<SettingsProblem> problems(const ExploreSettings& settings) const override {
    if (settings.launch_threads <= settings.streams) return {};
    return {{"launch_threads", "each launches one stream or more"}};
  }
  [[nodiscard]] Result<Plan> plan_of(const ExploreSettings& settings) const override {
    return uniform_plan({{"tiny", {"lenet5", {}, 1}, 0}}, Strategy::kConcurrent, settings.streams);
  }
  [[nodiscard]] Result<ExploreSettings> settings_of(const Plan& plan) const override {
    ExploreSettings settings = initial_settings();
    settings.streams = plan.streams;
    return settings;
  }

  Result<ExploreAnswer> predict(const ExploreSettings& settings, const CancelToken& cancel) override {
    ++control_->started;
    while (control_->hold && !cancel.cancelled()) std::this_thread::yield();
    if (cancel.cancelled()) {
      ++control_->cancelled;
      return fail(ErrorCode::kInterrupted, "interrupted");
    }
    control_->keep(settings);
    if (settings.limits.memory && settings.limits.memory->value < 1 << 20) {
      return fail(ErrorCode::kDoesNotFit, "the plan takes 1.00 MiB");
    }
    ExploreAnswer answer;
    answer.report.members = static_cast<std::size_t>(settings.models.front());
    answer.report.step_time = Nanoseconds(1000) * settings.models.front();
    answer.report.baseline = answer.report.step_time * settings.streams;
    answer.report.speedup = settings.streams;
    answer.report.lower_bound = answer.report.step_time / 2;
    answer.report.upper_bound = answer.report.baseline;
    answer.report.binding = {"cores", 0.75};
    answer.report.gain = {{"overlap", answer.report.baseline - answer.report.step_time}};
    answer.report.memory.weights = Bytes{1 << 19};
    answer.report.memory.step = Bytes{1 << 19};
    answer.report.memory.device = facts_.device_memory;
    answer.report.doubts = {{true, "no op was timed at this width"}};
    answer.interval = SpeedupInterval{settings.streams * 0.9, settings.streams * 1.1};
    answer.per_second = 1000;
    answer.counted = "samples";
    answer.plan = plan_of(settings).value();
    Trace trace;
    trace.info.kind = TraceKind::kPredicted;
    const TrackId track = trace.add_track("cuda:0", "stream 0");
    for (int i = 0; i < settings.models.front(); ++i) {
      trace.add_slice(track, "conv1", "task", Nanoseconds(1000) * i, Nanoseconds(900));
    }
    answer.trace = std::make_shared<const Trace>(std::move(trace));
    return answer;
  }

  Result<Recommendation> recommend(const ExploreSettings& settings, const RecommendOptions& /*options*/,
                                   const CancelToken& cancel, const ExploreProgress& progress) override {
    if (progress) progress(1, 2, "candidates");
    if (control_->finds_none) return fail(ErrorCode::kDoesNotFit, "nothing fits");
    while (control_->hold && !cancel.cancelled()) std::this_thread::yield();
    Recommendation found;
    found.interrupted = cancel.cancelled();
    for (const int streams : {4, 2, 1}) {
      ExploreCandidate candidate;
      candidate.name = "concurrent x" + std::to_string(streams);
      candidate.speedup = streams;
      candidate.step = Nanoseconds(8000) / streams;
      candidate.per_second = 100.0 * streams;
      candidate.memory = Bytes{std::int64_t{streams} << 20};
      if (streams > 1) candidate.p99_latency = Nanoseconds(9000) / streams;
      candidate.explanation = "overlaps " + std::to_string(streams) + " members";
      candidate.settings = settings;
      candidate.settings.streams = streams;
      found.candidates.push_back(std::move(candidate));
    }
    found.ranked = 2;
    found.refused = {{"grouped GEMM", "it does not fit"}};
    return found;
  }

  Result<Scaling> scaling(const ExploreSettings& settings, const std::vector<int>& models, const CancelToken& cancel,
                          const ExploreProgress& progress) override {
    ++control_->followed;
    while (control_->hold && !cancel.cancelled()) std::this_thread::yield();
    Scaling scaling;
    scaling.interrupted = cancel.cancelled();
    ScaledWay way;
    way.name = "concurrent";
    for (const int count : models) {
      if (progress) progress(way.points.size(), models.size(), "concurrent");
      ScaledPoint point;
      point.models = count;
      point.speedup = 1 + 0.5 * count;
      point.least = 1;
      point.most = count + 1.0;
      point.settings = with_models(settings, {count});
      way.points.push_back(std::move(point));
    }
    way.missing = {"2048 models: do not fit"};
    ScaledWay measured;
    measured.name = "measured";
    measured.measured = true;
    measured.points.push_back({4, 4, {}, {}, 2.5, 2.4, 2.6, {}, 0, {}, "run.json", {}});
    scaling.ways = {std::move(way), std::move(measured)};
    return scaling;
  }

 private:
  std::shared_ptr<FakeControl> control_;
};

}  // namespace cohort
