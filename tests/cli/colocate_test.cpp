#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/cli/program.hpp"

namespace cohort {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class Colocate : public ProgramTest {};

constexpr const char* kTable =
    "minibatch,samples_per_s,processes\n1,195,1\n4,820,1\n16,2220,1\n64,2480,1\n4,800,2\n16,1280,2\n";

TEST_F(Colocate, PredictsEqualProcessesBesideWhatWasMeasured) {
  write("resnet50.csv", kTable);
  const Outcome outcome = cohort({"colocate", "resnet50.csv", "-n", "2,4"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("the host needs 5.00 ms a step"));
  EXPECT_THAT(outcome.out, HasSubstr("1.95x"));  // minibatch 4, two processes: measured
  const Outcome printed = cohort({"colocate", "resnet50.csv", "-n", "2,4", "--minibatch", "16", "--json"});
  const auto answer = nlohmann::json::parse(printed.out);
  ASSERT_EQ(answer["rows"].size(), 2U);
  EXPECT_EQ(answer["rows"][0]["processes"], 2);
  EXPECT_NEAR(answer["rows"][0]["measured_gain"], 1.153, 0.001);
  EXPECT_FALSE(answer["rows"][1].contains("measured_gain"));
  EXPECT_EQ(answer["rows"][0]["bound_by"], "gpu");
}

TEST_F(Colocate, PredictsOneProcessOfEachTable) {
  write("a.csv", kTable);
  write("b.csv", "minibatch,step_ms\n8,3.5\n16,6.4\n");
  const Outcome outcome = cohort({"colocate", "a.csv", "b.csv", "--minibatch", "4,8"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("a, minibatch 4, all: 4.88 ms alone"));
  EXPECT_THAT(outcome.out, HasSubstr("one step of each, begun together, ends after"));
  write("c.csv", "minibatch,sm_percent,step_ms,dram_percent\n8,40,3.5,20\n8,60,2.5,30\n");
  const Outcome apart = cohort({"colocate", "c.csv", "c.csv", "--share", "40,60", "--json"});
  EXPECT_EQ(apart.exit_code, 0) << apart.err;
  const auto answer = nlohmann::json::parse(apart.out);
  EXPECT_EQ(answer["sharing"], "apart");
  EXPECT_GT(answer["processes"][0]["slowdown"], 1.05);
  EXPECT_FALSE(answer.contains("predicted_gain"));  // over one after another on the whole GPU nothing is known
}

TEST_F(Colocate, DrawsOnePartOfTheGpu) {
  write("resnet50.csv", kTable);
  const Outcome outcome = cohort({"colocate", "resnet50.csv", "-n", "2,3", "--chart", "gain.svg"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("wrote gain.svg"));
  EXPECT_THAT(read("gain.svg"), HasSubstr("minibatch 16, measured"));
  EXPECT_EQ(cohort({"colocate", "resnet50.csv", "--chart", "gain.svg"}).exit_code, 3) << "it is there already";
  EXPECT_EQ(cohort({"colocate", "resnet50.csv", "--chart", "gain.svg", "-f"}).exit_code, 0);

  write("slices.csv", "minibatch,gpcs,step_ms\n8,3,5\n8,4,4\n");
  const Outcome two = cohort({"colocate", "slices.csv", "--chart", "slices.svg"});
  EXPECT_EQ(two.exit_code, 2);
  EXPECT_THAT(two.err, HasSubstr("choose with --share and --part, or `cohort report slices.csv` draws all 2"));
  EXPECT_EQ(cohort({"colocate", "slices.csv", "--share", "4", "--chart", "slices.svg"}).exit_code, 0);
}

TEST_F(Colocate, TellsPartsOfTheStepApart) {
  write("parts.csv", "minibatch,step_ms,part\n8,12,\n8,5,layers 0-9\n8,7,layers 10-19\n");
  const Outcome outcome = cohort({"colocate", "parts.csv"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("\nlayers 0-9            8      all    5.00 ms"));
  EXPECT_THAT(outcome.out, HasSubstr("\nlayers 10-19          8      all    7.00 ms"));
  EXPECT_THAT(cohort({"colocate", "parts.csv", "parts.csv", "--part", "layers 0-9,layers 10-19"}).out,
              HasSubstr("parts, layers 10-19, minibatch 8"));
}

TEST_F(Colocate, SaysWhatOneRowCannotTell) {
  write("log.csv", "minibatch,samples_per_s\n8,200\n");
  const Outcome outcome = cohort({"colocate", "log.csv"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("not known"));
  EXPECT_THAT(outcome.out, HasSubstr("Add rows of a larger minibatch"));
  EXPECT_THAT(cohort({"colocate", "log.csv", "log.csv"}).out, HasSubstr("Add rows of a larger minibatch"));
  EXPECT_TRUE(nlohmann::json::parse(cohort({"colocate", "log.csv", "--json"}).out)["rows"][0]["bound_by"].is_null());
}

TEST_F(Colocate, NamesWhatIsWrong) {
  write("a.csv", kTable);
  write("bad.csv", "minibatch,step_ms\n1,2\n2,x\n");
  write("gpcs.csv", "minibatch,gpcs,step_ms\n1,7,2\n");
  const auto refused = [&](std::vector<std::string> words, int code, const char* message) {
    words.insert(words.begin(), "colocate");
    const Outcome outcome = cohort(words);
    EXPECT_EQ(outcome.exit_code, code) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr(message));
    EXPECT_EQ(outcome.out, "");
  };
  refused({"bad.csv"}, 3, "bad.csv: line 3: column step_ms must be a number");
  refused({"none.csv"}, 3, "none.csv");
  refused({"a.csv", "-n", "0"}, 2, "at least 1");
  refused({"a.csv", "-n", "1000"}, 2, "at most 48");
  refused({"a.csv", "--minibatch", "5"}, 2, "no row of one process has this minibatch");
  refused({"a.csv", "--minibatch", "4,5"}, 2, "--minibatch 5: a.csv has no such row");
  refused({"a.csv", "--copied", "1GiB"}, 3, "a.csv: line 2: --copied: 1 samples of 1.00 GiB would take");
  refused({"a.csv", "a.csv", "--chart", "a.svg"}, 2, "a chart is of one table");
  refused({"a.csv", "a.csv", "-n", "2"}, 2, "several tables are one process each");
  refused({"a.csv", "a.csv", "--minibatch", "1,4,16"}, 2, "3 values for 2 tables");
  refused({"a.csv", "gpcs.csv"}, 2,
          "a.csv and gpcs.csv give the part of the GPU in different columns; use the same in both");
  write("slices.csv", "minibatch,gpcs,step_ms\n8,3,5\n8,4,4\n");
  refused({"slices.csv", "slices.csv", "--share", "3,4"}, 2, "MIG slices do not share");
}

}  // namespace
}  // namespace cohort
