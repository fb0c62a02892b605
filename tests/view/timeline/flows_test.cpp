#include "view/timeline/flows.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cohort {
namespace {

using namespace literals;
using testing::ElementsAre;
using testing::IsEmpty;

/// backward -> launch -> kernel -> copy, and a second kernel of the same launch.
Trace chain(bool with_flows) {
  Trace trace;
  trace.tracks = {{"host", "thread 1", 1, 1}, {"GPU 0", "stream 7", 0, 7}};
  const std::array<Trace::NamedArg, 1> one{{{"correlation", std::int64_t{1}}}};
  const SliceId op = trace.add_slice(TrackId{0}, "backward", "cpu_op", 0_us, 1_us);
  const SliceId launch = trace.add_slice(TrackId{0}, "cudaLaunchKernel", "cuda_runtime", 2_us, 1_us, one);
  const SliceId second = trace.add_slice(TrackId{1}, "second", "kernel", 9_us, 1_us, one);
  const SliceId first = trace.add_slice(TrackId{1}, "first", "kernel", 5_us, 1_us, one);
  const SliceId copy = trace.add_slice(TrackId{1}, "copy", "gpu_memcpy", 12_us, 1_us);
  if (with_flows) {
    trace.flows = {{launch, second, trace.strings.intern("ac2g")},
                   {launch, first, trace.strings.intern("ac2g")},
                   {op, launch, trace.strings.intern("fwdbwd")},
                   {first, copy, trace.strings.intern("data")}};
  }
  return trace;
}

SliceRef at(std::uint32_t slice) { return {0, static_cast<SliceId>(slice)}; }

TEST(Flows, GoOneStepEachWayAndOneFurther) {
  const Timeline timeline({{std::make_shared<const Trace>(chain(true)), 0_ns, ""}});
  const SliceFlows flows = flows_of(timeline, at(1));
  EXPECT_THAT(flows.incoming, ElementsAre(FlowLink{at(0), at(1), "fwdbwd"}));
  EXPECT_THAT(flows.outgoing, ElementsAre(FlowLink{at(1), at(3), "ac2g"}, FlowLink{at(1), at(2), "ac2g"}));
  EXPECT_THAT(flows.before, IsEmpty());
  EXPECT_THAT(flows.after, ElementsAre(FlowLink{at(3), at(4), "data"}));
  EXPECT_EQ(follow(flows), at(3));
  EXPECT_EQ(follow_back(flows), at(0));
  EXPECT_THAT(flows_of(timeline, at(3)).before, ElementsAre(FlowLink{at(0), at(1), "fwdbwd"}));
}

TEST(Flows, AreFoundByCorrelationWhereThereAreNone) {
  const Timeline timeline({{std::make_shared<const Trace>(chain(false)), 0_ns, ""}});
  EXPECT_THAT(flows_of(timeline, at(1)).outgoing,
              ElementsAre(FlowLink{at(1), at(3), "correlation"}, FlowLink{at(1), at(2), "correlation"}));
  EXPECT_THAT(flows_of(timeline, at(2)).incoming, ElementsAre(FlowLink{at(1), at(2), "correlation"}));
  EXPECT_THAT(flows_of(timeline, at(0)).outgoing, IsEmpty());
  EXPECT_EQ(follow(flows_of(timeline, at(4))), std::nullopt);
}

}  // namespace
}  // namespace cohort
