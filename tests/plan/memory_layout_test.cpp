#include "simulator/plan/memory_layout.hpp"

#include <gtest/gtest.h>

#include "base/random.hpp"

namespace cohort {
namespace {

Buffer buffer(std::int64_t size, std::vector<std::uint32_t> users, BufferKind kind = BufferKind::kActivation) {
  Buffer result{"b", kind, Bytes{size}, {}, {}};
  for (const std::uint32_t user : users) result.users.push_back(static_cast<StepId>(user));
  return result;
}

TEST(MemoryLayout, ReusesBytesWhereOneBufferIsDoneBeforeTheNextBegins) {
  StepOrder order(4);
  for (int i = 0; i < 4; ++i) order.add(StreamId{0}, {});
  std::vector<Buffer> buffers{buffer(640, {0, 1}), buffer(320, {1, 2}), buffer(640, {2, 3})};
  EXPECT_EQ(lay_out(buffers, order).total, Bytes{960});
  EXPECT_EQ(buffers[0].offset, buffers[2].offset);
  EXPECT_EQ(buffers[1].offset, Bytes{640});
}

TEST(MemoryLayout, SharesNothingBetweenStreamsThatAreNotOrdered) {
  StepOrder order(2);
  order.add(StreamId{0}, {});
  order.add(StreamId{1}, {});
  std::vector<Buffer> buffers{buffer(64, {0}), buffer(64, {1})};
  EXPECT_EQ(lay_out(buffers, order).total, Bytes{128});
}

TEST(MemoryLayout, TellsWhatWorkspacesAdd) {
  StepOrder order(2);
  order.add(StreamId{0}, {});
  order.add(StreamId{0}, {});
  std::vector<Buffer> buffers{buffer(100, {0, 1}), buffer(500, {0}, BufferKind::kWorkspace),
                              buffer(300, {1}, BufferKind::kWorkspace)};
  const ArenaSize arena = lay_out(buffers, order);
  EXPECT_EQ(arena.activations, Bytes{128});
  EXPECT_EQ(arena.total, Bytes{128 + 512});
}

TEST(MemoryLayout, NeverOverlapsBuffersAliveAtTheSameTime) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Random random(seed);
    const std::size_t steps = 2 + random.below(30);
    StepOrder order(steps);
    for (std::uint32_t i = 0; i < steps; ++i) {
      std::vector<StepId> needs;
      if (i > 0 && random.below(2) == 0) needs.push_back(static_cast<StepId>(random.below(i)));
      order.add(static_cast<StreamId>(random.below(3)), needs);
    }
    std::vector<Buffer> buffers;
    for (int i = 0; i < 25; ++i) {
      const auto first = static_cast<std::uint32_t>(random.below(steps));
      const auto last = first + static_cast<std::uint32_t>(random.below(steps - first));
      // Few sizes in half of the cases, so that buffers follow one another on the very same bytes.
      const std::uint64_t size = seed % 2 == 0 ? 1 + random.below(1000) : 64 * (1 + random.below(2));
      buffers.push_back(buffer(static_cast<std::int64_t>(size), {first, last}));
    }
    lay_out(buffers, order);
    const auto ordered = [&](const Buffer& a, const Buffer& b) {
      for (const StepId x : a.users) {
        for (const StepId y : b.users) {
          if (!order.before(x, y)) return false;
        }
      }
      return true;
    };
    for (const Buffer& a : buffers) {
      for (const Buffer& b : buffers) {
        if (&a == &b || ordered(a, b) || ordered(b, a)) continue;
        EXPECT_TRUE(a.offset + a.size <= b.offset || b.offset + b.size <= a.offset) << "seed " << seed;
      }
    }
  }
}

}  // namespace
}  // namespace cohort
