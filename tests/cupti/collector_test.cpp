#include "tracer/cupti/collector.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <thread>

#include "base/file.hpp"
#include "base/plugin.hpp"
#include "tracer/cupti/decoder.hpp"

namespace cohort::cupti {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// The tracer's own code with a libcupti that a test drives.
class CuptiCollectorTest : public ::testing::Test {
 protected:
  CuptiCollectorTest() { ::setenv(kCuptiLibraryVariable, FAKE_CUPTI, 1); }
  ~CuptiCollectorTest() override {
    for (const char* name : {kCuptiLibraryVariable, "FAKE_CUPTI_VERSION", "FAKE_CUPTI_HELD", "FAKE_CUPTI_NO_EVENTS"})
      ::unsetenv(name);
  }
  CuptiCollectorTest(const CuptiCollectorTest&) = delete;
  CuptiCollectorTest& operator=(const CuptiCollectorTest&) = delete;

  Result<std::unique_ptr<Collector>> start() {
    spool_ = SpoolWriter::header(1);
    return Collector::start({}, [this](std::string_view chunks) { spool_.append(chunks); });
  }
  Trace trace() {
    auto decoded = decode({spool_});
    EXPECT_TRUE(decoded) << decoded.error().message;
    return decoded ? std::move(*decoded) : Trace{};
  }
  template <class Function>
  Function* device(const char* name) {
    const auto library = SharedLibrary::open(FAKE_CUPTI, SharedLibrary::Scope::kLocal);
    EXPECT_TRUE(library);
    const auto function = library->function<Function>(name);
    EXPECT_TRUE(function);
    return *function;
  }
  void kernel(std::uint64_t start, std::uint64_t end, std::uint32_t correlation, std::uint64_t node = 0) {
    device<void(std::uint64_t, std::uint64_t, std::uint32_t, std::uint64_t)>("fake_kernel")(start, end, correlation,
                                                                                            node);
  }
  void graph_node(std::uint64_t node, std::uint64_t original) {
    device<void(std::uint64_t, std::uint64_t)>("fake_graph_node")(node, original);
  }
  void range(const char* text) { device<void(const char*)>("fake_range")(text); }
  void drop(std::size_t records) { device<void(std::size_t)>("fake_dropped")(records); }

  static std::vector<std::string> tasks(const Trace& trace) {
    std::vector<std::string> tasks;
    for (const Slice& slice : trace.slices) tasks.emplace_back(trace.text_arg(slice, kTaskArg).value_or("none"));
    return tasks;
  }

  std::string spool_;
};

TEST_F(CuptiCollectorTest, GivesKernelsTheLabelOfTheirLaunch) {
  const auto collector = start();
  ASSERT_TRUE(collector) << collector.error().message;
  (*collector)->label(4, {"0/conv1", "conv1", "0"});
  (*collector)->push(4);
  kernel(10, 20, 1);
  (*collector)->pop();
  kernel(30, 40, 2);
  ASSERT_TRUE((*collector)->stop(true));
  const Trace recorded = trace();
  EXPECT_THAT(tasks(recorded), ElementsAre("0/conv1", "none"));
  EXPECT_EQ(recorded.info.settings.at("complete"), "yes");
}

TEST_F(CuptiCollectorTest, GivesNodesOfAReplayedGraphTheLabelUnderWhichTheyWereCaptured) {
  const auto collector = start();
  ASSERT_TRUE(collector) << collector.error().message;
  (*collector)->label(4, {"0/conv1", "conv1", "0"});
  (*collector)->label(5, {"1/conv1", "conv1", "1"});
  (*collector)->push(4);
  graph_node(71, 0);
  (*collector)->pop();
  (*collector)->push(5);
  graph_node(72, 0);
  (*collector)->pop();
  graph_node(73, 0);  // captured for nothing that has a label
  graph_node(171, 71);
  graph_node(172, 72);
  graph_node(173, 73);
  kernel(10, 20, 9, 171);
  kernel(20, 30, 9, 172);
  kernel(30, 40, 9, 173);
  kernel(50, 60, 10, 171);
  ASSERT_TRUE((*collector)->stop(true));
  EXPECT_THAT(tasks(trace()), ElementsAre("0/conv1", "1/conv1", "none", "0/conv1"));
}

TEST_F(CuptiCollectorTest, GivesKernelsTheInnermostRangeOfTheirThreadWithOpAndMembersOfATask) {
  const auto collector = start();
  ASSERT_TRUE(collector) << collector.error().message;
  range("training step");
  kernel(10, 20, 1);
  range("0-3/block1.conv1");
  kernel(30, 40, 2);
  graph_node(71, 0);
  range(nullptr);
  kernel(50, 60, 3);
  range(nullptr);
  kernel(70, 80, 4);
  range("0-3/block1.conv1#2");
  kernel(90, 100, 5);
  range(nullptr);
  graph_node(171, 71);
  kernel(110, 120, 6, 171);
  ASSERT_TRUE((*collector)->stop(true));
  const Trace recorded = trace();
  EXPECT_THAT(tasks(recorded), ElementsAre("training step", "0-3/block1.conv1", "training step", "none",
                                           "0-3/block1.conv1#2", "0-3/block1.conv1"));
  EXPECT_EQ(recorded.text_arg(recorded.slices[4], "op"), "block1.conv1");
  EXPECT_EQ(recorded.text_arg(recorded.slices[1], "op"), "block1.conv1");
  EXPECT_EQ(recorded.text_arg(recorded.slices[1], "members"), "0-3");
  EXPECT_EQ(recorded.text_arg(recorded.slices[0], "op"), std::nullopt);
}

TEST_F(CuptiCollectorTest, CountsWhatWasDroppedAndGivesBuffersZeroedAgain) {
  const auto collector = start();
  ASSERT_TRUE(collector) << collector.error().message;
  for (std::uint64_t i = 1; i < 50; ++i) {
    kernel(10 * i, 10 * i + 5, static_cast<std::uint32_t>(i));
    (*collector)->flush();
  }
  drop(12);
  ASSERT_TRUE((*collector)->stop(true));
  drop(0);
  const Trace recorded = trace();
  EXPECT_EQ(recorded.slices.size(), 49U);
  EXPECT_EQ(recorded.info.dropped.at("records that CUPTI dropped"), 12);
}

TEST_F(CuptiCollectorTest, HoldsNoLockWhileItFlushes) {
  const auto collector = start();
  ASSERT_TRUE(collector) << collector.error().message;
  std::thread other([&] {
    for (int i = 0; i < 200; ++i) (*collector)->label(static_cast<std::uint64_t>(i), {"t", "o", "m"});
  });
  for (std::uint64_t i = 1; i < 200; ++i) {
    kernel(10 * i, 10 * i + 5, static_cast<std::uint32_t>(i));
    (*collector)->flush();
  }
  other.join();
  ASSERT_TRUE((*collector)->stop(true));
  EXPECT_EQ(trace().slices.size(), 199U);
}

TEST_F(CuptiCollectorTest, RefusesAnotherVersionAndNamesTheToolThatHoldsCupti) {
  ::setenv("FAKE_CUPTI_VERSION", "140000", 1);
  const auto other_version = start();
  ASSERT_FALSE(other_version);
  EXPECT_THAT(other_version.error().message, HasSubstr("CUPTI 14.0.0 is installed"));
  ::unsetenv("FAKE_CUPTI_VERSION");
  ::setenv("FAKE_CUPTI_HELD", "1", 1);
  const auto held = start();
  ASSERT_FALSE(held);
  EXPECT_THAT(held.error().message, HasSubstr("CUPTI for Another Tool"));
}

TEST_F(CuptiCollectorTest, RecordsWithoutAKindThatCuptiRefusesAndSaysSo) {
  ::setenv("FAKE_CUPTI_NO_EVENTS", "1", 1);
  const auto collector = start();
  ASSERT_TRUE(collector) << collector.error().message;
  kernel(10, 20, 1);
  ASSERT_TRUE((*collector)->stop(true));
  const Trace recorded = trace();
  EXPECT_EQ(recorded.slices.size(), 1U);
  ASSERT_EQ(recorded.info.dropped.size(), 1U);
  EXPECT_THAT(recorded.info.dropped.begin()->first, HasSubstr("cuptiActivityEnable(36)"));
}

TEST_F(CuptiCollectorTest, RunsOnceAtATimeAndAgainAfterwards) {
  for (int i = 0; i < 2; ++i) {
    const auto collector = start();
    ASSERT_TRUE(collector) << collector.error().message;
    EXPECT_FALSE(Collector::start({}, [](std::string_view) {}));
    kernel(10, 20, 1);
    ASSERT_TRUE((*collector)->stop(true));
    EXPECT_EQ(trace().slices.size(), 1U);
  }
}

}  // namespace
}  // namespace cohort::cupti
