#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "comparison.hpp"
#include "executor/device_error.hpp"
#include "executor/reference/reference_kernels.hpp"

/// Loops of our own that find positions, and that take elements from positions or put them there.
namespace cohort::testing {
namespace {

TEST(OnednnLoops, FindPositionsOfExtremes) {
  for (const std::int64_t axis : {0, 1, 2}) {
    for (unsigned bits = 0; bits < 8; ++bits) {
      const ArgMax op{axis, (bits & 1U) != 0, (bits & 2U) != 0, (bits & 4U) != 0};
      CallRunner runner(with_output(op, {dense(0, {5, 30, 70})}, 1));
      expect_loops_give_same_bits(runner);
      runner.set_input(0, std::vector<float>(std::size_t{5} * 30 * 70, 1.0F));
      expect_loops_give_same_bits(runner);
    }
  }
}

TEST(OnednnLoops, FindPositionsOfSeveralInOrder) {
  for (const std::int64_t axis : {0, 1, 2}) {
    for (const bool smallest : {false, true}) {
      for (const std::int64_t count : {2, 5}) {
        CallRunner runner(with_output(ArgMax{axis, true, false, smallest, count}, {dense(0, {5, 30, 70})}, 1));
        expect_loops_give_same_bits(runner);
        std::vector<float> few(std::size_t{5} * 30 * 70);  // with many equal ones, and some that are no numbers
        for (std::size_t i = 0; i < few.size(); ++i) few[i] = i % 97 == 0 ? NAN : static_cast<float>(i * i % 7);
        runner.set_input(0, few);
        expect_loops_give_same_bits(runner);
      }
    }
  }
}

TEST(OnednnLoops, GatherEntriesThatDoNotLieInOrder) {
  const View x = dense(0, {3, 8, 5, 6});  // channels innermost
  for (const std::int64_t axis : {0, 1, 2, 3}) {
    CallRunner several(with_output(Gather{axis}, {x, dense(1, {2})}, 2));
    several.set_input(1, whole_numbers({2, -1}));
    expect_loops_give_same_bits(several);
    CallRunner table(with_output(Gather{axis}, {x, dense(1, {2, 3})}, 2));
    table.set_input(1, whole_numbers({2, -1, 0, 1, 1, -3}));
    expect_loops_give_same_bits(table);
    CallRunner many(with_output(Gather{axis}, {x, dense(1, {5, 7})}, 2));  // more of them than elements in a run
    std::vector<std::int32_t> indices(35);
    for (std::size_t i = 0; i < indices.size(); ++i) indices[i] = static_cast<std::int32_t>(i * i % 5) - 2;
    many.set_input(1, whole_numbers(indices));
    expect_loops_give_same_bits(many);
    CallRunner one(with_output(Gather{axis}, {x, dense(1, {})}, 2));
    one.set_input(1, whole_numbers({1}));
    expect_loops_give_same_bits(one);
  }
}

TEST(OnednnLoops, FindThePlacesOfMaxima) {
  const Window plane{{3, 2}, {2, 3}, {1, 0}, {1, 1}, {1, 2}};
  for (const Layout layout : {Layout::kNhwc, Layout::kNchw}) {
    for (const bool column_major : {false, true}) {
      for (const std::int64_t channels : {1, 5, 40}) {
        CallRunner runner(make_call(MaxPoolIndices{plane, false, column_major},
                                    {dense(0, {2, channels, 11, 14}, layout)}, dense(1, {2, channels, 6, 5}, layout)));
        expect_loops_give_same_bits(runner);
        std::vector<float> values(static_cast<std::size_t>(2 * channels * 11 * 14));
        for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * i % 5);  // with equal ones
        for (std::size_t i = 0; i < values.size(); i += 7) values[i] = std::numeric_limits<float>::quiet_NaN();
        runner.set_input(0, values);
        expect_loops_give_same_bits(runner);
      }
    }
  }
  const MaxPoolIndices line{{{4}, {2}, {1}, {1}, {1}}};
  expect_loops_give_same_bits(CallRunner(with_output(line, {dense(0, {3, 6, 200}, Layout::kNchw)}, 1)));
  const MaxPoolIndices volume{{{2, 2, 2}, {2, 2, 2}, {0, 0, 0}, {0, 0, 0}, {1, 1, 1}}};
  expect_loops_give_same_bits(CallRunner(with_output(volume, {dense(0, {1, 20, 6, 6, 6})}, 1)));
}

/// With indices that meet, from both ends, and enough of them that threads share the entries.
TEST(OnednnLoops, ScatterRowsAndSingleElements) {
  struct Case {
    Shape x, indices, updates;
  };
  const Case cases[] = {{{2, 50, 7}, {2, 90, 1}, {2, 90, 7}},
                        {{3, 400, 40}, {3, 31, 1}, {3, 31, 40}},
                        {{1, 20000, 1}, {1, 3000, 1}, {1, 3000, 1}},
                        {{2, 60, 80}, {2, 9, 80}, {2, 9, 80}}};
  for (const auto& [x, indices, updates] : cases) {
    std::vector<std::int32_t> entries(static_cast<std::size_t>(element_count(indices)));
    for (std::size_t i = 0; i < entries.size(); ++i)
      entries[i] = static_cast<std::int32_t>(static_cast<std::int64_t>(i * i * 7) % (2 * x[1]) - x[1]);
    const std::vector<Operand> inputs{dense(0, x, Layout::kNchw), dense(1, indices, Layout::kNchw),
                                      dense(2, updates, Layout::kNchw)};
    for (const Scatter& op : {Scatter{}, Scatter{BinaryKind::kAdd}, Scatter{BinaryKind::kMul},
                              Scatter{BinaryKind::kMin}, Scatter{BinaryKind::kMax}}) {
      CallRunner runner(make_call(op, inputs, dense(3, x, Layout::kNchw)), 1, -1, 1);
      runner.set_input(1, whole_numbers(entries));
      expect_loops_give_same_bits(runner);
    }
    CallRunner whole(make_call(Scatter{std::nullopt, ElementType::kInt32}, inputs, dense(3, x, Layout::kNchw)));
    whole.set_input(0, whole_numbers(std::vector<std::int32_t>(static_cast<std::size_t>(element_count(x)), -1)));
    whole.set_input(1, whole_numbers(entries));
    expect_loops_give_same_bits(whole);
  }
}

TEST(OnednnLoops, ScatterStopsAtAnIndexOutside) {
  for (const std::int32_t index : {3, -4}) {
    CallRunner runner(make_call(
        Scatter{},
        {dense(0, {1, 3, 2}, Layout::kNchw), dense(1, {1, 1, 1}, Layout::kNchw), dense(2, {1, 1, 2}, Layout::kNchw)},
        dense(3, {1, 3, 2}, Layout::kNchw)));
    runner.set_input(1, whole_numbers({index}));
    const auto list = onednn().alternatives(runner.call(), 1);
    ASSERT_TRUE(list.has_value()) << list.error().message;
    for (const Alternative& alternative : *list) EXPECT_THROW((void)runner.run(onednn(), alternative), DeviceError);
  }
}

TEST(OnednnLoops, GatherSingleElements) {
  std::vector<std::int32_t> indices(3 * 40);
  for (std::size_t i = 0; i < indices.size(); ++i) indices[i] = static_cast<std::int32_t>(i * 7 % 16) - 8;
  for (const Shape& shape : {Shape{3, 40}, Shape{1, 3, 8, 5}}) {  // the second lies with channels innermost
    for (const View& x : {dense(0, {8}), dense(0, {6, 8})}) {
      CallRunner runner(with_output(Gather{std::ssize(x.shape) - 1}, {x, dense(1, shape, Layout::kNchw)}, 2));
      runner.set_input(1, whole_numbers(indices));
      expect_loops_give_same_bits(runner);
    }
  }
}

}  // namespace
}  // namespace cohort::testing
