#include "executor/profile/overheads.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <thread>

#include "base/statistics.hpp"
#include "executor/profile/op_case.hpp"
#include "executor/runner.hpp"
#include "models/builder.hpp"
#include "simulator/plan/lower.hpp"

namespace cohort {
namespace {

constexpr int kChain = 64;
constexpr int kSamples = 25;

/// `length` activations of one row, one after another: steps that do nearly nothing.
Result<LoadedModel> chain_model(int length, Shape shape) {
  ModelBuilder builder("chain");
  TensorId x = builder.input("x", std::move(shape));
  for (int i = 0; i < length; ++i) x = builder.relu(fmt::format("relu{}", i), x);
  builder.output(x);
  COHORT_TRY(auto model, builder.finish());
  Weights weights = random_weights(model, 0);
  return LoadedModel{std::move(model), std::move(weights)};
}

/// The chain with op i on stream i % streams.
Plan chain_plan(int length, int streams, LaunchMode launch) {
  Plan plan;
  plan.streams = streams;
  plan.launch = launch;
  plan.input.buffers = 1;
  plan.members.push_back({"chain", {}, 0});
  for (int i = 0; i < length; ++i) {
    const auto stream = static_cast<std::uint32_t>(i % streams);
    plan.groups.push_back(
        {fmt::format("g{}", i), {0}, {fmt::format("relu{}", i)}, Strategy::kConcurrent, 1, {stream}, {}});
  }
  return plan;
}

/// Wall times of the whole chain, without a sink.
Result<std::vector<Nanoseconds>> time_chain(Backend& backend, const LoadedModel& loaded, const Plan& plan,
                                            const CancelToken& cancel) {
  const std::vector<const Model*> models{&loaded.model};
  COHORT_TRY(const Program program, lower(plan, models, backend.catalog()));
  const std::vector<const Weights*> weights{&loaded.weights};
  COHORT_TRY(const auto runner, Runner::create(backend, program, weights));
  std::vector<Nanoseconds> times;
  for (int i = 0; i < kSamples + 3; ++i) {
    COHORT_CHECK(cancel.check());
    COHORT_TRY(const Nanoseconds wall, runner->timed_steps(1, steady_now));
    if (i >= 3) times.push_back(wall);
  }
  return times;
}

Nanoseconds processor_time() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto of = [](const timeval& t) {
    return std::chrono::seconds(t.tv_sec) + std::chrono::microseconds(t.tv_usec);
  };
  return of(usage.ru_utime) + of(usage.ru_stime);
}

/// How long each helper thread keeps its core busy after a step on all cores has ended.
Result<void> measure_spin(Backend& backend, const CancelToken& cancel, std::vector<ProfileRecord>& records) {
  constexpr std::int64_t kEnough = 1 << 20;  // elements: worth several threads to any library
  COHORT_TRY(const LoadedModel loaded, chain_model(1, {1, kEnough}));
  Plan plan = uniform_plan({{"spin", {}, 0}}, Strategy::kSerial, 1);
  plan.input.buffers = 1;
  const std::vector<const Model*> models{&loaded.model};
  COHORT_TRY(const Program program, lower(plan, models, backend.catalog()));
  const std::vector<const Weights*> weights{&loaded.weights};
  COHORT_TRY(const auto runner, Runner::create(backend, program, weights));
  const int helpers = std::max(1, backend.catalog().cores() - 1);
  for (int i = 0; i < 7; ++i) {
    COHORT_CHECK(cancel.check());
    COHORT_CHECK(runner->step(0));
    const Nanoseconds before = processor_time();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    records.push_back(overhead_record(kSpinTimeRecord, (processor_time() - before) / helpers));
  }
  return {};
}

}  // namespace

ProfileRecord overhead_record(std::string_view signature, Nanoseconds time) {
  ProfileRecord record;
  record.signature = std::string(signature);
  record.strategy = std::string(to_string(Strategy::kSerial));
  record.time = std::max(Nanoseconds(0), time);
  return record;
}

Result<std::vector<ProfileRecord>> measure_overheads(Backend& backend, const CancelToken& cancel) {
  COHORT_TRY(const LoadedModel chain, chain_model(kChain, {1, 16}));
  COHORT_TRY(const LoadedModel one, chain_model(1, {1, 16}));
  std::vector<ProfileRecord> records;

  // The op's own time is what a sink sees of it; the rest of a replayed chain is the host's.
  const LoadedModel single{single_op_model(one.model, one.model.ops[0]), {one.weights}};
  COHORT_TRY(const CaseTiming alone, time_case(backend, single, {}, {}, cancel));
  std::vector<Nanoseconds> op_times;
  for (const ProfileRecord& call : alone.calls) op_times.push_back(call.time);
  const Nanoseconds op_time = median(std::move(op_times));

  COHORT_TRY(const std::vector<Nanoseconds> replayed,
             time_chain(backend, chain, chain_plan(kChain, 1, LaunchMode::kGraph), cancel));
  for (const Nanoseconds wall : replayed) {
    records.push_back(overhead_record(kStepOverheadRecord, wall / kChain - op_time));
    if (alone.by_device) records.push_back(overhead_record(kEventOverheadRecord, op_time - wall / kChain));
  }
  COHORT_TRY(const std::vector<Nanoseconds> launched,
             time_chain(backend, chain, chain_plan(kChain, 1, LaunchMode::kSingle), cancel));
  for (const Nanoseconds wall : launched)
    records.push_back(overhead_record(kLaunchOverheadRecord, (wall - median(replayed)) / kChain));
  if (backend.catalog().cores() > 1) {
    COHORT_TRY(const std::vector<Nanoseconds> crossed,
               time_chain(backend, chain, chain_plan(kChain, 2, LaunchMode::kGraph), cancel));
    for (const Nanoseconds wall : crossed)
      records.push_back(overhead_record(kHandoffRecord, (wall - median(replayed)) / (kChain - 1)));
    COHORT_CHECK(measure_spin(backend, cancel, records));
  }
  return records;
}

}  // namespace cohort
