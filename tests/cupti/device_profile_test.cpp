// Profiles of a GPU with what it did: CUPTI's sessions, the profile's runs, and what is kept of them. CUPTI is the
// stand-in, the device a fake.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>

#include "devices/cupti_tracer.hpp"
#include "executor/profile/profile.hpp"
#include "simulator/costs/recorded_launches.hpp"
#include "tests/cupti/stand_in_gpu.hpp"
#include "tests/strategies/batch.hpp"
#include "tracer/cupti/session.hpp"
#include "tracer/file/trace_file.hpp"
#include "tracer/summary/gpu_summary.hpp"
#include "tracer/summary/profile_summary.hpp"

namespace cohort::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;

/// What happens on GPUs that replay graphs: steps that are given are captured, as nodes, and each replay is a call that
/// runs a kernel for each node, for which the host waits while the tool takes a moment of its own.
class Replays {
 public:
  static constexpr int kNodes = 2;  ///< of a step
  static constexpr Nanoseconds kTime = std::chrono::microseconds(2);

  /// Something is given to a device: to be captured, or a graph to be replayed.
  void given(std::size_t device) {
    if (is_capturing_) {
      if (replayed_.erase(device) > 0) nodes_[device].clear();  // a graph of its own
      device_ = device;
    } else if (!nodes_[device].empty()) {
      replay(nodes_[device]);
      replayed_.insert(device);
    }
  }
  void begin_step() { is_capturing_ = true; }
  void end_step() {
    constexpr std::uint64_t kClones = 1'000'000;
    for (int i = 0; i < kNodes; ++i) {
      graph_node(++last_node_, 0);
      graph_node(kClones + last_node_, last_node_);  // in the graph that is launched
      nodes_[device_].push_back(kClones + last_node_);
    }
    is_capturing_ = false;
  }

 private:
  void replay(const std::vector<std::uint64_t>& nodes) {
    const Nanoseconds call = device_time();
    host_record("fake_call", call, device_time(), ++correlation_);
    Nanoseconds end = device_time();
    for (const std::uint64_t node : nodes) {
      kernel(end, kTime, correlation_, node);
      end += kTime;
    }
    const Nanoseconds wait = device_time();
    while (device_time() < end) {
    }
    host_record("fake_wait", wait, device_time(), ++correlation_);
    host_record("fake_overhead", wait, device_time());
  }

  bool is_capturing_ = false;
  std::size_t device_ = 0;
  std::map<std::size_t, std::vector<std::uint64_t>> nodes_;  ///< by device
  std::set<std::size_t> replayed_;
  std::uint64_t last_node_ = 0;
  std::uint32_t correlation_ = 0;
};
/// Of the test that runs; a plugin's functions have no place for it.
std::unique_ptr<Replays> replays;

class ReplayingSession final : public CuptiSession {
 public:
  explicit ReplayingSession(std::unique_ptr<CuptiSession> session) : session_(std::move(session)) {}
  void label(std::uint64_t id, const std::string& task, const std::string& op, const std::string& members) override {
    session_->label(id, task, op, members);
  }
  void push(std::uint64_t id) noexcept override {
    session_->push(id);
    replays->begin_step();
  }
  void pop() noexcept override {
    replays->end_step();
    session_->pop();
  }
  Result<Trace> stop() override { return session_->stop(); }

 private:
  std::unique_ptr<CuptiSession> session_;
};

Result<std::unique_ptr<CuptiSession>> start_replaying(const CuptiOptions& options) {
  COHORT_TRY(auto session, cupti::start_session(options));
  return std::make_unique<ReplayingSession>(std::move(session));
}
constexpr CuptiPlugin kReplaying{&start_replaying, nullptr};

/// A profile of a small network on the fake, whose replays the stand-in for CUPTI records.
class ProfiledDevice : public DeviceTrace {
 protected:
  ProfiledDevice() { replays = std::make_unique<Replays>(); }
  ~ProfiledDevice() override { replays.reset(); }
  ProfiledDevice(const ProfiledDevice&) = delete;
  ProfiledDevice& operator=(const ProfiledDevice&) = delete;

  Trace profile() {
    CuptiTracer tracer(kReplaying);
    ProfileOptions options;
    options.passes = 1;  // as on any GPU
    options.fused_widths = {2};
    options.footprints.emplace();  // none
    options.limits = {1, 1, Nanoseconds(0), Nanoseconds(0)};
    options.tracer = &tracer;
    auto trace = profile_model(device_, *batch_.loaded[0], options, CancelToken());
    EXPECT_TRUE(trace) << trace.error().message;
    return trace ? std::move(*trace) : Trace{};
  }
  /// How many slices of each category there are, by track.
  static std::map<std::string, int> counts(const Trace& trace) {
    std::map<std::string, int> counts;
    for (const Slice& slice : trace.slices)
      ++counts[fmt::format("{}: {}", trace.tracks[to_index(slice.track)].thread, trace.strings[slice.category])];
    return counts;
  }

 private:
  FakeGpus device_{[](std::size_t number) { replays->given(number); }};
  const Batch batch_ = equal_members("mlp", 1, {{"hidden", "16"}, {"inputs", "16"}}, 1);
};

TEST_F(ProfiledDevice, HasTheKernelsOfEachOpAlternativeAndFusedForm) {
  const Trace trace = profile();
  std::map<std::string, int> kernels;  // by track and strategy
  std::map<std::int64_t, int> runs;    // of the model
  for (const Slice& slice : trace.slices) {
    if (trace.strings[slice.category] != "kernel") continue;
    EXPECT_FALSE(profile_record_of(trace, slice));
    EXPECT_TRUE(trace.text_arg(slice, "signature"));
    EXPECT_TRUE(trace.text_arg(slice, "grid")) << "what the tracer gave is kept";
    const std::string& place = trace.tracks[to_index(slice.track)].thread;
    if (place == "kernels of the model") ++runs[trace.integer_arg(slice, kIterationArg).value_or(-1)];
    ++kernels[fmt::format("{}: {} x{}", place, *trace.text_arg(slice, "strategy"), *trace.integer_arg(slice, "width"))];
  }
  EXPECT_THAT(runs, ElementsAre(Pair(0, runs[0]), Pair(1, runs[0]), Pair(2, runs[0]))) << "three runs of each";
  EXPECT_GT(kernels["kernels of the model: serial x1"], 0);
  EXPECT_GT(kernels["kernels of ops alone: serial x1"], 0);
  EXPECT_GT(kernels["kernels of ops alone: strided_batch x2"], 0);
  EXPECT_TRUE(parse_trace(trace_to_json(trace)));
}

TEST_F(ProfiledDevice, HasCallsWaitsAndOverheadOfTheLastOfThreeRuns) {
  const std::map<std::string, int> found = counts(profile());
  const auto of = [&](const std::string& what) {
    const auto count = found.find(what);
    return count != found.end() ? count->second : 0;
  };
  EXPECT_EQ(of("calls of the model: cuda_runtime"), 1) << "one replay";
  EXPECT_EQ(of("synchronization of the model: cuda_sync"), 1);
  EXPECT_EQ(of("overhead of the model: overhead"), 1);
  const int cases = of("calls of ops alone: cuda_runtime");
  EXPECT_GT(cases, 1);
  EXPECT_EQ(of("synchronization of ops alone: cuda_sync"), cases);
  EXPECT_EQ(of("overhead of ops alone: overhead"), cases);
}

TEST_F(ProfiledDevice, SaysWhatEachCallLaunched) {
  const Trace trace = profile();
  std::map<SliceId, bool> is_of_its_op;  ///< by call
  for (const Flow& flow : trace.flows) {
    const Slice& call = trace.slice(flow.from);
    const Slice& kernel = trace.slice(flow.to);
    EXPECT_EQ(trace.strings[kernel.category], "kernel");
    EXPECT_EQ(trace.integer_arg(call, "correlation"), trace.integer_arg(kernel, "correlation"));
    EXPECT_EQ(trace.integer_arg(kernel, kIterationArg), 2);
    if (trace.tracks[to_index(call.track)].thread == "calls of the model") {
      EXPECT_FALSE(trace.text_arg(call, "signature")) << "it launched all ops";
      is_of_its_op[flow.from] = true;
    } else {  // of the op, which copies into stacks may precede
      bool& is = is_of_its_op[flow.from];
      is = is || (trace.text_arg(call, "signature") == trace.text_arg(kernel, "signature") &&
                  trace.text_arg(call, "algorithm") == trace.text_arg(kernel, "algorithm"));
    }
  }
  for (const auto& [call, is] : is_of_its_op) EXPECT_TRUE(is) << "call " << to_index(call);
  for (std::uint32_t i = 0; i < trace.slices.size(); ++i) {
    const Slice& slice = trace.slices[i];
    EXPECT_GE(slice.start, Nanoseconds(0));
    if (trace.strings[slice.category] != "cuda_runtime") continue;
    EXPECT_TRUE(is_of_its_op.count(SliceId{i}) > 0) << "a flow from each";
    EXPECT_FALSE(profile_record_of(trace, slice)) << "no timing of an op";
    EXPECT_EQ(trace.integer_arg(slice, kIterationArg), 2);
    EXPECT_FALSE(trace.integer_arg(slice, "cbid"));
  }
  EXPECT_GT(is_of_its_op.size(), 2U);
}

TEST_F(ProfiledDevice, IsReadForItsTimingsAsWithoutCalls) {
  const Trace with = profile();
  Trace without = with;
  std::erase_if(without.slices, [&](const Slice& slice) {
    const std::string_view category = with.strings[slice.category];
    return category == "cuda_runtime" || category == "cuda_sync" || category == "overhead";
  });
  without.flows.clear();
  EXPECT_EQ(format_profile_summary(summarize_profile(with), 100),
            format_profile_summary(summarize_profile(without), 100));
  const std::vector<const Trace*> profiles{&with};
  const std::vector<const Trace*> bare{&without};
  const RecordedLaunches launches(profiles);
  const RecordedLaunches bare_launches(bare);
  std::size_t looked_up = 0;
  for (const Slice& slice : with.slices) {
    const auto record = profile_record_of(with, slice);
    if (!record) continue;
    CostKey key;
    key.signature = record->signature;
    key.algorithm = record->algorithm;
    key.width = record->width;
    const auto shape = launches.find(key);
    const auto bare_shape = bare_launches.find(key);
    ASSERT_EQ(shape.has_value(), bare_shape.has_value());
    if (!shape) continue;
    EXPECT_EQ(shape->blocks, bare_shape->blocks);
    ++looked_up;
  }
  EXPECT_GT(looked_up, 0U);
  const auto summary = summarize_gpu(with);
  ASSERT_TRUE(summary);
  EXPECT_GT(summary->launch.launches, 0);
  for (const Shortcoming& shortcoming : summary->shortcomings)
    EXPECT_THAT(shortcoming.what, Not(HasSubstr("have no call"))) << "its calls are of one run in three";
}

}  // namespace
}  // namespace cohort::testing
