#include "executor/profile/profile.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <set>

#include "executor/core_probe.hpp"
#include "executor/input_values.hpp"
#include "executor/profile/case_selection.hpp"
#include "executor/profile/kernels.hpp"
#include "executor/profile/overheads.hpp"
#include "executor/runner.hpp"
#include "executor/trace_sink.hpp"
#include "simulator/plan/lower.hpp"

namespace cohort {
namespace {

constexpr std::size_t kKeptSamples = 15;

/// At most kKeptSamples of `records`, which are of one case: evenly spaced in order of time.
std::vector<ProfileRecord> thinned(std::vector<ProfileRecord> records) {
  std::stable_sort(records.begin(), records.end(), [](const auto& a, const auto& b) { return a.time < b.time; });
  if (records.size() <= kKeptSamples) return records;
  std::vector<ProfileRecord> kept;
  for (std::size_t i = 0; i < kKeptSamples; ++i) kept.push_back(records[i * (records.size() - 1) / (kKeptSamples - 1)]);
  return kept;
}

/// A case that took this long has met the machine in more than one mood, and needs no more passes than samples ask for.
constexpr std::chrono::milliseconds kSpread{100};

/// What is loaded stays so between passes while all of it takes no more.
constexpr Bytes kMostKept{512 << 20};

/// What is too large to stay is loaded for each pass where its first load took no more; else it is timed in one go.
constexpr std::chrono::milliseconds kQuickLoad{20};

/// An op and its cases.
struct OpCases {
  ProfiledOp op;
  std::vector<TimedCase> warm;
  std::vector<TimedCase> colder;
};

/// The ops of a model, one of each signature, with what is to be timed of them.
class CaseTimer {
 public:
  CaseTimer(Backend& backend, const ProfileOptions& options, const CancelToken& cancel)
      : backend_(backend),
        options_(options),
        cancel_(cancel),
        in_pass_(options.limits),
        watch_(options.work_probe ? options.work_probe : core_probe(backend.info())) {
    const int passes = std::max(options.passes, 1);
    in_pass_.least_samples = (options.limits.least_samples + passes - 1) / passes;
    in_pass_.most_samples = (options.limits.most_samples + passes - 1) / passes;
    in_pass_.least_time = options.limits.least_time / passes;
    in_pass_.most_time = options.limits.most_time / passes;
  }

  Result<void> choose_warm(const Model& model) {
    std::set<std::string> seen;
    std::set<Shape> split;
    for (const Op& op : model.ops) {
      if (!seen.insert(signature_of(model, op)).second) continue;
      OpCases& added = ops_.emplace_back(OpCases{profiled_op(model, op, options_.layout), {}, {}});
      added.op.times_split = has_stacked_channels(added.op) && split.insert(model.tensor(op.outputs[0]).shape).second;
      auto cases = warm_cases(backend_, options_, added.op);
      if (!cases) return in_context(fmt::format("profiling {}", op.name), cases.error());
      added.warm = std::move(*cases);
    }
    return {};
  }

  /// Times the warm cases of all ops in turn, so that much time lies between the passes.
  Result<void> time_warm(const std::function<Result<void>()>& after_pass) {
    for (int i = 0; i < passes(); ++i) {
      for (std::size_t op = 0; op < ops_.size(); ++op) COHORT_CHECK(pass(op, ops_[op].warm, i, "warm"));
      COHORT_CHECK(after_pass());
    }
    return {};
  }

  /// Those that warm times call for, in as many passes.
  Result<void> time_colder() {
    for (OpCases& op : ops_) op.colder = colder_cases(backend_, options_, op.op, op.warm);
    for (int i = 0; i < passes(); ++i) {
      for (std::size_t op = 0; op < ops_.size(); ++op)
        COHORT_CHECK(pass(op, ops_[op].colder, i, "colder and beside itself"));
    }
    return {};
  }

  void write(Trace& trace);

  /// An error with what failed first: after one bad call a device may fail at everything.
  [[nodiscard]] Error explained(Error error) const {
    if (first_left_out_ && error.code != ErrorCode::kInterrupted)
      error.message += fmt::format("; what failed first: {}", *first_left_out_);
    return error;
  }

  /// Whose kernels are to be recorded: each way once, warm and alone.
  [[nodiscard]] std::vector<KernelCase> kernel_cases() const {
    std::vector<KernelCase> cases;
    for (const OpCases& op : ops_) {
      for (const TimedCase& timed : op.warm) {
        if (!timed.failed && !timed.copies_only && timed.op_case.flush.value == 0)
          cases.push_back({op.op.op, timed.op_case});
      }
    }
    return cases;
  }

 private:
  [[nodiscard]] int passes() const { return std::max(options_.passes, 1); }

  /// Each of an op's cases once more, for a part of the time that it is given in all.
  Result<void> pass(std::size_t op, std::vector<TimedCase>& cases, int number, std::string_view what) {
    const std::string& name = ops_[op].op.op->name;
    if (options_.progress)
      options_.progress(fmt::format("{} ({} of {} distinct ops), {}, pass {} of {}", name, op + 1, ops_.size(), what,
                                    number + 1, passes()));
    for (TimedCase& timed : cases) {
      if (timed.done) continue;
      const auto outcome = time_once_more(ops_[op].op.single, timed, number + 1 == passes());
      if (!outcome) COHORT_CHECK(leave_out(ops_[op], timed, outcome.error()));
    }
    return {};
  }

  /// A way that the device lists and then does not run; nothing of it is kept.
  /// Errors: kInterrupted, and the last way's where the op runs in none.
  Result<void> leave_out(const OpCases& op, TimedCase& timed, const Error& error) {
    const std::string& name = op.op.op->name;
    const OpCase& way = timed.op_case;
    if (timed.runner != nullptr) kept_ = Bytes{kept_.value - timed.runner->memory().value};
    timed.runner.reset();
    timed.done = true;
    // Loaded for another pass: what it took in those before holds.
    if (!timed.timing.calls.empty() && error.code != ErrorCode::kInterrupted) return {};
    timed.failed = true;
    const bool runs = std::any_of(op.warm.begin(), op.warm.end(), [](const TimedCase& other) {
      return !other.failed && other.op_case.strategy == Strategy::kSerial && other.op_case.flush.value == 0;
    });
    if (error.code == ErrorCode::kInterrupted || !runs) return in_context(fmt::format("profiling {}", name), error);
    const std::string_view by = way.algorithm.empty() ? to_string(way.strategy) : std::string_view(way.algorithm);
    std::string text = fmt::format("{} by {}: {}", name, by, error.message);
    if (!first_left_out_) first_left_out_ = text;
    ++left_out_[std::move(text)];
    return {};
  }

  [[nodiscard]] bool is_done(const TimedCase& timed) const {
    const auto samples = static_cast<int>(timed.timing.calls.size());
    return timed.spent >= options_.limits.most_time ||
           (timed.spent >= kSpread && samples >= options_.limits.least_samples);
  }

  /// Of a case's records, each with the work of its pass: those to be trusted, or all where none is.
  [[nodiscard]] std::vector<ProfileRecord> undisturbed(std::vector<ProfileRecord> records,
                                                       const std::vector<Nanoseconds>& works) const {
    std::vector<ProfileRecord> kept;
    for (std::size_t i = 0; i < records.size(); ++i) {
      if (watch_.slowed(works[i]) <= WorkWatch::kSlowed) kept.push_back(records[i]);
    }
    return kept.empty() ? std::move(records) : kept;
  }

  Result<void> time_once_more(const LoadedModel& single, TimedCase& timed, bool is_last) {
    const bool is_first = timed.timing.calls.empty();
    const Nanoseconds begin = steady_now();
    if (timed.runner == nullptr) {
      COHORT_TRY(timed.runner, CaseRunner::create(backend_, single, timed.op_case));
      kept_ = kept_ + timed.runner->memory();
    }
    const bool stays = kept_.value <= kMostKept.value;
    if (is_first) timed.in_passes = stays || steady_now() - begin <= kQuickLoad;
    COHORT_TRY(CaseTiming timing, timed.runner->time(timed.in_passes ? in_pass_ : options_.limits, cancel_));
    const Nanoseconds work = watch_.next();
    timed.works.insert(timed.works.end(), timing.calls.size(), work);
    timed.copy_works.insert(timed.copy_works.end(), timing.stack_copies.size(), work);
    for (const ProfileRecord& call : timing.calls) timed.spent += call.time;
    if (is_first) timed.timing.first = std::move(timing.first);
    std::move(timing.calls.begin(), timing.calls.end(), std::back_inserter(timed.timing.calls));
    std::move(timing.stack_copies.begin(), timing.stack_copies.end(), std::back_inserter(timed.timing.stack_copies));
    timed.done = is_last || !timed.in_passes || is_done(timed);
    if (timed.done || !stays) {
      kept_ = Bytes{kept_.value - timed.runner->memory().value};
      timed.runner.reset();
    }
    return {};
  }

  Backend& backend_;
  const ProfileOptions& options_;
  const CancelToken& cancel_;
  TimingLimits in_pass_;
  WorkWatch watch_;
  Bytes kept_;  ///< memory of the runners that are loaded
  std::vector<OpCases> ops_;
  std::map<std::string, std::int64_t> left_out_;  ///< op, way and reason
  std::optional<std::string> first_left_out_;
};

void CaseTimer::write(Trace& trace) {
  for (const auto& [reason, count] : left_out_) trace.info.dropped[reason] += count;
  for (OpCases& op : ops_) {
    const std::string& name = op.op.op->name;
    for (auto* const cases : {&op.warm, &op.colder}) {
      for (TimedCase& timed : *cases) {
        if (timed.failed) continue;
        const bool flushed = timed.op_case.flush.value > 0;
        if (cases == &op.warm && !flushed && !timed.copies_only)
          add_profile_records(trace, "first executions", name, {timed.timing.first});
        if (!timed.copies_only)
          add_profile_records(trace, flushed ? "ops alone, caches flushed" : "ops alone", name,
                              thinned(undisturbed(std::move(timed.timing.calls), timed.works)));
        if (!flushed && !timed.timing.stack_copies.empty())
          add_profile_records(trace, "copies", "copy",
                              thinned(undisturbed(std::move(timed.timing.stack_copies), timed.copy_works)));
      }
    }
  }
}

/// Wall time of the whole model, with and without the sink of measured runs in turn, so that drift meets both alike.
class ModelTimer {
 public:
  ModelTimer(Backend& backend, const LoadedModel& loaded, const ProfileOptions& options, const CancelToken& cancel)
      : backend_(backend), loaded_(loaded), options_(options), cancel_(cancel) {}

  Result<void> pass(const ChooseAlternative& choose) {
    Plan plan = uniform_plan({{loaded_.model.name, {}, 0}}, Strategy::kSerial, 1);
    plan.input.buffers = 1;
    plan.precision = options_.precision;
    plan.layout = options_.layout;
    const std::vector<const Model*> models{&loaded_.model};
    COHORT_TRY(const Program program, lower(plan, models, backend_.catalog(), choose));
    const std::vector<const Weights*> weights{&loaded_.weights};
    COHORT_TRY(const auto runner, Runner::create(backend_, program, weights));
    COHORT_CHECK(fill_inputs_to_time(*runner));
    COHORT_TRY(const Nanoseconds once, runner->timed_steps(1, steady_now));
    const auto steps =
        static_cast<int>(std::clamp<std::int64_t>(5'000'000 / std::max<std::int64_t>(1, once.count()), 1, 1000));
    const int passes = std::max(options_.passes, 1);
    for (int i = 0; i < (kKept + passes - 1) / passes; ++i) {
      COHORT_CHECK(cancel_.check());
      COHORT_TRY(const Nanoseconds plain, runner->timed_steps(steps, steady_now));
      TraceSink sink(program, {}, steps, steady_now);  // takes its memory here
      runner->session().set_sink(&sink);
      COHORT_TRY(const Nanoseconds watched, runner->timed_steps(steps, steady_now));
      runner->session().set_sink(nullptr);
      untraced_.samples.push_back(plain / steps);
      traced_.samples.push_back(watched / steps);
    }
    return {};
  }

  void write(Trace& trace) && {
    trace.info.wall_times.push_back(std::move(untraced_));
    trace.info.wall_times.push_back(std::move(traced_));
  }

 private:
  static constexpr int kKept = 15;

  Backend& backend_;
  const LoadedModel& loaded_;
  const ProfileOptions& options_;
  const CancelToken& cancel_;
  WallTimes untraced_{std::string(kWallUntraced), {}, 0};
  WallTimes traced_{std::string(kWallTraced), {}, 0};
};

}  // namespace

void add_profile_records(Trace& trace, std::string_view track, std::string_view name,
                         const std::vector<ProfileRecord>& records) {
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
  CaseTimer cases(backend, options, cancel);
  ModelTimer whole(backend, loaded, options, cancel);
  std::map<std::string, std::vector<ProfileRecord>> overheads;
  COHORT_CHECK(cases.choose_warm(loaded.model));
  auto timed = cases.time_warm([&]() -> Result<void> {
    if (options.progress) options.progress("overheads and the whole model");
    COHORT_TRY(auto records, measure_overheads(backend, cancel));
    for (ProfileRecord& record : records) overheads[record.signature].push_back(std::move(record));
    return whole.pass(first_that_ran(loaded.model, options.precision, cases.kernel_cases()));
  });
  if (timed) timed = cases.time_colder();
  if (!timed) return tl::unexpected<Error>(cases.explained(std::move(timed).error()));
  const std::vector<KernelCase> kernel_cases = cases.kernel_cases();
  cases.write(trace);
  for (const auto& [name, records] : overheads) add_profile_records(trace, "overheads", name, records);
  std::move(whole).write(trace);
  if (options.more) COHORT_CHECK(options.more(trace));
  if (options.tracer == nullptr) return trace;
  if (options.progress) options.progress("kernels");
  COHORT_CHECK(record_kernels(backend, loaded, options.layout, kernel_cases, *options.tracer, cancel, trace));
  return trace;
}

}  // namespace cohort
