// A profile within a budget times ops in their model, and says what it had no time for.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>

#include "executor/clock.hpp"
#include "executor/host/host_session.hpp"
#include "executor/profile/profile.hpp"
#include "executor/reference/reference_kernels.hpp"
#include "tests/profile/wrapped_kernels.hpp"
#include "tests/strategies/batch.hpp"
#include "tracer/profile_record.hpp"

namespace cohort::testing {
namespace {

using namespace literals;
using ::testing::HasSubstr;

class ProfileBudget : public ::testing::Test {
 protected:
  Result<Trace> profile(Nanoseconds budget, const std::function<void(const std::string&)>& progress = {}) {
    ProfileOptions options;
    options.budget = budget;
    options.fused_widths = {2, 3};
    options.progress = progress;
    return profile_model(device_, *batch_.loaded[0], options, cancel_);
  }

  HostBackend device_{make_reference_kernels(2), reference_device_info(2)};
  Batch batch_ = equal_members("mlp", 1, {{"hidden", "16"}, {"inputs", "16"}}, 1);
  CancelToken cancel_;
};

/// By signature: threads and neighbours with which it was timed in its model.
std::map<std::string, std::set<std::pair<int, int>>> in_model(const Trace& trace) {
  std::map<std::string, std::set<std::pair<int, int>>> ways;
  for (const Slice& slice : trace.slices) {
    const auto record = profile_record_of(trace, slice);
    if (record && record->state == ProfileState::kInModel)
      ways[record->signature].emplace(record->threads, record->neighbours);
  }
  return ways;
}

std::set<int> fused_widths(const Trace& trace) {
  std::set<int> widths;
  for (const Slice& slice : trace.slices) {
    const auto record = profile_record_of(trace, slice);
    if (record && record->strategy == to_string(Strategy::kStridedBatch)) widths.insert(record->width);
  }
  return widths;
}

TEST_F(ProfileBudget, SaysWhichInputsItMadeUpWhereTheyStopTheStep) {
  LoadedModel loaded;
  loaded.model.name = "graph";
  loaded.model.tensors = {
      {"x", {1, 4}, TensorRole::kInput}, {"node", {64}, TensorRole::kInput, ElementType::kInt32}, {"y", {64, 4}}};
  loaded.model.ops = {{"pick", Gather{0}, {}, {TensorId(0), TensorId(1)}, {TensorId(2)}}};
  loaded.model.inputs = {TensorId(0), TensorId(1)};
  loaded.model.outputs = {TensorId(2)};
  loaded.weights.by_tensor.resize(3);
  ProfileOptions options;
  options.budget = std::chrono::seconds(1);
  const auto trace = profile_model(device_, loaded, options, cancel_);
  ASSERT_FALSE(trace) << "index 1 is outside of one row";
  EXPECT_THAT(trace.error().message, HasSubstr("index 1 is outside of an axis of 1"));
  EXPECT_THAT(trace.error().message, HasSubstr("makes whole numbers up, 0 or 1, for node; --set-input NAME=VALUE"));
}

TEST_F(ProfileBudget, TimesEveryOpInItsModelAloneAndBesideOthers) {
  const auto trace = profile(std::chrono::seconds(60));
  ASSERT_TRUE(trace) << trace.error().message;
  const auto ways = in_model(*trace);
  EXPECT_EQ(ways.size(), 2U);
  for (const auto& [signature, of_op] : ways) {
    EXPECT_TRUE(of_op.contains({1, 0}) && of_op.contains({1, 1}) && of_op.contains({2, 0})) << signature;
    EXPECT_FALSE(of_op.contains({2, 1})) << "both cores cannot have neighbours";
  }
  EXPECT_TRUE(fused_widths(*trace).contains(2));
  ASSERT_NE(trace->info.wall(kWallInTurn), nullptr);
  ASSERT_NE(trace->info.wall(kWallOpsInTurn), nullptr);
  EXPECT_FALSE(trace->info.wall(kWallInTurn)->samples.empty());
  EXPECT_FALSE(trace->info.wall(kWallOpsInTurn)->samples.empty());
  EXPECT_EQ(trace->info.settings.at(std::string(kTurns)), "16") << "the size of the cores' caches is not known";
  EXPECT_FALSE(trace->info.settings.contains(std::string(kLacking)));
}

TEST_F(ProfileBudget, TakesAsManyTinyMembersInTurnAsNoCoreCaches) {
  DeviceInfo info = reference_device_info(1);
  info.settings[std::string(kCoreCacheSetting)] = std::to_string(1 << 20);
  HostBackend device(make_reference_kernels(1), info);
  ProfileOptions options;
  options.budget = std::chrono::seconds(60);
  options.fused_widths = {};
  const auto trace = profile_model(device, *batch_.loaded[0], options, cancel_);
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(trace->info.settings.at(std::string(kTurns)), "256") << "weights of 16 x 16 values and less";
}

TEST_F(ProfileBudget, HasEveryOpEvenWithoutTimeAndSaysWhatItLacks) {
  const auto trace = profile(Nanoseconds(0));
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(in_model(*trace).size(), 2U);
  EXPECT_TRUE(fused_widths(*trace).empty());
  EXPECT_FALSE(trace->info.wall("model untraced")->samples.empty());
  const std::string& lacking = trace->info.settings.at(std::string(kLacking));
  EXPECT_THAT(lacking, HasSubstr("several members in turn"));
  EXPECT_THAT(lacking, HasSubstr("fused forms of 2 ops"));
}

TEST_F(ProfileBudget, IsKeptAsFarAsItWentWhereItIsInterrupted) {
  const auto trace = profile(std::chrono::seconds(60), [this](const std::string& what) {
    if (what.starts_with("members in turn")) cancel_.cancel();
  });
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(in_model(*trace).size(), 2U);
  EXPECT_THAT(trace->info.settings.at(std::string(kLacking)), HasSubstr("Ctrl-C"));
}

TEST_F(ProfileBudget, IsAnErrorWhereItIsInterruptedBeforeEveryOpWasTimed) {
  cancel_.cancel();
  const auto trace = profile(std::chrono::seconds(60));
  ASSERT_FALSE(trace);
  EXPECT_EQ(trace.error().code, ErrorCode::kInterrupted);
}

/// Whether a machine has just moved its cores apart, and how long calls take at least: longer once they are together,
/// as a busy machine, which only lengthens times, then makes none look like the others.
class MovingCores {
 public:
  void move_together() { apart_ = false; }
  [[nodiscard]] Nanoseconds round_trip() const { return apart_ ? 300_ns : 60_ns; }
  [[nodiscard]] Nanoseconds length() const { return apart_ ? 20_us : 500_us; }

 private:
  std::atomic<bool> apart_ = true;
};

/// What each call computes, and then waits until the machine has had its time for it.
class MovedKernels final : public WrappedKernels {
 public:
  explicit MovedKernels(const MovingCores& machine) : machine_(machine) {}

 private:
  class Kernel final : public HostKernel {
   public:
    Kernel(std::unique_ptr<HostKernel> kernel, const MovingCores& machine)
        : kernel_(std::move(kernel)), machine_(machine) {}

    void run(const HostArguments& arguments) override {
      const Nanoseconds begin = steady_now();
      kernel_->run(arguments);
      while (steady_now() - begin < machine_.length()) {
      }
    }

   private:
    std::unique_ptr<HostKernel> kernel_;
    const MovingCores& machine_;
  };

  [[nodiscard]] std::unique_ptr<HostKernel> wrap(std::unique_ptr<HostKernel> kernel,
                                                 const OpCall& /*call*/) const override {
    return std::make_unique<Kernel>(std::move(kernel), machine_);
  }

  const MovingCores& machine_;
};

/// Matrix products that then wait, and are counted; overheads are measured with other ops.
class CountedSlowKernels final : public WrappedKernels {
 public:
  explicit CountedSlowKernels(std::atomic<int>& calls) : calls_(calls) {}

 private:
  class Kernel final : public HostKernel {
   public:
    Kernel(std::unique_ptr<HostKernel> kernel, std::atomic<int>& calls) : kernel_(std::move(kernel)), calls_(calls) {}

    void run(const HostArguments& arguments) override {
      ++calls_;
      kernel_->run(arguments);
      std::this_thread::sleep_for(std::chrono::milliseconds(60));
    }

   private:
    std::unique_ptr<HostKernel> kernel_;
    std::atomic<int>& calls_;
  };

  [[nodiscard]] std::unique_ptr<HostKernel> wrap(std::unique_ptr<HostKernel> kernel,
                                                 const OpCall& call) const override {
    if (!std::holds_alternative<Gemm>(call.attributes)) return kernel;
    return std::make_unique<Kernel>(std::move(kernel), calls_);
  }

  std::atomic<int>& calls_;
};

TEST_F(ProfileBudget, RunsAModelThatTakesLongAFewTimesBeyondIt) {
  std::atomic<int> calls = 0;
  HostBackend device(std::make_unique<CountedSlowKernels>(calls), reference_device_info(1));
  ProfileOptions options;
  options.budget = Nanoseconds(0);
  options.fused_widths = {};
  const auto trace = profile_model(device, *batch_.loaded[0], options, cancel_);
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(trace->info.wall("model untraced")->samples.size(), 1U);
  EXPECT_EQ(trace->info.wall("model traced")->samples.size(), 1U);
  const int steps = calls / 2;
  EXPECT_LE(steps, 10) << "loaded, warmed up and timed, for the ops and for the whole";
}

TEST_F(ProfileBudget, LeavesOutWhatWasTimedWhileCoresWereApart) {
  MovingCores machine;  // apart while ways are compared, together from then on
  HostBackend device(std::make_unique<MovedKernels>(machine), reference_device_info(1));
  ProfileOptions options;
  options.budget = std::chrono::seconds(60);
  options.fused_widths = {};
  WorkWatch watch([&] { return Probed{100_us, machine.round_trip()}; });
  options.watch = &watch;
  options.progress = [&](const std::string& what) {
    if (what.starts_with("members in turn")) machine.move_together();
  };
  const auto trace = profile_model(device, *batch_.loaded[0], options, cancel_);
  ASSERT_TRUE(trace) << trace.error().message;
  std::map<std::pair<std::string, Bytes>, std::vector<Nanoseconds>> in_model;  // by op and footprint
  std::set<Nanoseconds> round_trips;
  for (const Slice& slice : trace->slices) {
    const auto record = profile_record_of(*trace, slice);
    if (record && record->state == ProfileState::kInModel)
      in_model[{record->signature, record->footprint}].push_back(record->time);
    if (record && record->signature == kRoundTripRecord) round_trips.insert(record->time);
  }
  EXPECT_GE(in_model.size(), 4U) << "two ops, alone and in turn";
  for (const auto& [what, times] : in_model)
    EXPECT_GE(*std::min_element(times.begin(), times.end()), 500_us - 10_us) << what.first << ", less the clock";
  EXPECT_EQ(round_trips, (std::set<Nanoseconds>{60_ns, 300_ns})) << "which tells that it was so";
}

}  // namespace
}  // namespace cohort::testing
