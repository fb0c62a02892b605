#include "executor/profile/kernels.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "executor/input_values.hpp"
#include "executor/runner.hpp"
#include "simulator/plan/precision.hpp"
#include "tracer/device_work.hpp"

namespace cohort {
namespace {

constexpr int kRuns = 3;
constexpr int kBlocks = 7;  ///< of steps that are timed with and without the tracer
constexpr Nanoseconds kBlock = std::chrono::milliseconds(5);

/// Times of a step: blocks of `steps` each.
Result<WallTimes> timed_blocks(Runner& runner, std::string_view what, int steps, const CancelToken& cancel) {
  WallTimes times{std::string(what), {}, 0};
  for (int i = 0; i < kBlocks; ++i) {
    COHORT_CHECK(cancel.check());
    COHORT_TRY(const Nanoseconds block, runner.timed_steps(steps, steady_now));
    times.samples.push_back(block / steps);
  }
  return times;
}

/// One time that a step's work was done: its id, and of what was captured the correlation of the replay.
using RunKey = std::pair<std::int64_t, std::int64_t>;

/// Categories of what a recording has beside the device's work, and the tracks on which it is kept.
constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kBesideWork = {{
    {"cuda_runtime", "calls"},
    {"cuda_driver", "calls"},
    {"cuda_sync", "synchronization"},
    {"cuda_event", "synchronization"},
    {"overhead", "overhead"},
}};

/// The track for what is recorded in a category beside the device's work; empty for others.
std::string_view track_kind(std::string_view category) {
  for (const auto& [known, kind] : kBesideWork) {
    if (known == category) return kind;
  }
  return {};
}

/// Runs Programs under a tracer and knows afterwards what each piece of recorded work was for.
class KernelRecorder {
 public:
  KernelRecorder(Backend& backend, DeviceTracer& tracer, const CancelToken& cancel)
      : backend_(backend), tracer_(tracer), cancel_(cancel) {}

  /// What runs; it has run once, unwatched.
  struct Loaded {
    const Program* program = nullptr;
    std::unique_ptr<Runner> runner;
  };
  Result<Loaded> load(Program lowered, const Weights& weights) {
    COHORT_CHECK(cancel_.check());
    const Program& program = *programs_.emplace_back(std::make_unique<Program>(std::move(lowered)));
    const std::vector<const Weights*> all(program.member_count, &weights);
    COHORT_TRY(auto runner, Runner::create(backend_, program, all));
    COHORT_CHECK(fill_inputs_to_time(*runner));
    return Loaded{&program, std::move(runner)};
  }

  /// `place` ends the tracks' names. `what` is what all is done for that is of no step; null: of nothing in particular.
  Result<void> run(const Loaded& loaded, std::string_view place, const Step* what) {
    const std::string prefix = fmt::format("{}/", labels_++);
    for (const Step& step : loaded.program->steps) steps_[prefix + step.task] = {&step, std::string(place)};
    loaded.runner->session().set_sink(&tracer_.watch(*loaded.program, prefix));
    Result<void> outcome;
    for (int i = 0; i < kRuns && outcome; ++i) {
      const Nanoseconds begin = steady_now();
      outcome = loaded.runner->step(0);
      if (i + 1 == kRuns) last_runs_.push_back({begin, steady_now(), std::string(place), what});
    }
    loaded.runner->session().set_sink(nullptr);
    return outcome;
  }

  /// Times steps under the tracer. What it records of them is left out: its label names no step.
  Result<WallTimes> time(const Loaded& loaded, int steps) {
    loaded.runner->session().set_sink(&tracer_.watch(*loaded.program, "timed/"));
    auto times = loaded.runner->step(0).and_then([&] {  // it captures anew what is replayed
      return timed_blocks(*loaded.runner, kWallTraced, steps, cancel_);
    });
    loaded.runner->session().set_sink(nullptr);
    return times;
  }

  void append(const Trace& recorded, Trace& trace) const;

 private:
  struct Labelled {
    const Step* step = nullptr;
    std::string place;
  };
  /// One that stands for all: steady, since it was not the first.
  struct LastRun {
    Nanoseconds begin{};
    Nanoseconds end{};
    std::string place;
    const Step* what = nullptr;
  };
  /// A slice of the recording that is kept.
  struct Found {
    SliceId slice{};
    const Step* step = nullptr;
    std::string track;
    std::int64_t iteration = 0;
  };

  [[nodiscard]] std::vector<Found> device_work(const Trace& recorded) const;
  [[nodiscard]] std::vector<Found> beside_work(const Trace& recorded, const std::vector<Found>& work) const;
  [[nodiscard]] const LastRun* run_at(Nanoseconds time) const;

  Backend& backend_;
  DeviceTracer& tracer_;
  const CancelToken& cancel_;
  std::vector<std::unique_ptr<Program>> programs_;
  int labels_ = 0;
  std::map<std::string, Labelled, std::less<>> steps_;  ///< by label
  std::vector<LastRun> last_runs_;                      ///< in order
};

TrackId track_of(Trace& trace, std::string_view thread) {
  const auto found = std::find_if(trace.tracks.begin(), trace.tracks.end(),
                                  [&](const Track& track) { return track.thread == thread; });
  if (found != trace.tracks.end()) return static_cast<TrackId>(found - trace.tracks.begin());
  return trace.add_track("profile", std::string(thread));
}

/// Arguments of another trace, in the strings of this one; without what says nothing here.
Args copied(const Args& args, const Trace& from, Trace& to) {
  Args copy;
  for (const auto& [key, value] : args) {
    ArgValue moved = value;
    if (const auto* text = std::get_if<StringId>(&value)) moved = to.strings.intern(from.strings[*text]);
    if (const auto* nested = std::get_if<NestedJson>(&value))
      moved = NestedJson{to.strings.intern(from.strings[nested->text])};
    const std::string_view name = from.strings[key];
    if (name != kTaskArg && name != "cbid") copy.emplace_back(to.strings.intern(name), moved);
  }
  return copy;
}

/// Kernels, copies and memsets of steps, with the number of the run they are of.
std::vector<KernelRecorder::Found> KernelRecorder::device_work(const Trace& recorded) const {
  constexpr std::array<std::string_view, 3> kWork = {"kernel", "gpu_memcpy", "gpu_memset"};
  std::vector<Found> found;
  std::vector<RunKey> keys;
  std::map<const Step*, std::map<RunKey, std::int64_t>> runs;  // with the number of the run
  for (std::uint32_t i = 0; i < recorded.slices.size(); ++i) {
    const Slice& slice = recorded.slices[i];
    if (std::find(kWork.begin(), kWork.end(), recorded.strings[slice.category]) == kWork.end()) continue;
    const auto task = recorded.text_arg(slice, kTaskArg);
    const auto work = recorded.integer_arg(slice, kWorkArg);
    const auto labelled = task ? steps_.find(*task) : steps_.end();
    if (labelled == steps_.end() || !work) continue;
    const bool captured = recorded.integer_arg(slice, "graph node id").has_value();
    keys.emplace_back(*work, captured ? recorded.integer_arg(slice, "correlation").value_or(0) : 0);
    found.push_back({SliceId{i}, labelled->second.step, "kernels of " + labelled->second.place, 0});
    runs[labelled->second.step][keys.back()] = 0;
  }
  for (auto& [step, numbers] : runs) {
    std::int64_t number = 0;
    for (auto& [key, run] : numbers) run = number++;
  }
  for (std::size_t i = 0; i < found.size(); ++i) found[i].iteration = runs.at(found[i].step).at(keys[i]);
  return found;
}

const KernelRecorder::LastRun* KernelRecorder::run_at(Nanoseconds time) const {
  const auto after = std::upper_bound(last_runs_.begin(), last_runs_.end(), time,
                                      [](Nanoseconds at, const LastRun& run) { return at < run.begin; });
  if (after == last_runs_.begin() || time > std::prev(after)->end) return nullptr;
  return &*std::prev(after);
}

/// What the host called and waited for, and what the tool itself took, in the last run of each Program. A call that
/// launched the work of one step is of that step.
std::vector<KernelRecorder::Found> KernelRecorder::beside_work(const Trace& recorded,
                                                               const std::vector<Found>& work) const {
  std::map<SliceId, const Step*> steps;
  for (const Found& each : work) steps.emplace(each.slice, each.step);
  std::map<SliceId, const Step*> launching;
  for (const Flow& flow : recorded.flows) {
    const auto launched = steps.find(flow.to);
    if (launched == steps.end()) continue;
    const auto [call, is_new] = launching.emplace(flow.from, launched->second);
    if (!is_new && call->second != launched->second) call->second = nullptr;  // of a graph of several
  }
  std::vector<Found> found;
  std::map<std::string, std::vector<TrackId>> lanes;  // of the recording: those of further threads are kept apart
  for (std::uint32_t i = 0; i < recorded.slices.size(); ++i) {
    const Slice& slice = recorded.slices[i];
    const std::string_view kind = track_kind(recorded.strings[slice.category]);
    const LastRun* const run = kind.empty() ? nullptr : run_at(slice.start);
    if (run == nullptr) continue;
    std::string track = fmt::format("{} of {}", kind, run->place);
    std::vector<TrackId>& known = lanes[track];
    const auto lane = std::find(known.begin(), known.end(), slice.track);
    if (const auto further = lane - known.begin(); further > 0) track += fmt::format(" ({})", further + 1);
    if (lane == known.end()) known.push_back(slice.track);
    const auto call = launching.find(SliceId{i});
    const Step* const launched = call != launching.end() ? call->second : nullptr;
    found.push_back({SliceId{i}, launched != nullptr ? launched : run->what, std::move(track), kRuns - 1});
  }
  return found;
}

/// What a slice of a profile is of, as profile records have it.
std::vector<Trace::NamedArg> step_args(const Step* step, std::int64_t iteration) {
  std::vector<Trace::NamedArg> args{{kIterationArg, iteration}};
  if (step == nullptr) return args;
  args.insert(args.begin(), {{kOfTaskArg, std::string_view(step->task)},
                             {"signature", std::string_view(step->cost.signature)},
                             {"strategy", to_string(step->cost.strategy)},
                             {"width", std::int64_t{step->cost.width}},
                             {"threads", std::int64_t{step->cost.threads}},
                             {"algorithm", std::string_view(step->cost.algorithm)}});
  return args;
}

void KernelRecorder::append(const Trace& recorded, Trace& trace) const {
  std::vector<Found> found = device_work(recorded);
  std::vector<Found> beside = beside_work(recorded, found);
  found.insert(found.end(), std::make_move_iterator(beside.begin()), std::make_move_iterator(beside.end()));
  std::sort(found.begin(), found.end(), [&](const Found& a, const Found& b) {
    const Slice& x = recorded.slice(a.slice);
    const Slice& y = recorded.slice(b.slice);
    return std::tuple(x.start, -x.duration, a.slice) < std::tuple(y.start, -y.duration, b.slice);
  });
  std::map<SliceId, SliceId> places;
  for (const auto& [id, step, track, iteration] : found) {
    const Slice& slice = recorded.slice(id);
    const Nanoseconds start = slice.start - recorded.slice(found.front().slice).start;
    const SliceId place =
        trace.add_slice(track_of(trace, track), recorded.name(slice), recorded.strings[slice.category], start,
                        slice.duration, step_args(step, iteration));
    places.emplace(id, place);
    if (!slice.args) continue;
    Args more = copied(recorded.args[to_index(*slice.args)], recorded, trace);
    Args& all = trace.args.back();
    all.insert(all.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  }
  for (const Flow& flow : recorded.flows) {
    const auto from = places.find(flow.from);
    const auto to = places.find(flow.to);
    if (from != places.end() && to != places.end())
      trace.flows.push_back({from->second, to->second, trace.strings.intern(recorded.strings[flow.name])});
  }
}

/// The op among the steps of a case.
const Step* op_of(const Program& program) {
  const auto found = std::find_if(program.steps.begin(), program.steps.end(),
                                  [](const Step& step) { return !step.cost.signature.starts_with(kCopyPrefix); });
  return found != program.steps.end() ? &*found : nullptr;
}

Result<KernelRecorder::Loaded> load_whole(KernelRecorder& recorder, const Backend& backend, const LoadedModel& loaded,
                                          Layout layout, const std::vector<KernelCase>& cases) {
  Plan plan = uniform_plan({{loaded.model.name, {}, 0}}, Strategy::kSerial, 1);
  plan.input.buffers = 1;
  plan.layout = layout;
  if (!cases.empty()) plan.precision = cases.front().op_case.precision;  // all are of one
  const std::vector<const Model*> models{&loaded.model};
  COHORT_TRY(Program program,
             lower(plan, models, backend.catalog(), first_that_ran(loaded.model, plan.precision, cases)));
  return recorder.load(std::move(program), loaded.weights);
}

Result<void> run_ops(KernelRecorder& recorder, const Backend& backend, const LoadedModel& loaded,
                     const std::vector<KernelCase>& cases) {
  for (const auto& [op, op_case] : cases) {
    const Model single = single_op_model(loaded.model, *op);
    const Weights weights = random_weights(single, 0);
    const auto ran = case_program(backend, single, op_case)
                         .and_then([&](Program program) { return recorder.load(std::move(program), weights); })
                         .and_then([&](const KernelRecorder::Loaded& ready) {
                           return recorder.run(ready, "ops alone", op_of(*ready.program));
                         });
    if (!ran) return in_context(fmt::format("recording the kernels of {}", op->name), ran.error());
  }
  return {};
}

/// Takes the place of times of that name.
void set_wall(TraceInfo& info, WallTimes times) {
  std::erase_if(info.wall_times, [&](const WallTimes& wall) { return wall.what == times.what; });
  info.wall_times.push_back(std::move(times));
}

}  // namespace

ChooseAlternative first_that_ran(const Model& model, Precision precision, const std::vector<KernelCase>& cases) {
  std::set<std::pair<std::string, std::string>> ran;  // signature and algorithm
  for (const auto& [op, op_case] : cases)
    ran.emplace(signature_in(precision, signature_of(model, *op)), op_case.algorithm);
  return [ran = std::move(ran)](const CostKey& key, std::span<const Alternative> alternatives) {
    const auto found = std::find_if(alternatives.begin(), alternatives.end(), [&](const Alternative& way) {
      return ran.contains({key.signature, way.algorithm});
    });
    return found == alternatives.end() ? std::size_t{0} : static_cast<std::size_t>(found - alternatives.begin());
  };
}

Result<void> record_kernels(Backend& backend, const LoadedModel& loaded, Layout layout,
                            const std::vector<KernelCase>& cases, DeviceTracer& tracer, const CancelToken& cancel,
                            Trace& trace) {
  KernelRecorder recorder(backend, tracer, cancel);
  // Before the tracer starts: what it has once touched stays slower.
  COHORT_TRY(const KernelRecorder::Loaded whole, load_whole(recorder, backend, loaded, layout, cases));
  COHORT_TRY(const Nanoseconds once, whole.runner->timed_steps(1, steady_now));
  const auto steps = static_cast<int>(std::clamp<std::int64_t>(kBlock / std::max(once, Nanoseconds(1)), 1, 1000));
  COHORT_TRY(WallTimes before, timed_blocks(*whole.runner, kWallBeforeTracing, steps, cancel));
  if (const auto started = tracer.start(); !started) {
    trace.info.settings[std::string(kNotRecorded)] = started.error().message;
    return {};
  }
  Result<WallTimes> traced;
  const Result<void> ran = recorder.run(whole, "the model", nullptr).and_then([&]() -> Result<void> {
    COHORT_TRY(traced, recorder.time(whole, steps));
    return run_ops(recorder, backend, loaded, cases);
  });
  const auto recorded = tracer.stop();  // also where something failed: the tool must let go of the process
  COHORT_CHECK(cancel.check());
  // What was timed before stays, whatever becomes of the recording.
  if (!ran || !recorded) {
    trace.info.settings[std::string(kNotRecorded)] = ran ? recorded.error().message : ran.error().message;
    return {};
  }
  set_wall(trace.info, std::move(before));
  set_wall(trace.info, *std::move(traced));
  recorder.append(*recorded, trace);
  for (const auto& [reason, count] : recorded->info.dropped) trace.info.dropped[reason] += count;
  for (const auto& [name, value] : recorded->info.device.settings) trace.info.device.settings.emplace(name, value);
  return {};
}

}  // namespace cohort
