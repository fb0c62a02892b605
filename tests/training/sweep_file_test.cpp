#include <gmock/gmock.h>

#include "training/search.hpp"
#include "training/sweep.hpp"

namespace cohort {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

constexpr const char* kHead = "model = \"mlp\"\nepochs = 4\n[data]\ntrain = \"x.npy\"\nlabels = \"y.npy\"\n";

std::string sweep_error(const std::string& text) {
  const auto sweep = parse_sweep(text, "sweep.toml");
  if (sweep) return "no error";
  EXPECT_EQ(sweep.error().code, ErrorCode::kInvalidInput);
  return sweep.error().message;
}
std::string error_below_head(const std::string& text) { return sweep_error(kHead + text); }

TEST(SweepFile, HoldsWhatItSays) {
  const auto sweep = parse_sweep(R"(
    model = "net.onnx"
    minibatch = 16
    steps = 100
    optimizer = "adamw"
    loss = "mean_squared_error"
    seed = 7
    most_together = 8
    checkpoint_every = 2
    initial_weights = "random"
    [data]
    csv = "table.csv"
    label = ["a", "b"]
    held_out = 0.25
    [space]
    search = "random"
    samples = 5
    learning_rate = { log_uniform = [1e-4, 1e-1] }
    schedule = ["constant", "cosine", { every = 3, factor = 0.5 }]
    dropout = 0.1
    arguments.width = [8, 16]
    [halving]
    every = 2
    keep = 0.25
    at_least = 2
  )",
                                 "runs/sweep.toml");
  ASSERT_TRUE(sweep) << sweep.error().message;
  EXPECT_EQ(sweep->model, "runs/net.onnx");
  EXPECT_EQ(sweep->minibatch, 16);
  EXPECT_EQ(sweep->steps, 100);
  EXPECT_FALSE(sweep->epochs);
  EXPECT_EQ(optimizer_name(sweep->spec.update), "adamw");
  EXPECT_EQ(sweep->spec.loss, LossKind::kMeanSquaredError);
  EXPECT_TRUE(sweep->spec.dropout_from_settings);
  EXPECT_FALSE(sweep->spec.update.clip);
  EXPECT_EQ(sweep->metric, Metric::kLoss);
  EXPECT_EQ(sweep->seed, 7U);
  EXPECT_EQ(sweep->most_together, 8);
  EXPECT_TRUE(sweep->random_weights);
  EXPECT_EQ(sweep->data.train.samples, "runs/table.csv");
  EXPECT_THAT(sweep->data.train.columns, ElementsAre("a", "b"));
  EXPECT_EQ(sweep->data.held_out, 0.25);
  ASSERT_EQ(sweep->space.size(), 4U);
  EXPECT_EQ(std::get<Interval>(sweep->space[0].values), (Interval{1e-4, 1e-1, true, false}));
  EXPECT_EQ(std::get<RateSchedule>(std::get<std::vector<ParameterValue>>(sweep->space[1].values)[2]),
            (RateSchedule{RateSchedule::Kind::kStep, 3, 0.5}));
  EXPECT_EQ(sweep->space[3].name, "arguments.width");
  EXPECT_EQ(sweep->halving, (HalvingRule{2, 0.25, 2, Metric::kLoss}));
}

TEST(SweepFile, ListsMembersWithWhatTheyHaveInCommon) {
  const auto sweep = parse_sweep(std::string(kHead) + R"(
    [space]
    learning_rate = 0.1
    weight_decay = 0.01
    [[member]]
    arguments = { hidden = 64 }
    [[member]]
    learning_rate = 0.2
  )",
                                 "sweep.toml");
  ASSERT_TRUE(sweep) << sweep.error().message;
  EXPECT_EQ(sweep->search, SearchKind::kList);
  EXPECT_THAT(
      sweep->members,
      ElementsAre(ElementsAre(Pair("learning_rate", ParameterValue(0.1)), Pair("weight_decay", ParameterValue(0.01)),
                              Pair("arguments.hidden", ParameterValue(std::int64_t{64}))),
                  ElementsAre(Pair("weight_decay", ParameterValue(0.01)), Pair("learning_rate", ParameterValue(0.2)))));
}

TEST(SweepFile, NamesFileLineAndKeyOfAMistake) {
  EXPECT_EQ(error_below_head("[space]\nlearning_rte = 0.1\n"),
            "sweep.toml:7: space.learning_rte is not known; did you mean \"learning_rate\"?");
  EXPECT_EQ(sweep_error("modle = \"mlp\"\n"), "sweep.toml:1: modle is not known; did you mean \"model\"?");
  EXPECT_EQ(error_below_head("[space]\nlearning_rate = [0.1,\n nan]\n"),
            "sweep.toml:7: space.learning_rate must be a number above 0, not nan");
  EXPECT_EQ(error_below_head("[space]\nlearning_rate = -0.1\n"),
            "sweep.toml:7: space.learning_rate must be a number above 0, not -0.1");
  EXPECT_EQ(error_below_head("[space]\nlearning_rate = []\n"),
            "sweep.toml:7: space.learning_rate must be a value or a list with at least one, not an empty list");
  EXPECT_EQ(error_below_head("[space]\nlearning_rate = inf\n"),
            "sweep.toml:7: space.learning_rate must be a number above 0, not inf");
  EXPECT_EQ(error_below_head("[space]\nmomentum = 1\n"),
            "sweep.toml:7: space.momentum must be a number from 0 to below 1, not 1");
  EXPECT_THAT(error_below_head("[space]\nbeta2 = 0.99999999\n"), HasSubstr("from 0 to below 1, not 0.99999999"))
      << "which is 1 in float32";
  EXPECT_EQ(error_below_head("[halving]\nevery = 0\n"),
            "sweep.toml:7: halving.every must be a whole number from 1 to 1000000, not 0");
  EXPECT_EQ(error_below_head("[halving]\nevery = 1\nkeep = 1\n"),
            "sweep.toml:8: halving.keep must be a number above 0 and below 1: 0.5 keeps half, not 1");
  EXPECT_EQ(sweep_error("model = \"mlp\"\nepochs = \"many\"\n"),
            "sweep.toml:2: epochs must be a whole number from 1 to 1000000, not the text \"many\"");
  EXPECT_THAT(sweep_error("model = \"mlp\"\nepochs = \n"), HasSubstr("sweep.toml:2: "));
  EXPECT_EQ(sweep_error("model = \"mlp\"\nepochs = 2021-01-01\n"),
            "sweep.toml:2: a date or time is no value here; write it as text, in quotes");
}

TEST(SweepFile, RefusesWhatContradictsItself) {
  EXPECT_THAT(sweep_error("model = \"mlp\"\nepochs = 1\nsteps = 2\n"), HasSubstr("give one of the two"));
  EXPECT_THAT(sweep_error("model = \"mlp\"\nepochs = 1\n"), HasSubstr("sweep.toml:1: data is missing"));
  EXPECT_THAT(sweep_error("model = \"mlp\"\nepochs = 1\n[data]\nheld_out = 0.1\n"), HasSubstr("it has none"));
  EXPECT_THAT(sweep_error("model = \"mlp\"\nepochs = 1\n[data]\ncsv = \"a\"\nfolder = \"b\"\n"),
              HasSubstr("it has several"));
  EXPECT_THAT(sweep_error("model = \"mlp\"\nepochs = 1\n[data]\ntrain = \"a\"\n"), HasSubstr("data.labels is missing"));
  EXPECT_THAT(sweep_error("model = \"mlp\"\nepochs = 1\noptimiser = \"adam\"\n"),
              HasSubstr("did you mean \"optimizer\"?"));
  EXPECT_THAT(sweep_error("model = \"mlp\"\nepochs = 1\noptimizer = \"adamm\"\n"),
              HasSubstr("sweep.toml:3: optimizer: "));
  EXPECT_THAT(error_below_head("[space]\nbeta1 = 0.9\n"), HasSubstr("beta1 has no effect with optimizer = \"sgd\""));
  EXPECT_THAT(error_below_head("[space]\nlearning_rate = { log_uniform = [1e-4, 1e-1] }\n"),
              HasSubstr("only search = \"random\" draws"));
  EXPECT_THAT(error_below_head("[space]\nsearch = \"random\"\n"), HasSubstr("space.samples is missing"));
  EXPECT_THAT(
      error_below_head("[space]\nsearch = \"random\"\nsamples = 2\nlearning_rate = { log_uniform = [0.1, 0.01] }\n"),
      HasSubstr("the lower one first"));
  EXPECT_THAT(error_below_head("[space]\nsearch = \"gird\"\n"), HasSubstr("did you mean \"grid\"?"));
  EXPECT_THAT(error_below_head("[space]\nsearch = \"list\"\n"), HasSubstr("needs [[member]] tables"));
  EXPECT_THAT(error_below_head("[space]\nlearning_rate = [0.1, 0.2]\n[[member]]\nweight_decay = 0\n"),
              HasSubstr("one value each"));
  EXPECT_THAT(error_below_head("[[member]]\ndropout = 0.1\n[[member]]\nseed = 1\n"), HasSubstr("1 of 2 members"));
  EXPECT_THAT(error_below_head("augment = \"sharde\"\n"), HasSubstr("did you mean \"shared\"?"));
  EXPECT_THAT(error_below_head("shift = 1\n"), HasSubstr("has no effect without augment"));
  EXPECT_THAT(error_below_head("normalize = { mean = [1], std = [0] }\n"), HasSubstr("numbers above 0"));
  EXPECT_THAT(error_below_head("normalize = { mean = [1, 2], std = [1] }\n"), HasSubstr("2 means and 1"));
  std::string large = "[space]\n";
  for (const char* const name : {"learning_rate", "weight_decay", "warmup", "seed"}) {
    large += fmt::format("{} = [1", name);
    for (int i = 2; i <= 40; ++i) large += fmt::format(", {}", i);
    large += "]\n";
  }
  EXPECT_THAT(error_below_head(large), HasSubstr("more than 65536 members"));
}

}  // namespace
}  // namespace cohort
