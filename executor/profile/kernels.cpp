#include "executor/profile/kernels.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "executor/runner.hpp"
#include "simulator/plan/precision.hpp"
#include "tracer/device_work.hpp"

namespace cohort {
namespace {

constexpr int kRuns = 3;

/// Runs Programs under a tracer and knows afterwards what each piece of recorded work was for.
class KernelRecorder {
 public:
  KernelRecorder(Backend& backend, DeviceTracer& tracer, const CancelToken& cancel)
      : backend_(backend), tracer_(tracer), cancel_(cancel) {}

  /// `place` names the track.
  Result<void> run(Program lowered, const Weights& weights, std::string_view place) {
    COHORT_CHECK(cancel_.check());
    const Program& program = *programs_.emplace_back(std::make_unique<Program>(std::move(lowered)));
    const std::vector<const Weights*> all(program.member_count, &weights);
    COHORT_TRY(const auto runner, Runner::create(backend_, program, all));  // runs once, unwatched
    const std::string prefix = fmt::format("{}/", programs_.size() - 1);
    for (const Step& step : program.steps) steps_[prefix + step.task] = {&step, std::string(place)};
    runner->session().set_sink(&tracer_.watch(program, prefix));
    Result<void> outcome;
    for (int i = 0; i < kRuns && outcome; ++i) outcome = runner->step(0);
    runner->session().set_sink(nullptr);
    return outcome;
  }

  void append(const Trace& recorded, Trace& trace) const;

 private:
  struct Labelled {
    const Step* step = nullptr;
    std::string place;
  };

  Backend& backend_;
  DeviceTracer& tracer_;
  const CancelToken& cancel_;
  std::vector<std::unique_ptr<Program>> programs_;
  std::map<std::string, Labelled, std::less<>> steps_;  ///< by label
};

TrackId track_of(Trace& trace, std::string_view thread) {
  const auto found = std::find_if(trace.tracks.begin(), trace.tracks.end(),
                                  [&](const Track& track) { return track.thread == thread; });
  if (found != trace.tracks.end()) return static_cast<TrackId>(found - trace.tracks.begin());
  return trace.add_track("profile", std::string(thread));
}

/// Arguments of another trace, in the strings of this one.
Args copied(const Args& args, const Trace& from, Trace& to) {
  Args copy;
  for (const auto& [key, value] : args) {
    ArgValue moved = value;
    if (const auto* text = std::get_if<StringId>(&value)) moved = to.strings.intern(from.strings[*text]);
    if (const auto* nested = std::get_if<NestedJson>(&value))
      moved = NestedJson{to.strings.intern(from.strings[nested->text])};
    const std::string_view name = from.strings[key];
    if (name != kTaskArg) copy.emplace_back(to.strings.intern(name), moved);
  }
  return copy;
}

void KernelRecorder::append(const Trace& recorded, Trace& trace) const {
  constexpr std::array<std::string_view, 3> kWork = {"kernel", "gpu_memcpy", "gpu_memset"};
  struct Found {
    const Slice* slice = nullptr;
    const Labelled* labelled = nullptr;
    std::int64_t work = 0;
  };
  std::vector<Found> found;
  std::map<const Step*, std::map<std::int64_t, std::int64_t>> runs;  // work id -> number of the run
  for (const Slice& slice : recorded.slices) {
    if (std::find(kWork.begin(), kWork.end(), recorded.strings[slice.category]) == kWork.end()) continue;
    const auto task = recorded.text_arg(slice, kTaskArg);
    const auto work = recorded.integer_arg(slice, kWorkArg);
    const auto labelled = task ? steps_.find(*task) : steps_.end();
    if (labelled == steps_.end() || !work) continue;
    found.push_back({&slice, &labelled->second, *work});
    runs[labelled->second.step][*work] = 0;
  }
  for (auto& [step, numbers] : runs) {
    std::int64_t number = 0;
    for (auto& [work, run] : numbers) run = number++;
  }
  std::sort(found.begin(), found.end(), [](const Found& a, const Found& b) {
    return std::tie(a.slice->start, a.work) < std::tie(b.slice->start, b.work);
  });
  for (const auto& [slice, labelled, work] : found) {
    const Step& step = *labelled->step;
    const std::array<Trace::NamedArg, 7> args{{{kOfTaskArg, std::string_view(step.task)},
                                               {"signature", std::string_view(step.cost.signature)},
                                               {"strategy", to_string(step.cost.strategy)},
                                               {"width", std::int64_t{step.cost.width}},
                                               {"threads", std::int64_t{step.cost.threads}},
                                               {"algorithm", std::string_view(step.cost.algorithm)},
                                               {kIterationArg, runs.at(&step).at(work)}}};
    const std::string name(recorded.name(*slice));
    const std::string category(recorded.strings[slice->category]);
    trace.add_slice(track_of(trace, labelled->place), name, category, slice->start - found.front().slice->start,
                    slice->duration, args);
    if (!slice->args) continue;
    Args more = copied(recorded.args[to_index(*slice->args)], recorded, trace);
    Args& all = trace.args.back();
    all.insert(all.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  }
}

Result<void> run_all(KernelRecorder& recorder, const Backend& backend, const LoadedModel& loaded,
                     const std::vector<KernelCase>& cases) {
  Plan plan = uniform_plan({{loaded.model.name, {}, 0}}, Strategy::kSerial, 1);
  plan.input.buffers = 1;
  if (!cases.empty()) plan.precision = cases.front().op_case.precision;  // all are of one
  const std::vector<const Model*> models{&loaded.model};
  COHORT_TRY(Program whole,
             lower(plan, models, backend.catalog(), first_that_ran(loaded.model, plan.precision, cases)));
  COHORT_CHECK(recorder.run(std::move(whole), loaded.weights, "kernels of the model"));
  for (const auto& [op, op_case] : cases) {
    const Model single = single_op_model(loaded.model, *op);
    const Weights weights = random_weights(single, 0);
    auto ran = case_program(backend, single, op_case).and_then([&](Program program) {
      return recorder.run(std::move(program), weights, "kernels of ops alone");
    });
    if (!ran) return in_context(fmt::format("recording the kernels of {}", op->name), ran.error());
  }
  return {};
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

Result<void> record_kernels(Backend& backend, const LoadedModel& loaded, const std::vector<KernelCase>& cases,
                            DeviceTracer& tracer, const CancelToken& cancel, Trace& trace) {
  if (const auto started = tracer.start(); !started) {
    trace.info.settings[std::string(kNotRecorded)] = started.error().message;
    return {};
  }
  KernelRecorder recorder(backend, tracer, cancel);
  const Result<void> ran = run_all(recorder, backend, loaded, cases);
  const auto recorded = tracer.stop();  // also where something failed: the tool must let go of the process
  COHORT_CHECK(ran);
  if (!recorded) return tl::unexpected<Error>(recorded.error());
  recorder.append(*recorded, trace);
  for (const auto& [reason, count] : recorded->info.dropped) trace.info.dropped[reason] += count;
  for (const auto& [name, value] : recorded->info.device.settings) trace.info.device.settings.emplace(name, value);
  return {};
}

}  // namespace cohort
