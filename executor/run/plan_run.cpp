#include "executor/run/plan_run.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <system_error>
#include <utility>

#include "executor/core_probe.hpp"
#include "executor/input/npy.hpp"
#include "executor/input_values.hpp"
#include "executor/run/device_tasks.hpp"
#include "tracer/profile_record.hpp"

namespace cohort {
namespace {

constexpr std::size_t kMostStages = 1 << 16;  // per decode worker

/// Its place in Plan::baselines; their number where it has none.
std::size_t baseline_of(const Plan& plan, std::uint32_t member) {
  const auto found = std::find_if(plan.baselines.begin(), plan.baselines.end(), [&](const Baseline& baseline) {
    return std::find(baseline.members.begin(), baseline.members.end(), member) != baseline.members.end();
  });
  return static_cast<std::size_t>(found - plan.baselines.begin());
}

}  // namespace

PlanRun::PlanRun(Backend& backend, Plan plan, const CancelToken& cancel)
    : backend_(backend),
      plan_(std::move(plan)),
      cancel_(cancel),
      stages_(plan_.input.decode_workers, kMostStages, steady_now) {}

Result<std::unique_ptr<PlanRun>> PlanRun::open(Backend& backend, const Plan& plan, const MemberModels& members,
                                               const CancelToken& cancel) {
  std::unique_ptr<PlanRun> run(new PlanRun(backend, plan, cancel));
  COHORT_TRY(run->plan_run_, BatchRun::open(backend, plan, members, {&run->stages_, &cancel}));
  if (runs_in_turn(plan)) {
    auto in_turn = BatchRun::open(backend, in_turn_plan(plan), members, {nullptr, &cancel});
    if (in_turn) {
      run->alone_.push_back({std::move(*in_turn), 1});
      return run;
    }
    if (in_turn.error().code != ErrorCode::kDoesNotFit) return in_context("baseline", in_turn.error());
  }
  std::map<std::pair<std::size_t, const Model*>, std::size_t> known;
  for (std::uint32_t m = 0; m < plan.members.size(); ++m) {
    COHORT_CHECK(cancel.check());
    const auto [place, is_new] = known.try_emplace({baseline_of(plan, m), members.models[m]}, run->alone_.size());
    if (is_new) {
      const MemberModels alone{{members.models[m]}, {members.weights[m]}};
      auto opened = BatchRun::open(backend, baseline_plan(plan, m), alone, {nullptr, &cancel});
      if (!opened)
        return in_context(fmt::format("baseline of member {}, loaded beside the plan", plan.members[m].name),
                          opened.error());
      run->alone_.push_back({std::move(*opened), 0});
    }
    ++run->alone_[place->second].members;
  }
  return run;
}

Result<void> PlanRun::add_beside(std::string name, const Plan& other, const MemberModels& members) {
  if (other.members != plan_.members)
    return fail(ErrorCode::kInvalidInput, "members are other than the plan's that it is to be measured beside");
  const auto differs = [&](std::string_view field) {
    return fail(ErrorCode::kInvalidInput, "{} is other than in the plan that it is to be measured beside", field);
  };
  if (other.device != plan_.device) return differs("device");
  if (other.precision != plan_.precision) return differs("precision");
  InputPlan same = plan_.input;  // how it is shared and made ahead is the plan's own
  same.sharing = other.input.sharing;
  same.decode_workers = other.input.decode_workers;
  same.buffers = other.input.buffers;
  if (other.input != same) return differs("input");
  COHORT_TRY(auto run, BatchRun::open(backend_, other, members, {nullptr, &cancel_}));
  beside_.push_back({std::move(name), std::move(run)});
  return {};
}

/// One program of all members; where that does not fit beside the plan, or each decodes its input, members alike are
/// one that runs as often.
Result<Nanoseconds> PlanRun::one_by_one(int steps) {
  Nanoseconds sum{};
  for (const Alone& alone : alone_) {
    for (int i = 0; i < alone.members; ++i) {
      COHORT_CHECK(cancel_.check());
      COHORT_CHECK(alone.run->step());
      COHORT_TRY(const Nanoseconds time, alone.run->timed_steps(steps, steady_now));
      sum += time;
    }
  }
  return sum;
}

Result<PlanRun::Times> PlanRun::measure(MeasureOptions options) {
  if (!options.work_probe) options.work_probe = core_probe(backend_.info());
  const Subject together{"plan", [this](int steps) { return plan_run_->timed_steps(steps, steady_now); }};
  std::vector<Subject> subjects{together, {"baseline", [this](int steps) { return one_by_one(steps); }}};
  for (const Beside& beside : beside_)
    subjects.push_back({beside.name, [&beside](int steps) { return beside.run->timed_steps(steps, steady_now); }});
  COHORT_TRY(auto times, cohort::measure(subjects, options, steady_now, foreign_cpu_time, &cancel_));
  return Times{std::move(times[0]),
               std::move(times[1]),
               {std::move_iterator(times.begin() + 2), std::move_iterator(times.end())}};
}

std::vector<std::string> PlanRun::group_names() const {
  std::vector<std::string> groups;
  for (const Group& group : plan_.groups) groups.push_back(group.name);
  return groups;
}

/// Steps until input is waited for as in every later one: minibatches may lie decoded.
Result<void> PlanRun::use_up_input() {
  if (plan_.input.source != InputSource::kFolder) return {};
  for (int i = 0; i <= plan_run_->program().input_buffers; ++i)
    COHORT_CHECK(cancel_.check().and_then([&] { return plan_run_->step(); }));
  return {};
}

/// Steps under the sinks that are set, each with its wall time.
Result<WallTimes> PlanRun::traced_steps(int iterations) {
  WallTimes traced{"plan traced", {}, 0};
  stages_.switch_on(true);
  Result<void> outcome;
  for (int i = 0; i < iterations && outcome; ++i) {
    const Nanoseconds begin = steady_now();
    outcome = cancel_.check().and_then([&] { return plan_run_->step(); });
    traced.samples.push_back(steady_now() - begin);
  }
  stages_.switch_on(false);
  if (!outcome) return tl::unexpected<Error>(outcome.error());
  return traced;
}

Result<Trace> PlanRun::trace_tasks(int iterations, WallTimes& traced) {
  COHORT_CHECK(use_up_input());
  TraceSink tasks(plan_run_->program(), group_names(), iterations, steady_now);
  Session& session = plan_run_->runner().session();
  session.set_sink(&tasks);
  auto walls = traced_steps(iterations);
  session.set_sink(nullptr);
  if (!walls) return tl::unexpected<Error>(walls.error());
  traced = std::move(*walls);
  const bool decodes = plan_.input.source == InputSource::kFolder;
  return measured_trace(tasks, decodes ? &stages_ : nullptr, backend_.info());
}

Result<Trace> PlanRun::trace_device(int iterations, WallTimes& traced, DeviceTracer& tracer) {
  Session& session = plan_run_->runner().session();
  session.set_sink(&tracer.watch(plan_run_->program(), ""));
  Result<WallTimes> walls;
  Nanoseconds from{};
  // The first step captures what is replayed, and takes the tool's buffers.
  Result<void> warm = plan_run_->step().and_then([&] { return use_up_input(); });
  if (warm) {
    from = steady_now();
    walls = traced_steps(iterations);
  } else {
    walls = tl::unexpected<Error>(warm.error());
  }
  session.set_sink(nullptr);
  auto recorded = tracer.stop();  // also where a step failed: the tool must let go of the process
  if (!walls) return tl::unexpected<Error>(walls.error());
  if (!recorded) return tl::unexpected<Error>(recorded.error());
  traced = std::move(*walls);
  const std::vector<std::string> groups = group_names();
  const auto settings = recorded->info.device.settings;
  recorded->info.device = backend_.info();
  recorded->info.device.settings.insert(settings.begin(), settings.end());
  Trace trace = with_tasks(plan_run_->program(), {std::move(*recorded), from, iterations, groups});
  trace.info.kind = TraceKind::kMeasured;
  if (plan_.input.source == InputSource::kFolder) stages_.add_to(trace, from);
  return trace;
}

Result<Trace> PlanRun::trace(const Times& times, int iterations, DeviceTracer* tracer) {
  WallTimes traced;
  std::optional<Error> not_recorded;
  std::optional<Trace> of_device;
  if (tracer != nullptr) {
    auto recorded = tracer->start().and_then([&] { return trace_device(iterations, traced, *tracer); });
    if (recorded) {
      of_device = std::move(*recorded);
    } else {
      not_recorded = std::move(recorded).error();
      COHORT_CHECK(cancel_.check());
    }
  }
  // A tool that fails takes its own records with it, and no measurement.
  COHORT_TRY(Trace trace, of_device ? Result<Trace>(std::move(*of_device)) : trace_tasks(iterations, traced));
  if (not_recorded) trace.info.settings[std::string(kNotRecorded)] = not_recorded->message;
  trace.info.plan = write_plan(plan_);
  if (times.round_trip() > Nanoseconds(0))
    trace.info.device.settings[std::string(kRoundTripSetting)] = std::to_string(times.round_trip().count());
  trace.info.wall_times = {times.plan.wall, times.baseline.wall, std::move(traced)};
  return trace;
}

Result<void> PlanRun::add_outputs_of(BatchRun& run, const std::filesystem::path& folder, PendingFiles& files) const {
  COHORT_CHECK(run.step());
  const Program& program = run.program();
  for (std::size_t i = 0; i < program.outputs.size(); ++i) {
    const ProgramOutput& output = program.outputs[i];
    const auto into = folder / plan_.members[to_index(output.member)].name;
    COHORT_CHECK(files.make_folder(into));
    std::string name = output.name;
    std::replace(name.begin(), name.end(), '/', '_');
    COHORT_TRY(auto elements, run.runner().session().read_output(i));
    const std::string_view dtype = output.element == ElementType::kFloat32 ? "<f4" : "<i4";
    COHORT_CHECK(files.add(into / (name + ".npy"), encode_npy(output.view.shape, elements, dtype)));
  }
  return {};
}

Result<void> PlanRun::add_outputs(const std::filesystem::path& folder, PendingFiles& files) {
  COHORT_CHECK(add_outputs_of(*plan_run_, folder, files));
  for (std::size_t i = 0; i < beside_.size(); ++i)
    COHORT_CHECK(add_outputs_of(*beside_[i].run, folder / fmt::format("beside-{}", i + 1), files));
  return {};
}

}  // namespace cohort
