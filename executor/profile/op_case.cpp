#include "executor/profile/op_case.hpp"

#include <algorithm>
#include <limits>
#include <map>

#include "executor/input_values.hpp"
#include "executor/profile/duration_sink.hpp"
#include "executor/profile/program_timer.hpp"
#include "executor/runner.hpp"
#include "models/builder.hpp"
#include "simulator/plan/lower.hpp"

namespace cohort {
namespace {

/// Of the member that drives the others' bytes out of caches, and of its only op.
constexpr std::string_view kFlush = "flush caches";
/// Of the op that reads each member's part of a stack.
constexpr std::string_view kReader = "read a part";

Plan plan_of(const OpCase& op_case) {
  const int calls = op_case.copies * op_case.streams;
  Plan plan;
  plan.streams = op_case.streams;
  plan.precision = op_case.precision;
  plan.layout = op_case.layout;
  plan.input.buffers = 1;
  plan.input.sharing = op_case.shared_input ? InputSharing::kShared : InputSharing::kSeparate;
  for (int i = 0; i < calls * op_case.width; ++i) plan.members.push_back({fmt::format("{}", i), {}, 0});
  for (int call = 0; call < calls; ++call) {
    Group group{fmt::format("call-{}", call), {}, {}, op_case.strategy, op_case.threads, {}, {}};
    for (int i = 0; i < op_case.width; ++i)
      group.members.push_back(static_cast<std::uint32_t>(call * op_case.width + i));
    group.multiprocessors = op_case.multiprocessors;
    if (op_case.streams > 1) {
      if (op_case.width == 1) group.strategy = Strategy::kConcurrent;
      group.streams = {static_cast<std::uint32_t>(call % op_case.streams)};
    }
    plan.groups.push_back(group);
    if (!op_case.splits) continue;
    group.name = fmt::format("{} {}", kReader, call);
    group.ops = {std::string(kReader)};
    group.strategy = op_case.streams > 1 ? Strategy::kConcurrent : Strategy::kSerial;
    if (op_case.streams > 1) group.streams.resize(group.members.size(), group.streams.front());
    plan.groups.push_back(std::move(group));
  }
  if (op_case.flush.value > 0) {
    plan.groups.insert(plan.groups.begin(), {std::string(kFlush),
                                             {static_cast<std::uint32_t>(plan.members.size())},
                                             {},
                                             Strategy::kSerial,
                                             op_case.threads,
                                             {},
                                             {}});
    plan.members.push_back({std::string(kFlush), {}, 0});
  }
  return plan;
}

/// Reads and writes as many bytes.
Model flush_model(Bytes bytes) {
  ModelBuilder builder{std::string(kFlush)};
  builder.output(builder.relu(std::string(kFlush), builder.input("bytes", {1, bytes.value / 4})));
  return *builder.finish();
}

/// `single` with a pooling over nothing behind its op.
Model with_reader(const Model& single) {
  Model model = single;
  const Tensor& read = model.tensor(single.outputs[0]);
  const std::vector<std::int64_t> ones(read.shape.size() - 2, 1), zeros(ones.size(), 0);
  const auto result = static_cast<TensorId>(model.tensors.size());
  model.tensors.push_back({std::string(kReader), read.shape, TensorRole::kActivation, read.element});
  model.ops.push_back({std::string(kReader),
                       Pool{PoolKind::kMax, {ones, ones, zeros, zeros, ones}},
                       {},
                       {single.outputs[0]},
                       {result}});
  model.outputs = {result};
  return model;
}

/// Whether the tensor is a view of a state.
bool is_parameter(const Model& model, TensorId id) {
  return std::any_of(model.ops.begin(), model.ops.end(), [&](const Op& op) {
    return op.outputs[0] == id && std::holds_alternative<Unpack>(op.attributes) &&
           model.tensor(op.inputs[0]).role == TensorRole::kState;
  });
}

/// Makes `parameter` a view of a state of its own.
void add_state_of(Model& single, TensorId parameter) {
  const Tensor view = single.tensor(parameter);
  const auto state = static_cast<TensorId>(single.tensors.size());
  single.tensors.push_back({view.name + " state", {1, pack_place(element_count(view.shape))}, TensorRole::kState});
  single.ops.push_back({view.name, Unpack{0, view.shape}, {}, {state}, {parameter}});
}

/// Runs the program until its time falls no further, but for small gains: a last cache that is shared with others, or
/// that keeps what the cores' own caches let go, takes several rounds until it holds what is used in turn.
Result<void> warm_up(Runner& runner, Nanoseconds limit, const CancelToken& cancel) {
  constexpr int kSettled = 3;  // so many rounds not much better than the best of those before
  constexpr double kBetter = 0.98;
  double best = std::numeric_limits<double>::infinity();
  const Nanoseconds begin = steady_now();
  for (int since_best = 0; since_best < kSettled && steady_now() - begin < limit;) {
    COHORT_CHECK(cancel.check());
    COHORT_TRY(const Nanoseconds time, runner.timed_steps(1, steady_now));
    const bool is_better = seconds(time) < kBetter * best;
    since_best = is_better ? 0 : since_best + 1;
    if (is_better) best = seconds(time);
  }
  return {};
}

/// Runs the program until there are enough samples of each step.
Result<CaseTiming> collect(Runner& runner, const OpCase& op_case, const TimingLimits& limits,
                           const CancelToken& cancel) {
  const Program& program = runner.program();
  DurationSink sink(program.steps.size(), program.streams);
  COHORT_CHECK(warm_up(runner, limits.warm_up, cancel));
  runner.session().set_sink(&sink);
  const Nanoseconds overhead = clock_cost();
  std::vector<ProfileRecord> records;
  const ProfileState state = op_case.flush.value > 0 ? ProfileState::kFlushed : ProfileState::kWarm;
  for (const Step& step : program.steps) {
    records.push_back(record_of(program, step, state));
    records.back().neighbours = op_case.streams - 1;
  }
  CaseTiming timing;
  timing.first = records.back();
  timing.first.time = runner.first_step();
  timing.first.state = ProfileState::kFirst;
  const Nanoseconds begin = steady_now();
  while (true) {
    COHORT_CHECK(cancel.check());
    COHORT_CHECK(runner.step(0));
    for (std::size_t i = 0; i < program.steps.size(); ++i) {
      if (program.steps[i].op == kFlush || program.steps[i].op == kReader) continue;
      ProfileRecord record = records[i];
      record.time = std::max(Nanoseconds(1), sink.duration(i) - overhead);
      const bool is_copy = record.signature.starts_with(kCopyPrefix);
      (is_copy ? timing.stack_copies : timing.calls).push_back(std::move(record));
    }
    const Nanoseconds spent = steady_now() - begin;
    const auto samples = static_cast<int>(timing.calls.size());
    if (samples >= limits.most_samples || spent >= limits.most_time) break;
    if (samples >= limits.least_samples && spent >= limits.least_time) break;
  }
  runner.session().set_sink(nullptr);
  timing.by_device = sink.by_device();
  return timing;
}

}  // namespace

Model single_op_model(const Model& model, const Op& op) {
  Model single;
  single.name = op.name;
  std::map<TensorId, TensorId> ids;
  const auto add = [&](TensorId id, bool is_input) {
    const auto [place, is_new] = ids.emplace(id, static_cast<TensorId>(single.tensors.size()));
    if (!is_new) return place->second;
    Tensor tensor = model.tensor(id);
    const bool unpacked = is_input && is_parameter(model, id);
    if (is_input && !unpacked && tensor.role == TensorRole::kActivation) tensor.role = TensorRole::kInput;
    const bool given = tensor.role == TensorRole::kInput || tensor.role == TensorRole::kSetting;
    if (given) single.inputs.push_back(place->second);
    const TensorId added = place->second;
    single.tensors.push_back(std::move(tensor));
    if (unpacked) add_state_of(single, added);
    return added;
  };
  Op copy = op;
  for (TensorId& id : copy.inputs) id = add(id, true);
  for (TensorId& id : copy.outputs) id = add(id, false);
  single.outputs = copy.outputs;
  single.ops.push_back(std::move(copy));
  return single;
}

Bytes call_bytes(const Model& single) {
  const OpWork work = work_of(single);
  return work.read + work.written;
}

Result<Program> case_program(const Backend& backend, const Model& single, const OpCase& op_case) {
  const Plan plan = plan_of(op_case);
  const bool flushes = op_case.flush.value > 0;
  const Model flush = flushes ? flush_model(op_case.flush) : Model{};
  const Model reading = op_case.splits ? with_reader(single) : Model{};
  std::vector<const Model*> models(plan.members.size(), op_case.splits ? &reading : &single);
  if (flushes) models.back() = &flush;
  const auto choose = [&](const CostKey& /*key*/, std::span<const Alternative> alternatives) {
    const auto found = std::find_if(alternatives.begin(), alternatives.end(),
                                    [&](const Alternative& a) { return a.algorithm == op_case.algorithm; });
    return found == alternatives.end() ? std::size_t{0} : static_cast<std::size_t>(found - alternatives.begin());
  };
  return lower(plan, models, backend.catalog(), choose);
}

CaseRunner::CaseRunner(const OpCase& op_case, const Weights& weights) : op_case_(op_case), weights_(weights) {}

CaseRunner::~CaseRunner() = default;

Result<std::unique_ptr<CaseRunner>> CaseRunner::create(Backend& backend, const LoadedModel& single,
                                                       const OpCase& op_case) {
  std::unique_ptr<CaseRunner> made(new CaseRunner(op_case, single.weights));
  COHORT_TRY(made->program_, case_program(backend, single.model, op_case));
  static const Weights none;
  std::vector<const Weights*> weights(made->program_.member_count, &made->weights_);
  if (op_case.flush.value > 0) weights.back() = &none;
  COHORT_TRY(made->runner_, Runner::create(backend, made->program_, weights));
  COHORT_CHECK(fill_inputs_to_time(*made->runner_));
  return made;
}

Result<CaseTiming> CaseRunner::time(const TimingLimits& limits, const CancelToken& cancel) {
  return collect(*runner_, op_case_, limits, cancel);
}

Result<CaseTiming> time_case(Backend& backend, const LoadedModel& single, const OpCase& op_case,
                             const TimingLimits& limits, const CancelToken& cancel) {
  COHORT_TRY(const auto runner, CaseRunner::create(backend, single, op_case));
  return runner->time(limits, cancel);
}

}  // namespace cohort
