#include "executor/recording/view_overlap.hpp"

#include <gtest/gtest.h>

#include <set>

#include "base/random.hpp"

namespace cohort {
namespace {

void add_elements(const View& view, std::size_t axis, std::int64_t at, std::set<std::int64_t>& elements) {
  if (axis == view.shape.size()) {
    elements.insert(at);
    return;
  }
  for (std::int64_t i = 0; i < view.shape[axis]; ++i) {
    add_elements(view, axis + 1, at + i * view.strides[axis], elements);
  }
}

bool really_overlap(const View& a, const View& b) {
  std::set<std::int64_t> in_a;
  std::set<std::int64_t> in_b;
  add_elements(a, 0, a.offset, in_a);
  add_elements(b, 0, b.offset, in_b);
  for (const std::int64_t element : in_a) {
    if (in_b.count(element) != 0) return true;
  }
  return false;
}

/// A box cut out of a dense tensor.
View box_of(const Shape& whole, Layout layout, Random& random) {
  const Shape strides = dense_strides(whole, layout);
  View view{BufferId{0}, 0, whole, strides};
  for (std::size_t i = 0; i < whole.size(); ++i) {
    const auto extent = static_cast<std::uint64_t>(whole[i]);
    const auto first = static_cast<std::int64_t>(random.below(extent));
    view.shape[i] = 1 + static_cast<std::int64_t>(random.below(extent - static_cast<std::uint64_t>(first)));
    view.offset += first * strides[i];
  }
  return view;
}

TEST(ViewOverlap, IsExactForBoxesOfADenseTensor) {
  Random random(1);
  int disjoint = 0;
  for (int i = 0; i < 4000; ++i) {
    const Layout layout = i % 2 == 0 ? Layout::kNhwc : Layout::kNchw;
    const View a = box_of({3, 4, 2, 5}, layout, random);
    const View b = box_of({3, 4, 2, 5}, layout, random);
    ASSERT_EQ(may_overlap(a, b), really_overlap(a, b))
        << to_string(a.shape) << a.offset << to_string(b.shape) << b.offset;
    if (!really_overlap(a, b)) ++disjoint;
  }
  EXPECT_GT(disjoint, 500);
}

TEST(ViewOverlap, NeverMissesAnOverlapOfViewsOfDifferentForm) {
  Random random(2);
  for (int i = 0; i < 4000; ++i) {
    const View a = box_of({2, 6, 10}, Layout::kNchw, random);
    const View b = box_of({5, 24}, Layout::kNchw, random);
    if (really_overlap(a, b)) {
      ASSERT_TRUE(may_overlap(a, b));
    }
  }
}

TEST(ViewOverlap, TellsMembersOfAStackApart) {
  const View stack{BufferId{0}, 0, {4, 3, 5}, {15, 5, 1}};
  const View second{BufferId{0}, 15, {3, 5}, {5, 1}};
  const View third{BufferId{0}, 30, {3, 5}, {5, 1}};
  EXPECT_TRUE(may_overlap(stack, second));
  EXPECT_FALSE(may_overlap(second, third));
}

TEST(ViewOverlap, SeesThroughRepeatedElements) {
  const View repeated{BufferId{0}, 0, {8, 4}, {0, 1}};
  EXPECT_TRUE(may_overlap(repeated, View{BufferId{0}, 3, {1}, {1}}));
  EXPECT_FALSE(may_overlap(repeated, View{BufferId{0}, 4, {1}, {1}}));
}

}  // namespace
}  // namespace cohort
