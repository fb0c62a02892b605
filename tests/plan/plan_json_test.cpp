#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "simulator/plan/plan.hpp"

namespace cohort {
namespace {

using ::testing::HasSubstr;

std::vector<Member> members(int count) {
  std::vector<Member> list;
  for (int i = 0; i < count; ++i) {
    const auto seed = static_cast<std::uint64_t>(i);
    list.push_back({fmt::format("lenet5-{}", i), {"lenet5", {}, 4}, seed});
  }
  return list;
}

Plan sample_plan() {
  Plan plan = uniform_plan(members(16), Strategy::kConcurrent, 2);
  plan.members.push_back({"odd", {"mlp", {{"hidden", "64"}}, 8}, 99});
  plan.groups[0].streams = std::vector<std::uint32_t>(16, 1);
  plan.groups.push_back({"first", {0, 1, 2, 5}, {"conv1", "pool1"}, Strategy::kDenseConvolution, 2, {}, {}});
  plan.groups.push_back({"odd", {16}, {}, Strategy::kSerial, 0, {}, {"first"}});
  plan.groups.push_back({"branches", {16}, {"fc2", "fc1"}, Strategy::kConcurrent, 0, {}, {"odd"}, {1, 0}});
  plan.input = {InputSource::kFolder, "photos", InputSharing::kSeparate, 2, 3, 7, BadImages::kFatal};
  plan.precision = Precision::kBfloat16;
  plan.groups[2].multiprocessors = 66;
  plan.limits.memory = Bytes{1 << 20};
  plan.resolved =
      Resolved{"cpu",
               "abc",
               Bytes{1},
               Bytes{2},
               Bytes{3},
               Bytes{4},
               {{"0/conv1", "direct", 2, Bytes{5}}, {"1/conv1", "direct", 2, Bytes{5}}, {"0-1/fc", "brg", 1, Bytes{0}}},
               Nanoseconds(56)};
  plan.baselines = {{{0, 1, 2}, {{"0/conv1", "direct", 1, Bytes{0}}}, InputSetting{2, 5}, LaunchMode::kSingle}};
  return plan;
}

/// The sample plan's text with one piece replaced.
std::string edited(const std::string& from, const std::string& to) {
  std::string text = write_plan(sample_plan());
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from << " is not in\n" << text;
  return text.replace(at, from.size(), to);
}

TEST(PlanJson, ReadsBackWhatItWrites) {
  const Plan plan = sample_plan();
  const auto read = parse_plan(write_plan(plan));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, plan);
}

TEST(PlanJson, ReadsTheExamplesOfItsDocument) {
  std::ifstream document(COHORT_DOCS "/plan.md");
  std::vector<std::string> blocks(1);
  for (std::string line; std::getline(document, line);) {
    if (line.starts_with("    ")) {
      blocks.back() += line + "\n";
    } else if (!blocks.back().empty()) {
      blocks.emplace_back();
    }
  }
  ASSERT_EQ(blocks.size(), 3U);  // a plan, members, and nothing behind them
  const auto plan = parse_plan(blocks[0]);
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_TRUE(validate(*plan));
  EXPECT_EQ(plan->members.size(), 16U);
  const auto mixed = parse_members(blocks[1]);
  ASSERT_TRUE(mixed) << mixed.error().message;
  EXPECT_EQ(mixed->size(), 5U);
}

TEST(PlanJson, ReadsBackLaunchThreads) {
  Plan plan = sample_plan();
  plan.launch = LaunchMode::kSingle;
  plan.launch_threads = 2;
  const auto read = parse_plan(write_plan(plan));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, plan);
  EXPECT_THAT(write_plan(plan), HasSubstr("\"launch_threads\": 2"));
  EXPECT_THAT(write_plan(sample_plan()), ::testing::Not(HasSubstr("launch_threads")));
}

TEST(PlanJson, ReadsBackWhatBecomesOfImages) {
  Plan plan = sample_plan();
  plan.input.images = {256, true, true, {0.5, -1.25, 0.1}, {1, 1e-6, 0.3}};
  const std::string text = write_plan(plan);
  const auto read = parse_plan(text);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, plan);
  for (const std::string_view field : {"resize", "random_crop", "random_flip", "mean", "std"}) {
    EXPECT_THAT(text, HasSubstr(fmt::format("\"{}\"", field)));
    EXPECT_THAT(write_plan(sample_plan()), ::testing::Not(HasSubstr(fmt::format("\"{}\"", field))));
  }
  const auto usual =
      parse_plan(edited("\"buffers\": 3", "\"buffers\": 3, \"random_crop\": false, \"mean\": [0.485, 0.456, 0.406]"));
  ASSERT_TRUE(usual) << usual.error().message;
  EXPECT_EQ(*usual, sample_plan());
}

TEST(PlanJson, FingerprintTellsWhatBecomesOfImages) {
  const auto of = [](const ImagePreparation& images) {
    Plan plan = sample_plan();
    plan.input.images = images;
    return fingerprint(plan);
  };
  const std::set<std::string> different{fingerprint(sample_plan()),
                                        of({256}),
                                        of({257}),
                                        of({{}, true}),
                                        of({{}, false, true}),
                                        of({{}, false, false, {0, 0, 0}}),
                                        of({{}, false, false, {0, 0, 0}, {1, 1, 1}})};
  EXPECT_EQ(different.size(), 7U);
}

TEST(PlanJson, WhatBecomesOfImagesIsOnlyForImages) {
  const auto message = [](InputSource source, const ImagePreparation& images) {
    Plan plan = sample_plan();
    plan.input.source = source;
    plan.input.images = images;
    const auto read = parse_plan(write_plan(plan));
    return read ? std::string() : read.error().message;
  };
  EXPECT_EQ(message(InputSource::kArrays, {}), "");
  EXPECT_EQ(message(InputSource::kArrays, {{}, true}),
            "input.random_crop is of images: only for source folder, not arrays");
  EXPECT_EQ(message(InputSource::kGenerated, {{}, false, false, {0, 0, 0}}),
            "input.mean is of images: only for source folder, not generated");
}

TEST(PlanJson, CollapsesMembersThatDifferOnlyInSeed) {
  const std::string text = write_plan(sample_plan());
  EXPECT_THAT(text, HasSubstr(R"("name":"lenet5","model":"lenet5","minibatch":4,"seed":0,"count":16)"));
}

TEST(PlanJson, SaysHowAMemberIsTrained) {
  Plan plan = sample_plan();
  plan.members.back().source.strict_nan = true;
  TrainingSpec& training = plan.members.back().source.training.emplace();
  training.update = optimizer_from("adam").value();
  const std::string text = write_plan(plan);
  EXPECT_THAT(text, HasSubstr(R"("training": {"loss":"cross_entropy","optimizer":"adam"})"));
  EXPECT_EQ(parse_plan(text).value().members, plan.members);
  training = {LossKind::kMeanSquaredError, optimizer_from("nesterov").value(), true};
  training.update.clip = true;
  EXPECT_EQ(parse_plan(write_plan(plan)).value().members, plan.members);
}

TEST(PlanJson, NamesWhatIsWrongWithTraining) {
  Plan plan = sample_plan();
  plan.members.back().source.training.emplace();
  const std::string text = write_plan(plan);
  const auto message = [&](std::string_view from, std::string_view to) {
    std::string changed = text;
    changed.replace(changed.find(from), from.size(), to);
    const auto read = parse_plan(changed);
    return read ? std::string() : read.error().message;
  };
  EXPECT_THAT(message(R"("sgd")", R"("adagrad")"),
              HasSubstr("members[1].training.optimizer: no optimizer is called \"adagrad\"; known: sgd, momentum"));
  EXPECT_THAT(message(R"("cross_entropy")", R"("hinge")"),
              HasSubstr("members[1].training.loss: no loss is called \"hinge\"; known: cross_entropy"));
  EXPECT_THAT(message(R"("optimizer":"sgd")", R"("optimizer":"sgd","rate":"1")"), HasSubstr("members[1].training"));
  EXPECT_THAT(message(R"("optimizer":"sgd")", R"("clip":true)"), HasSubstr("members[1].training.optimizer"));
}

TEST(PlanJson, CollapsesStepsThatDifferOnlyInTheirMember) {
  EXPECT_THAT(write_plan(sample_plan()), HasSubstr(R"({"task":"each 0-1/conv1","algorithm":"direct","threads":2)"));
}

TEST(PlanJson, NeedNotSayHowFarApartCoresWere) {
  EXPECT_EQ(parse_plan(edited("\"core_round_trip_ns\": 56", "\"core_round_trip_ns\": 0"))->resolved->core_round_trip,
            Nanoseconds(0));
  Plan older = sample_plan();
  older.resolved->core_round_trip = {};
  EXPECT_EQ(write_plan(older).find("round_trip"), std::string::npos);
  EXPECT_EQ(*parse_plan(write_plan(older)), older);
  for (const std::string bad : {"-1", "2000000000", "0.5", "\"56\""}) {
    const auto read = parse_plan(edited("\"core_round_trip_ns\": 56", "\"core_round_trip_ns\": " + bad));
    ASSERT_FALSE(read) << bad;
    EXPECT_THAT(read.error().message, HasSubstr("resolved.core_round_trip_ns must be a whole number")) << bad;
  }
}

TEST(PlanJson, FingerprintIgnoresWhatIsResolvedAndNothingElse) {
  const Plan plan = sample_plan();
  Plan unresolved = plan;
  unresolved.resolved.reset();
  Plan edited_plan = plan;
  edited_plan.groups[0].strategy = Strategy::kSerial;
  EXPECT_EQ(fingerprint(plan), fingerprint(unresolved));
  EXPECT_NE(fingerprint(plan), fingerprint(edited_plan));
}

struct BadPlan {
  const char* from;
  const char* to;
  const char* message;
};

class BadPlans : public ::testing::TestWithParam<BadPlan> {};

TEST(PlanJson, BoundsWhatRangesOfAllGroupsStandFor) {
  std::string groups;
  for (int i = 0; i < 200; ++i)
    groups += fmt::format("{{\"name\":\"g{}\",\"members\":\"0-65535\",\"strategy\":\"serial\"}},", i);
  const auto read = parse_plan(edited("\"groups\": [", "\"groups\": [" + groups));
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().message, HasSubstr("65536 positions; a plan's groups hold at most 8388608 in all"));
}

TEST(PlanJson, FollowsChainsOfGroupsOfAnyLength) {
  constexpr int kGroups = 200'000;
  Plan plan = uniform_plan(members(1), Strategy::kSerial, 1);
  plan.groups.clear();
  for (int i = 0; i < kGroups; ++i)
    plan.groups.push_back(
        {fmt::format("g{}", i), {0}, {}, Strategy::kSerial, 0, {}, {fmt::format("g{}", (i + 1) % kGroups)}});
  const auto checked = validate(plan);
  ASSERT_FALSE(checked);
  EXPECT_THAT(checked.error().message, HasSubstr("groups[0].after makes a cycle: g0 -> g1 -> "));
}

TEST_P(BadPlans, AreRefusedWithTheFieldNamed) {
  const auto read = parse_plan(edited(GetParam().from, GetParam().to));
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, ErrorCode::kInvalidInput);
  EXPECT_THAT(read.error().message, HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    PlanJson, BadPlans,
    ::testing::Values(
        BadPlan{"\"strategy\":\"dense_convolution\"", "\"strategy\":\"magic\"",
                "groups[1].strategy: there is no strategy magic"},
        BadPlan{"\"count\":16", "\"count\":0", "members[0].count must be a whole number from 1"},
        BadPlan{"\"members\":\"0-2,5\"", "\"members\":\"0-2,,5\"", "groups[1].members must be positions"},
        BadPlan{"\"members\":\"0-2,5\"", "\"members\":\"5,0-2\"", "groups[1].members must be ascending"},
        BadPlan{"\"members\":\"0-2,5\"", "\"members\":\"0-2,77\"", "there is no member 77"},
        BadPlan{"\"members\":\"0-2,5\"", "\"members\":\"4294967295-4294967295\"", "there is no member 4294967295"},
        BadPlan{"\"members\":\"0-2,5\"", "\"members\":\"0-4294967295\"", "groups[1].members must be positions"},
        BadPlan{"\"after\":[\"first\"]", "\"after\":[\"last\"]", "groups[2].after: there is no group last"},
        BadPlan{"\"after\":[\"first\"]", "\"after\":[\"odd\"]", "groups[2].after makes a cycle: odd -> odd"},
        BadPlan{"\"threads\":2", "\"threads\":\"2\"", "groups[1].threads must be a whole number"},
        BadPlan{"\"threads\":2", "\"thread\":2", "groups[1].thread is not a field known here"},
        BadPlan{"\"layout\": \"nhwc\"", "\"layout\": \"hwcn\"", "layout must be one of nchw, nhwc"},
        BadPlan{"\"multiprocessors\":66", "\"multiprocessors\":0",
                "groups[2].multiprocessors must be a whole number from 1"},
        BadPlan{"\"precision\": \"bfloat16\"", "\"precision\": \"float64\"",
                "precision must be one of float32, tf32, bfloat16, float16, not float64"},
        BadPlan{"\"version\": 1", "\"version\": 2", "version 2 is not known here"},
        BadPlan{"\"buffers\": 3", "\"buffers\": -1", "input.buffers must be a whole number from 1"},
        BadPlan{"\"path\": \"photos\",", "", "input.path is missing"},
        BadPlan{"\"buffers\": 3", "\"buffers\": 3,\"resize\":0", "input.resize must be a whole number from 1 to 16384"},
        BadPlan{"\"buffers\": 3", "\"buffers\": 3,\"random_crop\":1", "input.random_crop must be true or false, not 1"},
        BadPlan{"\"buffers\": 3", "\"buffers\": 3,\"random_flip\":\"yes\"",
                "input.random_flip must be true or false, not \"yes\""},
        BadPlan{"\"buffers\": 3", "\"buffers\": 3,\"mean\":[0,0]",
                "input.mean must be a list of 3 numbers, of red, green and blue, not [0,0]"},
        BadPlan{"\"buffers\": 3", "\"buffers\": 3,\"mean\":0.5", "input.mean must be a list of 3 numbers"},
        BadPlan{"\"buffers\": 3", "\"buffers\": 3,\"mean\":[0,\"a\",0]", "input.mean must be a list of 3 numbers"},
        BadPlan{"\"buffers\": 3", "\"buffers\": 3,\"mean\":[0,0,1e7]",
                "input.mean[2] must be from -1000000 to 1000000, not 10000000"},
        BadPlan{"\"buffers\": 3", "\"buffers\": 3,\"std\":[1,0,1]",
                "input.std[1] must be from 1e-06 to 1000000, not 0"},
        BadPlan{"\"streams\": 2", "\"streams\": 1", "there is no stream 1"},
        BadPlan{"\"streams\": 2", "\"streams\": 2, \"launch_threads\": 3",
                "launch_threads must be 1 to the number of streams, 2, not 3"},
        BadPlan{"\"streams\": 2", "\"streams\": 2, \"launch_threads\": 2",
                "launch_threads must be 1, not 2, where launch is \"graph\""},
        BadPlan{"\"op_streams\": [1,0]", "\"op_streams\":[1]",
                "groups[3].op_streams must have 2 entries, one for each entry of ops, not 1"},
        BadPlan{"\"op_streams\": [1,0]", "\"op_streams\":[2,0]", "groups[3].op_streams: there is no stream 2"},
        BadPlan{"\"op_streams\": [1,0]", "\"op_streams\": [1,0],\"streams\":[1]",
                "groups[3].op_streams: there is no stream 2"},
        BadPlan{"\"op_streams\": [1,0]", "\"op_streams\":[1,-1]", "groups[3].op_streams must be a list of stream"},
        BadPlan{"\"ops\":[\"conv1\",\"pool1\"]", "\"ops\":[\"conv1\",\"pool1\"],\"op_streams\":[0,0]",
                "groups[1].op_streams is only for strategy concurrent, not dense_convolution"},
        BadPlan{"each 0-1/conv1", "each 0-/conv1", "resolved.steps[0].task must be like"},
        BadPlan{"each 0-1/conv1", "conv1", "resolved.steps[0].task must be like \"0/conv1\", not \"conv1\""},
        BadPlan{"\"members\": \"0-2\"", "\"members\": \"0-70\"", "baselines[0].members: there is no member 17"},
        BadPlan{"\"members\": \"0-2\"", "\"members\": \"\"", "baselines[0].members is empty"},
        BadPlan{"\"members\": \"0-2\"", "\"members\": \"0-2,1\"",
                "baselines[0].members: member 1 is in baselines[0] already"},
        BadPlan{"\"buffers\":5", "\"buffers\":0", "baselines[0].input.buffers must be"},
        BadPlan{"\"launch\": \"single\"", "\"launch\": \"twice\"", "baselines[0].launch"},
        BadPlan{"\"buffers\":5", "\"buffer\":5", "baselines[0].input.buffers"},
        BadPlan{"\"format\"", "format", "not valid JSON at line 2"}));

TEST(PlanJson, ABaselineOfOtherModelsIsRefused) {
  Plan plan = sample_plan();
  plan.baselines.front().fingerprint = baseline_fingerprint(plan, plan.baselines.front().members);
  ASSERT_TRUE(parse_plan(write_plan(plan)));
  EXPECT_EQ(parse_plan(write_plan(plan)).value(), plan);
  const auto refused = [&](const std::function<void(Plan&)>& edit) {
    Plan edited = plan;
    edit(edited);
    const auto read = parse_plan(write_plan(edited));
    return !read && read.error().message.starts_with("baselines[0] was made for other models than its members have");
  };
  EXPECT_FALSE(refused([](Plan& edited) { edited.members[0].name = "another"; }));
  EXPECT_FALSE(refused([](Plan& edited) { edited.members[0].seed = 99; }));
  EXPECT_FALSE(refused([](Plan& edited) {
    for (Member& member : edited.members) member.source.model = "elsewhere/" + member.source.model;
  }));
  EXPECT_TRUE(refused([](Plan& edited) { edited.members[0].source.minibatch = 77; }));
  EXPECT_TRUE(refused([](Plan& edited) { edited.members[0].source.model = "other"; }));
  EXPECT_TRUE(refused([](Plan& edited) { edited.members[0].source.arguments["hidden"] = "7"; }));
  EXPECT_TRUE(refused([](Plan& edited) { edited.layout = Layout::kNchw; }));
  EXPECT_TRUE(refused([](Plan& edited) { edited.precision = Precision::kTf32; }));
}

TEST(PlanJson, TruncatedTextIsRefusedAtEveryLength) {
  const std::string text = write_plan(sample_plan());
  for (std::size_t length = 0; length + 2 < text.size(); length += 7) EXPECT_FALSE(parse_plan(text.substr(0, length)));
}

TEST(PlanJson, FewBytesDoNotBecomeGigabytes) {
  const auto members = parse_members(R"({"members": [{"name": "a", "model": ")" + std::string(100'000, 'm') +
                                     R"(", "minibatch": 1, "seed": 0, "count": 65536}]})");
  ASSERT_FALSE(members);
  EXPECT_THAT(members.error().message, HasSubstr("members[0].count: 65536 copies of 100065 bytes"));
  std::string plan = write_plan(sample_plan());
  const std::size_t at = plan.find("each 0-1/conv1");
  ASSERT_NE(at, std::string::npos);
  plan.replace(at, 8, "each 0-65535/" + std::string(10'000, 'c'));
  const auto read = parse_plan(plan);
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().message, HasSubstr("resolved.steps[0].task: 65536 copies"));
}

TEST(PlanJson, ATraceIsCalledOne) {
  const auto read = parse_plan(R"({"traceEvents": []})");
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().message, "a trace, not a plan");
}

TEST(PlanJson, NoMembersIsRefused) {
  const auto read = validate(uniform_plan({}, Strategy::kSerial, 1));
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().message, HasSubstr("members is empty"));
}

}  // namespace
}  // namespace cohort
