#include "executor/profile/profile.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>

#include "executor/measure.hpp"
#include "executor/profile/kernels.hpp"
#include "executor/profile/overheads.hpp"
#include "executor/runner.hpp"
#include "simulator/plan/lower.hpp"
#include "simulator/plan/tensor_layout.hpp"

namespace cohort {
namespace {

constexpr std::size_t kKeptSamples = 15;
/// Of DeviceInfo::settings: bytes of the last cache of a GPU.
constexpr std::string_view kCacheSetting = "l2_bytes";

/// A fused way to compute an op of several members.
struct FusedForm {
  Strategy strategy{};
  bool shared_input = true;
};

/// Those that a model batch can meet: a shared input only where the op reads the model's.
std::vector<FusedForm> fused_forms(const Model& model, const Op& op) {
  const bool first_layer = model.tensor(op.inputs[0]).role == TensorRole::kInput;
  if (std::holds_alternative<Gemm>(op.attributes)) {
    if (first_layer) return {{Strategy::kStridedBatch, true}, {Strategy::kStridedBatch, false}};
    return {{Strategy::kStridedBatch, false}};
  }
  if (model.tensor(op.outputs[0]).shape.size() != 4) return {};
  if (const auto* convolution = std::get_if<Convolution>(&op.attributes)) {
    if (first_layer && convolution->groups == 1)
      return {{Strategy::kDenseConvolution}, {Strategy::kGroupedConvolution}};
    return {{Strategy::kGroupedConvolution}};
  }
  const bool per_channel =
      std::holds_alternative<Pool>(op.attributes) || std::holds_alternative<Activation>(op.attributes);
  return per_channel ? std::vector<FusedForm>{{Strategy::kGroupedConvolution}} : std::vector<FusedForm>{};
}

/// At most kKeptSamples of `records`, which are of one case: evenly spaced in order of time.
std::vector<ProfileRecord> thinned(std::vector<ProfileRecord> records) {
  std::stable_sort(records.begin(), records.end(), [](const auto& a, const auto& b) { return a.time < b.time; });
  if (records.size() <= kKeptSamples) return records;
  std::vector<ProfileRecord> kept;
  for (std::size_t i = 0; i < kKeptSamples; ++i) kept.push_back(records[i * (records.size() - 1) / (kKeptSamples - 1)]);
  return kept;
}

Nanoseconds median_time(const std::vector<ProfileRecord>& records) {
  std::vector<Nanoseconds> times;
  for (const ProfileRecord& record : records) times.push_back(record.time);
  return quantile(std::move(times), 0.5);
}

/// Times all cases of one op into a trace.
class OpProfiler {
 public:
  OpProfiler(Backend& backend, const ProfileOptions& options, const CancelToken& cancel, Trace& trace)
      : backend_(backend), options_(options), cancel_(cancel), trace_(trace) {}

  /// What was timed of the op that was run last: each way once, warm and alone.
  [[nodiscard]] const std::vector<OpCase>& warm_cases() const { return warm_cases_; }

  Result<void> run(const Model& model, const Op& op) {
    warm_cases_.clear();
    const Model single = single_op_model(model, op);
    const LoadedModel loaded{single, random_weights(single, 0)};
    layout_ = layout_alone(model, op, Layout::kNhwc);
    reads_model_input_ = model.tensor(op.inputs[0]).role == TensorRole::kInput;
    for (const int threads : thread_counts()) COHORT_CHECK(time_alone(loaded, threads));
    if (options_.fused_widths.empty()) return time_copies(model, op, loaded);
    for (const FusedForm& form : fused_forms(model, op)) {
      for (const int threads : thread_counts()) COHORT_CHECK(time_fused(loaded, form, threads));
    }
    return {};
  }

 private:
  [[nodiscard]] std::vector<int> thread_counts() const {
    const int cores = backend_.catalog().cores();
    return cores > 1 ? std::vector{1, cores} : std::vector{1};
  }

  /// Every alternative with warm weights; those near the best also with colder ones, and beside
  /// themselves on the other cores.
  Result<void> time_alone(const LoadedModel& loaded, int threads) {
    COHORT_TRY(const auto algorithms, algorithms_of(loaded, threads));
    if (algorithms.empty()) return {};  // a Reshape in place: nothing runs
    std::map<std::string, Nanoseconds> warm;
    for (const std::string& algorithm : algorithms) {
      COHORT_TRY(warm[algorithm], time(loaded, {Strategy::kSerial, 1, threads, algorithm, 1, true, 1}));
    }
    Nanoseconds best = warm.begin()->second;
    for (const auto& [algorithm, time_warm] : warm) best = std::min(best, time_warm);
    // What an op reads was mostly just written, but a model's input comes from afar.
    const bool shared = !reads_model_input_;
    for (const std::string& algorithm : algorithms) {
      if (seconds(warm[algorithm]) > 1.25 * seconds(best)) continue;
      for (const int copies : copy_counts(loaded.model))
        COHORT_CHECK(time(loaded, {Strategy::kSerial, 1, threads, algorithm, copies, shared, 1}));
      const int cores = backend_.catalog().cores();
      if (threads > 1 || cores == 1) continue;
      // Enough calls on each core that the start and end, when one core is alone, do not count.
      const int least = warm[algorithm] > std::chrono::microseconds(200) ? 1 : 8;
      COHORT_CHECK(time(loaded, {Strategy::kSerial, 1, 1, algorithm, least, least > 1, cores}));
      std::set<int> beside;
      for (const int copies : copy_counts(loaded.model)) beside.insert(std::max(least + 1, copies / cores));
      for (const int copies : beside)
        COHORT_CHECK(time(loaded, {Strategy::kSerial, 1, 1, algorithm, copies, shared, cores}));
    }
    return {};
  }

  Result<void> time_fused(const LoadedModel& loaded, const FusedForm& form, int threads) {
    for (const int width : options_.fused_widths) {
      COHORT_TRY(const Nanoseconds once, time(loaded, {form.strategy, width, threads, "", 1, form.shared_input, 1}));
      const Bytes own = call_bytes(loaded.model) * width;
      constexpr Bytes kCold{64 << 20};
      constexpr std::chrono::milliseconds kLong{5};  // such calls are cold by themselves
      const auto copies =
          static_cast<int>(std::min<std::int64_t>(kCold.value / own.value, options_.most_copies / width));
      if (once < kLong && copies > 1)
        COHORT_CHECK(time(loaded, {form.strategy, width, threads, "", copies, form.shared_input, 1}));
      const int cores = backend_.catalog().cores();
      if (threads > 1 || cores == 1) continue;
      const int beside = once < kLong ? std::max(2, copies / cores) : 1;
      COHORT_CHECK(time(loaded, {form.strategy, width, 1, "", beside, form.shared_input, cores}));
    }
    return {};
  }

  /// The copies that stack inputs are wanted even where fused calls are not.
  Result<void> time_copies(const Model& model, const Op& op, const LoadedModel& loaded) {
    for (const FusedForm& form : fused_forms(model, op)) {
      for (const int threads : thread_counts()) {
        COHORT_TRY(CaseTiming timing, time_case(backend_, loaded,
                                                {form.strategy, 4, threads, "", 1, form.shared_input, 1,
                                                 options_.precision, Bytes{}, layout_},
                                                options_.limits, cancel_));
        add_copies(std::move(timing));
      }
    }
    return {};
  }

  void add_copies(CaseTiming timing) {
    if (timing.stack_copies.empty()) return;
    add_profile_records(trace_, "copies", "copy", thinned(std::move(timing.stack_copies)));
  }

  [[nodiscard]] Result<std::vector<std::string>> algorithms_of(const LoadedModel& loaded, int threads) const {
    std::vector<std::string> names;
    const auto choose = [&](const CostKey& key, std::span<const Alternative> alternatives) {
      const bool is_copy = key.signature.starts_with("Copy ");
      for (std::size_t i = 0; !is_copy && i < alternatives.size(); ++i) names.push_back(alternatives[i].algorithm);
      return std::size_t{0};
    };
    Plan plan = uniform_plan({{"op", {}, 0}}, Strategy::kSerial, 1);
    plan.groups[0].threads = threads;
    plan.precision = options_.precision;
    plan.layout = layout_;
    const std::vector<const Model*> models{&loaded.model};
    COHORT_CHECK(lower(plan, models, backend_.catalog(), choose).map([](const Program&) {}));
    names.resize(std::min(names.size(), static_cast<std::size_t>(options_.most_alternatives)));
    return names;
  }

  [[nodiscard]] std::vector<int> copy_counts(const Model& single) const {
    std::set<int> counts;
    const std::int64_t own = std::max<std::int64_t>(1, call_bytes(single).value);
    for (const Bytes footprint : options_.footprints) {
      const auto copies = static_cast<int>(std::min<std::int64_t>(footprint.value / own, options_.most_copies));
      if (copies > 1) counts.insert(copies);
    }
    return {counts.begin(), counts.end()};
  }

  /// Times one case and returns its median.
  Result<Nanoseconds> time(const LoadedModel& loaded, OpCase op_case) {
    op_case.precision = options_.precision;
    op_case.layout = layout_;
    COHORT_TRY(CaseTiming timing, time_case(backend_, loaded, op_case, options_.limits, cancel_));
    const Nanoseconds median = median_time(timing.calls);
    if (op_case.copies == 1 && op_case.streams == 1) {
      warm_cases_.push_back(op_case);
      add_profile_records(trace_, "first executions", loaded.model.ops[0].name, {timing.first});
      COHORT_CHECK(time_flushed(loaded, op_case));
    }
    add_profile_records(trace_, "ops alone", loaded.model.ops[0].name, thinned(std::move(timing.calls)));
    add_copies(std::move(timing));
    return median;
  }

  /// The same with everything gone from the caches, where it is known how large they are: nothing is then found of
  /// what ran before, as where a model batch touches more than they hold.
  Result<void> time_flushed(const LoadedModel& loaded, OpCase op_case) {
    const auto& settings = backend_.info().settings;
    const auto cache = settings.find(std::string(kCacheSetting));
    if (cache == settings.end()) return {};
    std::from_chars(cache->second.data(), cache->second.data() + cache->second.size(), op_case.flush.value);
    if (op_case.flush.value <= 0) return {};
    COHORT_TRY(CaseTiming timing, time_case(backend_, loaded, op_case, options_.limits, cancel_));
    add_profile_records(trace_, "ops alone, caches flushed", loaded.model.ops[0].name,
                        thinned(std::move(timing.calls)));
    return {};
  }

  Backend& backend_;
  const ProfileOptions& options_;
  const CancelToken& cancel_;
  Trace& trace_;
  bool reads_model_input_ = false;  ///< of the op that is being timed
  Layout layout_ = Layout::kNhwc;   ///< that it is timed in
  std::vector<OpCase> warm_cases_;
};

/// Reads the clock as a recording sink does and keeps nothing: for what tracing costs.
class SilentSink final : public TaskSink {
 public:
  explicit SilentSink(int streams) : last_(static_cast<std::size_t>(streams)) {}
  void begin(StepId /*step*/, StreamId stream) noexcept override { last_[to_index(stream)] = steady_now(); }
  void end(StepId /*step*/, StreamId stream) noexcept override { last_[to_index(stream)] = steady_now(); }

 private:
  std::vector<Nanoseconds> last_;
};

/// Wall time of the whole model, with and without a sink in turn, so that drift meets both alike.
Result<void> time_model(Backend& backend, const LoadedModel& loaded, const ProfileOptions& options,
                        const CancelToken& cancel, Trace& trace) {
  Plan plan = uniform_plan({{loaded.model.name, {}, 0}}, Strategy::kSerial, 1);
  plan.input.buffers = 1;
  plan.precision = options.precision;
  const std::vector<const Model*> models{&loaded.model};
  COHORT_TRY(const Program program, lower(plan, models, backend.catalog()));
  const std::vector<const Weights*> weights{&loaded.weights};
  COHORT_TRY(const auto runner, Runner::create(backend, program, weights));
  SilentSink sink(program.streams);
  WallTimes untraced{"model untraced", {}, 0};
  WallTimes traced{"model traced", {}, 0};
  COHORT_TRY(const Nanoseconds once, runner->timed_steps(1, steady_now));
  const auto steps =
      static_cast<int>(std::clamp<std::int64_t>(5'000'000 / std::max<std::int64_t>(1, once.count()), 1, 1000));
  for (int i = 0; i < 15; ++i) {
    COHORT_CHECK(cancel.check());
    COHORT_TRY(const Nanoseconds plain, runner->timed_steps(steps, steady_now));
    runner->session().set_sink(&sink);
    COHORT_TRY(const Nanoseconds watched, runner->timed_steps(steps, steady_now));
    runner->session().set_sink(nullptr);
    untraced.samples.push_back(plain / steps);
    traced.samples.push_back(watched / steps);
  }
  trace.info.wall_times.push_back(std::move(untraced));
  trace.info.wall_times.push_back(std::move(traced));
  return {};
}

}  // namespace

void add_profile_records(Trace& trace, std::string_view track, std::string_view name,
                         std::vector<ProfileRecord> records) {
  auto found =
      std::find_if(trace.tracks.begin(), trace.tracks.end(), [&](const Track& t) { return t.thread == track; });
  const TrackId id = found == trace.tracks.end() ? trace.add_track("profile", std::string(track))
                                                 : static_cast<TrackId>(found - trace.tracks.begin());
  Nanoseconds start{};
  for (const Slice& slice : trace.slices) {
    if (slice.track == id) start = std::max(start, slice.end());
  }
  for (const ProfileRecord& record : records) {
    add_profile_record(trace, id, name, start, record);
    start += record.time;
  }
}

Result<Trace> profile_model(Backend& backend, const LoadedModel& loaded, const ProfileOptions& options,
                            const CancelToken& cancel) {
  COHORT_CHECK(check_precision(options.precision, backend.catalog().precisions()));
  Trace trace;
  trace.info.kind = TraceKind::kProfile;
  trace.info.device = backend.info();
  OpProfiler profiler(backend, options, cancel, trace);
  std::map<std::string, const Op*> distinct;
  std::vector<const Op*> order;
  for (const Op& op : loaded.model.ops) {
    if (distinct.emplace(signature_of(loaded.model, op), &op).second) order.push_back(&op);
  }
  std::vector<KernelCase> cases;
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (options.progress)
      options.progress(fmt::format("{} ({} of {} distinct ops)", order[i]->name, i + 1, order.size()));
    auto timed = profiler.run(loaded.model, *order[i]);
    if (!timed) return in_context(fmt::format("profiling {}", order[i]->name), timed.error());
    for (const OpCase& op_case : profiler.warm_cases()) cases.push_back({order[i], op_case});
  }
  if (options.progress) options.progress("overheads and the whole model");
  COHORT_TRY(auto overheads, measure_overheads(backend, cancel));
  std::map<std::string, std::vector<ProfileRecord>> by_name;
  for (ProfileRecord& record : overheads) by_name[record.signature].push_back(std::move(record));
  for (auto& [name, records] : by_name) add_profile_records(trace, "overheads", name, std::move(records));
  COHORT_CHECK(time_model(backend, loaded, options, cancel, trace));
  if (options.more) COHORT_CHECK(options.more(trace));
  if (options.tracer == nullptr) return trace;
  if (options.progress) options.progress("kernels");
  COHORT_CHECK(record_kernels(backend, loaded, cases, *options.tracer, cancel, trace));
  return trace;
}

}  // namespace cohort
