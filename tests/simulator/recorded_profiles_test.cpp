// The profiles recorded in traces/: they load, and planning with them is sensible and repeatable.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "models/networks/networks.hpp"
#include "simulator/costs/recorded_catalog.hpp"
#include "simulator/planner/planner.hpp"
#include "tracer/file/trace_file.hpp"

namespace cohort {
namespace {

using ::testing::IsSupersetOf;

std::vector<std::filesystem::path> recorded_profiles() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(COHORT_TRACES)) {
    if (entry.path().string().ends_with(".trace.json.gz")) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

/// Plans `count` members of a profile's model with generated input.
PlanningResult plan(const Trace& profile, int count) {
  NetworkArguments arguments;
  for (const auto& [name, value] : profile.info.settings) {
    if (name.starts_with("model.")) arguments[name.substr(6)] = value;
  }
  const std::int64_t minibatch = std::stoll(profile.info.settings.at("minibatch"));
  auto model = make_network(profile.info.settings.at("model"), minibatch, arguments);
  EXPECT_TRUE(model) << model.error().message;
  Weights weights = random_weights(*model, 0);
  const LoadedModel loaded = simplify({std::move(*model), std::move(weights)});
  const std::vector<const Trace*> profiles{&profile};
  const auto costs = CostTable::from(profiles);
  EXPECT_TRUE(costs) << costs.error().message;
  const auto device = device_profile_of(profiles);
  EXPECT_TRUE(device) << device.error().message;
  std::vector<Member> members;
  for (int i = 0; i < count; ++i) members.push_back({fmt::format("m-{}", i), {}, static_cast<std::uint64_t>(i)});
  const Plan base = uniform_plan(members, Strategy::kSerial, 1);
  const std::vector<const Model*> models(members.size(), &loaded.model);
  const RecordedCatalog catalog(*costs, device->cores);
  auto result = plan_model_batch({&base, models, &*costs, *device, &catalog});
  EXPECT_TRUE(result) << result.error().message;
  return result ? std::move(*result) : PlanningResult{};
}

TEST(RecordedProfiles, CoverTheNetworksThatPredictionsAreJudgedOn) {
  std::set<std::string> recorded;
  for (const auto& file : recorded_profiles()) {
    const auto trace = read_trace(file);
    ASSERT_TRUE(trace) << trace.error().message;
    recorded.insert(trace->info.settings.at("model"));
  }
  EXPECT_THAT(recorded, IsSupersetOf({"alexnet5", "lenet5", "lstm", "mlp", "resnet18", "smallcnn", "squeezenet1_1"}));
}

TEST(RecordedProfiles, GivePlansWithinTheirBoundsAndTheSameOnesAgain) {
  for (const auto& file : recorded_profiles()) {
    const auto trace = read_trace(file);
    ASSERT_TRUE(trace) << trace.error().message;
    const PlanningResult result = plan(*trace, 4);
    ASSERT_FALSE(result.ranked.empty()) << file;
    for (const PlanCandidate& candidate : result.ranked) {
      EXPECT_GE(candidate.prediction.step_time, candidate.prediction.lower_bound) << file << ": " << candidate.name;
      EXPECT_GE(candidate.prediction.step_time, result.ranked.front().prediction.step_time);
    }
    const PlanningResult again = plan(*trace, 4);
    EXPECT_EQ(write_plan(again.ranked.front().plan), write_plan(result.ranked.front().plan)) << file;
  }
}

TEST(RecordedProfiles, MoreMembersNeverTakeLessTime) {
  for (const auto& file : recorded_profiles()) {
    const auto trace = read_trace(file);
    ASSERT_TRUE(trace) << trace.error().message;
    const auto step = [&](int count) { return plan(*trace, count).ranked.front().prediction.step_time; };
    Nanoseconds before{};
    for (const int count : {1, 2, 3, 4, 8, 16}) {
      const Nanoseconds now = step(count);
      EXPECT_LT(before, now) << file << ": " << count << " members";
      before = now;
    }
  }
}

}  // namespace
}  // namespace cohort
