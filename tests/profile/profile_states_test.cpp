// What a profile of a GPU records of each op and alternative beside its warm time: the first execution, and calls that
// find nothing in the caches.

#include <gmock/gmock.h>

#include <map>
#include <set>

#include "executor/host/host_session.hpp"
#include "executor/profile/case_selection.hpp"
#include "executor/profile/profile.hpp"
#include "executor/recording/fake_gpu.hpp"
#include "executor/reference/reference_kernels.hpp"
#include "tests/profile/wrapped_kernels.hpp"
#include "tests/strategies/batch.hpp"

namespace cohort::testing {
namespace {

/// A GPU in host memory that says how large its last cache is.
class GpuWithCache final : public Backend {
 public:
  explicit GpuWithCache(const std::string& bytes) : info_(gpu_.info()) { info_.settings["l2_bytes"] = bytes; }

  [[nodiscard]] const DeviceInfo& info() const override { return info_; }
  [[nodiscard]] const OpCatalog& catalog() const override { return gpu_.catalog(); }
  Result<std::unique_ptr<Session>> load(const Program& program, std::span<const Weights* const> weights) override {
    return gpu_.load(program, weights);
  }
  [[nodiscard]] std::vector<std::string> violations() { return gpu_.gpu().violations(); }

 private:
  FakeGpuBackend gpu_;
  DeviceInfo info_;
};

ProfileOptions quick() {
  ProfileOptions options;
  options.passes = 1;  // as on any GPU
  options.fused_widths = {2};
  options.footprints.emplace();  // none
  options.limits = {2, 2, Nanoseconds(0), std::chrono::seconds(1)};
  return options;
}

/// By "signature, strategy xwidth": how many records of each state.
std::map<std::string, std::map<ProfileState, int>> states_of(const Trace& trace) {
  std::map<std::string, std::map<ProfileState, int>> states;
  for (const Slice& slice : trace.slices) {
    const std::string& track = trace.tracks[to_index(slice.track)].thread;
    if (track == "copies" || track == "overheads") continue;
    const auto record = profile_record_of(trace, slice);
    if (!record) continue;
    EXPECT_GT(record->time, Nanoseconds(0));
    ++states[fmt::format("{}, {} x{}", record->signature, record->strategy, record->width)][record->state];
  }
  return states;
}

TEST(ProfileStates, AreThoseOfEachWayToRunAnOpOnAGpu) {
  GpuWithCache device("65536");
  const Batch batch = equal_members("mlp", 1, {{"hidden", "16"}, {"inputs", "16"}}, 1);
  const auto trace = profile_model(device, *batch.loaded[0], quick(), CancelToken());
  ASSERT_TRUE(trace) << trace.error().message;
  const auto all = states_of(*trace);
  EXPECT_GE(all.size(), 3U);
  bool fused = false;
  for (const auto& [way, states] : all) {
    EXPECT_GE(states.at(ProfileState::kWarm), 2) << way;
    ASSERT_TRUE(states.contains(ProfileState::kFlushed) && states.contains(ProfileState::kFirst)) << way;
    EXPECT_GE(states.at(ProfileState::kFlushed), 2) << way;
    EXPECT_LE(states.at(ProfileState::kFirst), states.at(ProfileState::kWarm)) << way;
    EXPECT_EQ(way.find("flush"), std::string::npos) << "what drives bytes out is no op of the model";
    fused = fused || way.ends_with("strided_batch x2");
  }
  EXPECT_TRUE(fused);
  EXPECT_TRUE(device.violations().empty());
}

/// Algorithms of launches of two members' ops.
std::set<std::string> ways_of_groups(const Trace& trace) {
  std::set<std::string> ways;
  for (const Slice& slice : trace.slices) {
    const auto record = profile_record_of(trace, slice);
    if (record && record->strategy == to_string(Strategy::kGroupedGemm)) {
      EXPECT_EQ(record->width, 2);
      EXPECT_TRUE(record->signature.starts_with("Group: 2 * ")) << record->signature;
      ways.insert(record->algorithm);
    }
  }
  return ways;
}

TEST(ProfileGroups, AreTimedInEveryWayThatHasMembersSideBySide) {
  FakeGpuBackend device;
  const Batch products = equal_members("mlp", 1, {{"hidden", "16"}, {"inputs", "16"}}, 1);
  const auto trace = profile_model(device, *products.loaded[0], quick(), CancelToken());
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(ways_of_groups(*trace), std::set<std::string>{"grouped"});
  const Batch layers = equal_members("lstm", 1, {{"steps", "3"}, {"inputs", "8"}, {"hidden", "8"}}, 1);
  const auto recurrent = profile_model(device, *layers.loaded[0], quick(), CancelToken());
  ASSERT_TRUE(recurrent) << recurrent.error().message;
  EXPECT_EQ(ways_of_groups(*recurrent), (std::set<std::string>{"grouped", "grouped:steps"}));
  HostBackend host(make_reference_kernels(), reference_device_info());
  const auto on_host = profile_model(host, *products.loaded[0], quick(), CancelToken());
  ASSERT_TRUE(on_host) << on_host.error().message;
  EXPECT_TRUE(ways_of_groups(*on_host).empty()) << "which has them one after another";
}

TEST(ProfileStates, FlushNothingWhereNoCacheIsKnown) {
  FakeGpuBackend device;
  const Batch batch = equal_members("mlp", 1, {{"hidden", "16"}, {"inputs", "16"}}, 1);
  const auto trace = profile_model(device, *batch.loaded[0], quick(), CancelToken());
  ASSERT_TRUE(trace) << trace.error().message;
  for (const auto& [way, states] : states_of(*trace)) {
    EXPECT_FALSE(states.contains(ProfileState::kFlushed)) << way;
    EXPECT_TRUE(states.contains(ProfileState::kFirst)) << way;
  }
}

TEST(ProfileStates, FlushReadsAndWritesAsManyBytesAsTheCacheHoldsBeforeEachCall) {
  FakeGpuBackend device;
  const Batch batch = equal_members("mlp", 1, {{"hidden", "16"}, {"inputs", "16"}}, 1);
  const Model single = single_op_model(batch.loaded[0]->model, batch.loaded[0]->model.ops[0]);
  OpCase op_case;
  op_case.flush = Bytes{65536};
  const auto program = case_program(device, single, op_case);
  ASSERT_TRUE(program) << program.error().message;
  ASSERT_EQ(program->steps.size(), 2U) << print(*program);
  const Step& flush = program->steps[0];
  EXPECT_EQ(flush.call.outputs[0].shape, (Shape{1, 16384}));
  EXPECT_EQ(program->steps[1].op, single.ops[0].name);
  EXPECT_EQ(flush.stream, program->steps[1].stream);
}

/// Lists one way more for each matrix product, before all others, that no session can be loaded with.
class CatalogWithABrokenWay final : public OpCatalog {
 public:
  explicit CatalogWithABrokenWay(const OpCatalog& whole, bool alone) : whole_(whole), alone_(alone) {}

  Result<std::vector<Alternative>> alternatives(const OpCall& call, int threads) const override {
    COHORT_TRY(auto list, whole_.alternatives(call, threads));
    if (!std::holds_alternative<Gemm>(call.attributes)) return list;
    if (alone_) list = {{"broken, too", threads, {}, {}}};
    list.insert(list.begin(), {"broken", threads, {}, {}});
    return list;
  }
  bool accepts_strides(const OpCall& call) const override { return whole_.accepts_strides(call); }
  int cores() const override { return whole_.cores(); }

 private:
  const OpCatalog& whole_;
  bool alone_;
};

/// A GPU whose ops are listed by another catalog on top of its own.
template <class Catalog>
class GpuWith final : public Backend {
 public:
  template <class... Arguments>
  explicit GpuWith(Arguments... arguments) : catalog_(gpu_.catalog(), arguments...) {}

  [[nodiscard]] const DeviceInfo& info() const override { return gpu_.info(); }
  [[nodiscard]] const OpCatalog& catalog() const override { return catalog_; }
  Result<std::unique_ptr<Session>> load(const Program& program, std::span<const Weights* const> weights) override {
    return gpu_.load(program, weights);
  }

 private:
  FakeGpuBackend gpu_;
  Catalog catalog_;
};

/// A device of plain loops, called what is wanted, whose ops are listed by another catalog; it runs nothing.
template <class Catalog>
class DeviceWith final : public Backend {
 public:
  explicit DeviceWith(std::string kind) { info_.kind = std::move(kind); }

  [[nodiscard]] const DeviceInfo& info() const override { return info_; }
  [[nodiscard]] const OpCatalog& catalog() const override { return catalog_; }
  Result<std::unique_ptr<Session>> load(const Program& program, std::span<const Weights* const> weights) override {
    return host_.load(program, weights);
  }

 private:
  HostBackend host_{make_reference_kernels(2), reference_device_info(2)};
  Catalog catalog_{host_.catalog()};
  DeviceInfo info_ = reference_device_info(2);
};

/// Of eight multiprocessors; matrix products can be made for fewer.
class CatalogOfParts final : public OpCatalog {
 public:
  explicit CatalogOfParts(const OpCatalog& whole) : whole_(whole) {}

  Result<std::vector<Alternative>> alternatives(const OpCall& call, int threads) const override {
    COHORT_TRY(auto list, whole_.alternatives(call, threads));
    if (std::holds_alternative<Gemm>(call.attributes) && call.parts.empty())
      list.front().multiprocessors = call.multiprocessors;
    return list;
  }
  bool accepts_strides(const OpCall& call) const override { return whole_.accepts_strides(call); }
  int multiprocessors() const override { return 8; }
  int cores() const override { return whole_.cores(); }

 private:
  const OpCatalog& whole_;
};

/// Lists each matrix product's first way five times, by as many names; only the fourth takes no workspace.
class CatalogOfMany final : public OpCatalog {
 public:
  explicit CatalogOfMany(const OpCatalog& whole) : whole_(whole) {}

  Result<std::vector<Alternative>> alternatives(const OpCall& call, int threads) const override {
    COHORT_TRY(auto list, whole_.alternatives(call, threads));
    if (!std::holds_alternative<Gemm>(call.attributes)) return list;
    list.resize(1);
    list.front().algorithm = "#1";
    list.front().workspace = Bytes{64};
    for (int i = 2; i <= 5; ++i) {
      list.push_back(list.front());
      list.back().algorithm = fmt::format("#{}", i);
      list.back().workspace = Bytes{i == 4 ? 0 : 64};
    }
    return list;
  }
  bool accepts_strides(const OpCall& call) const override { return whole_.accepts_strides(call); }
  int cores() const override { return whole_.cores(); }

 private:
  const OpCatalog& whole_;
};

TEST(WarmCases, AreOfEveryWayThatACpuListsAndOfThreeOfAGpuWithTheLeastWorkspaceAmongThem) {
  const Batch batch = equal_members("mlp", 1, {{"hidden", "16"}, {"inputs", "16"}}, 1);
  const Model& model = batch.loaded[0]->model;
  const ProfiledOp op = profiled_op(model, model.ops[0], Layout::kNhwc);
  const auto ways = [&](const std::string& kind, std::optional<int> most) {
    const DeviceWith<CatalogOfMany> device(kind);
    ProfileOptions options = quick();
    options.fused_widths = {};
    options.most_alternatives = most;
    std::set<std::string> algorithms;
    const auto cases = warm_cases(device, options, op);
    EXPECT_TRUE(cases) << cases.error().message;
    if (!cases) return algorithms;
    for (const TimedCase& timed : *cases) {
      if (!timed.copies_only) algorithms.insert(timed.op_case.algorithm);
    }
    return algorithms;
  };
  using Set = std::set<std::string>;
  EXPECT_EQ(ways("cpu", {}), (Set{"#1", "#2", "#3", "#4", "#5"}));
  EXPECT_EQ(ways("cuda", {}), (Set{"#1", "#2", "#4"}));
  EXPECT_EQ(ways("cuda", 4), (Set{"#1", "#2", "#3", "#4"}));
  EXPECT_EQ(ways("cuda", 1), (Set{"#1"}));
}

TEST(ProfileParts, OfAGpuAreTimedForProductsThatCanBeMadeForThem) {
  GpuWith<CatalogOfParts> device;
  const Batch batch = equal_members("lenet5", 1, {}, 1);
  const auto trace = profile_model(device, *batch.loaded[0], quick(), CancelToken());
  ASSERT_TRUE(trace) << trace.error().message;
  int halves = 0;
  int quarters = 0;
  for (const auto& [way, states] : states_of(*trace)) {
    const bool half = way.find(" for 4 multiprocessors, serial x1") != std::string::npos;
    const bool quarter = way.find(" for 2 multiprocessors, serial x1") != std::string::npos;
    halves += half ? 1 : 0;
    quarters += quarter ? 1 : 0;
    EXPECT_TRUE(!(half || quarter) || way.starts_with("Gemm")) << way;
  }
  EXPECT_EQ(halves, 3) << "lenet5 has three products";
  EXPECT_EQ(quarters, 3);
}

/// Runs of the first product of an mlp of 24 inputs: whether each found data or zeros.
struct SeenInputs {
  int data = 0;
  int zeros_at_first = 0;
  int zeros_later = 0;
};

class WatchedKernels final : public WrappedKernels {
 public:
  explicit WatchedKernels(SeenInputs& seen) : seen_(seen) {}

 private:
  class Watched final : public HostKernel {
   public:
    Watched(std::unique_ptr<HostKernel> kernel, SeenInputs& seen) : kernel_(std::move(kernel)), seen_(seen) {}
    void run(const HostArguments& arguments) override {
      int& count = arguments.inputs[0][0] != 0 ? seen_.data : has_run_ ? seen_.zeros_later : seen_.zeros_at_first;
      ++count;
      has_run_ = true;
      kernel_->run(arguments);
    }

   private:
    std::unique_ptr<HostKernel> kernel_;
    SeenInputs& seen_;
    bool has_run_ = false;
  };

  [[nodiscard]] std::unique_ptr<HostKernel> wrap(std::unique_ptr<HostKernel> kernel,
                                                 const OpCall& call) const override {
    const bool is_first =
        std::holds_alternative<Gemm>(call.attributes) && std::get<View>(call.inputs[0]).shape.back() == 24;
    if (!is_first) return kernel;
    return std::make_unique<Watched>(std::move(kernel), seen_);
  }

  SeenInputs& seen_;
};

TEST(ProfileInputs, AreDataAndNotZerosInWhateverIsTimed) {
  SeenInputs seen;
  HostBackend cpu(std::make_unique<WatchedKernels>(seen), reference_device_info(1));
  const Batch batch = equal_members("mlp", 1, {{"hidden", "16"}, {"inputs", "24"}}, 1);
  const auto trace = profile_model(cpu, *batch.loaded[0], quick(), CancelToken());
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_GT(seen.data, 0);
  EXPECT_GT(seen.zeros_at_first, 0) << "what is loaded runs once before it has an input";
  EXPECT_EQ(seen.zeros_later, 0);
}

TEST(ProfileOverheads, OfEventsAreRecordedWhereADeviceTellsTheTimes) {
  const Batch batch = equal_members("mlp", 1, {{"hidden", "16"}, {"inputs", "16"}}, 1);
  const auto events_in = [&](Backend& device) {
    const auto trace = profile_model(device, *batch.loaded[0], quick(), CancelToken());
    EXPECT_TRUE(trace) << trace.error().message;
    if (!trace) return std::ptrdiff_t{-1};
    return std::count_if(trace->slices.begin(), trace->slices.end(), [&](const Slice& slice) {
      const auto record = profile_record_of(*trace, slice);
      return record && record->signature == kEventOverheadRecord;
    });
  };
  GpuWithCache gpu("0");
  HostBackend cpu(make_reference_kernels(1), reference_device_info(1));
  EXPECT_GT(events_in(gpu), 0);
  EXPECT_EQ(events_in(cpu), 0);
}

TEST(ProfileFailures, OfOneWayToRunAnOpLeaveTheOthersTimed) {
  GpuWith<CatalogWithABrokenWay> device(false);
  const Batch batch = equal_members("mlp", 1, {{"hidden", "16"}, {"inputs", "16"}}, 1);
  ProfileOptions options = quick();
  options.fused_widths = {};
  const auto trace = profile_model(device, *batch.loaded[0], options, CancelToken());
  ASSERT_TRUE(trace) << trace.error().message;
  std::set<std::string> algorithms;
  for (const Slice& slice : trace->slices) {
    if (const auto record = profile_record_of(*trace, slice)) algorithms.insert(record->algorithm);
  }
  EXPECT_TRUE(algorithms.contains("own:dot"));
  EXPECT_FALSE(algorithms.contains("broken"));
  const bool counted = std::any_of(trace->info.dropped.begin(), trace->info.dropped.end(), [](const auto& dropped) {
    return dropped.first.find(" by broken: ") != std::string::npos;
  });
  EXPECT_TRUE(counted) << "what was left out is told with its reason";
  EXPECT_EQ(trace->info.wall_times.size(), 2U) << "the whole model runs by what does run";
}

TEST(ProfileFailures, OfOneCallThatIsAddedLeaveTheOthersTimed) {
  GpuWith<CatalogWithABrokenWay> device(false);
  const Batch batch = equal_members("mlp", 1, {{"hidden", "16"}, {"inputs", "16"}}, 1);
  const Model& model = batch.loaded[0]->model;
  const auto product = std::find_if(model.ops.begin(), model.ops.end(),
                                    [](const Op& op) { return std::holds_alternative<Gemm>(op.attributes); });
  ASSERT_NE(product, model.ops.end());
  std::vector<WantedCase> wanted(2);
  for (WantedCase& each : wanted) each.signature = signature_of(model, *product);
  wanted[0].op_case.algorithm = "broken";
  wanted[1].op_case.algorithm = "own:dot";
  Trace profile;
  const auto added = add_to_profile(device, *batch.loaded[0], quick(), wanted, CancelToken(), profile);
  ASSERT_TRUE(added) << added.error().message;
  EXPECT_GT(added->records, 0U);
  EXPECT_EQ(added->records, profile.slices.size());
  for (const Slice& slice : profile.slices) EXPECT_EQ(profile.text_arg(slice, "algorithm"), "own:dot");
  EXPECT_EQ(profile.info.dropped.size(), 1U) << "what was left out is told with its reason";
  EXPECT_EQ(added->tried, 2U);
  ASSERT_EQ(added->left_out.size(), 1U);
  EXPECT_THAT(added->left_out[0], ::testing::HasSubstr(" by broken: "));
}

TEST(ProfileFailures, OfEveryWayEndTheProfileWithTheReason) {
  GpuWith<CatalogWithABrokenWay> device(true);
  const Batch batch = equal_members("mlp", 1, {{"hidden", "16"}, {"inputs", "16"}}, 1);
  const auto trace = profile_model(device, *batch.loaded[0], quick(), CancelToken());
  ASSERT_FALSE(trace);
  const std::string& message = trace.error().message;
  EXPECT_NE(message.find("unknown algorithm \"broken, too\""), std::string::npos) << message;
  EXPECT_NE(message.find("what failed first: "), std::string::npos)
      << "the first may have spoilt the rest: " << message;
  EXPECT_NE(message.find(" by broken: "), std::string::npos) << message;
}

}  // namespace
}  // namespace cohort::testing
