#include "executor/issue.hpp"

#include <gmock/gmock.h>

#include <string>

#include "tests/executor/small_program.hpp"

namespace cohort::testing {
namespace {

using ::testing::ElementsAre;

/// "run a@0", "record a@0", "1 waits for a".
std::vector<std::string> issued(const Program& program) {
  std::vector<std::string> lines;
  for (const IssueCommand& command : issue_order(program)) {
    const std::string& task = program.step(command.step).task;
    const std::size_t stream = to_index(command.stream);
    switch (command.kind) {
      case IssueCommand::Kind::kLaunch:
        lines.push_back(fmt::format("run {}@{}", task, stream));
        break;
      case IssueCommand::Kind::kRecord:
        lines.push_back(fmt::format("record {}@{}", task, stream));
        break;
      case IssueCommand::Kind::kWait:
        lines.push_back(fmt::format("{} waits for {}", stream, task));
        break;
    }
  }
  return lines;
}

TEST(IssueOrder, NeedsNoEventsOnOneStream) {
  SmallProgram p(1);
  const View x = p.input("x");
  const StepId a = p.step("a", {x}, p.activation("a", 0), {});
  p.step("b", {x}, p.output("b"), {0, {a}});
  EXPECT_THAT(issued(p.program), ElementsAre("run a@0", "run b@0"));
}

TEST(IssueOrder, RecordsAnEventOnceForAllWhoWaitForIt) {
  SmallProgram p(3);
  const View x = p.input("x");
  const StepId a = p.step("a", {x}, p.activation("a", 0), {});
  p.step("b", {x}, p.output("b"), {1, {a}});
  p.step("c", {x}, p.output("c"), {2, {a}});
  p.step("d", {x}, p.output("d"), {1, {a}});
  EXPECT_THAT(issued(p.program),
              ElementsAre("run a@0", "record a@0", "1 waits for a", "run b@1", "2 waits for a", "run c@2", "run d@1"));
}

TEST(IssueOrder, LeavesOutWaitsThatAnotherWaitImplies) {
  SmallProgram p(2);
  const View x = p.input("x");
  const StepId a = p.step("a", {x}, p.activation("a", 0), {});
  const StepId b = p.step("b", {x}, p.activation("b", 1), {0, {a}});
  // b stands behind a on its stream, so waiting for b is enough, whatever the order of the list.
  p.step("c", {x}, p.output("c"), {1, {a, b}});
  // Stream 1 knows of a already.
  p.step("d", {x}, p.output("d"), {1, {a}});
  EXPECT_THAT(issued(p.program),
              ElementsAre("run a@0", "run b@0", "record b@0", "1 waits for b", "run c@1", "run d@1"));
}

TEST(IssueOrder, KnowsWhatTheWaitedForStepHadWaitedFor) {
  SmallProgram p(3);
  const View x = p.input("x");
  const StepId a = p.step("a", {x}, p.activation("a", 0), {});
  const StepId b = p.step("b", {x}, p.activation("b", 1), {1, {a}});
  p.step("c", {x}, p.output("c"), {2, {a, b}});
  EXPECT_THAT(issued(p.program), ElementsAre("run a@0", "record a@0", "1 waits for a", "run b@1", "record b@1",
                                             "2 waits for b", "run c@2"));
}

TEST(IssueOrder, WaitsAgainForALaterStepOfTheSameStream) {
  SmallProgram p(2);
  const View x = p.input("x");
  const StepId a = p.step("a", {x}, p.activation("a", 0), {});
  p.step("b", {x}, p.output("b"), {1, {a}});
  const StepId c = p.step("c", {x}, p.activation("c", 1), {});
  p.step("d", {x}, p.output("d"), {1, {c}});
  EXPECT_THAT(issued(p.program), ElementsAre("run a@0", "record a@0", "1 waits for a", "run b@1", "run c@0",
                                             "record c@0", "1 waits for c", "run d@1"));
}

}  // namespace
}  // namespace cohort::testing
