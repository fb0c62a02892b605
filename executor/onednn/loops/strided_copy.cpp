#include "executor/onednn/loops/strided_copy.hpp"

#include <algorithm>

#include "executor/onednn/loops/parallel.hpp"
#include "executor/onednn/loops/vector.hpp"

namespace cohort::onednn {

namespace {

/// Runs that are copied column by column at once: few enough that what they touch stays in the nearest cache.
constexpr std::int64_t kMostRows = 128;

struct Step {
  std::int64_t x, y;
};

void copy_run(const float* x, float* y, Step step, std::int64_t count) {
  if (step.y == 1 && step.x == 1) {
    std::copy_n(x, count, y);
  } else if (step.y == 1 && step.x == 0) {
    std::fill_n(y, count, *x);
  } else {
    for (std::int64_t i = 0; i < count; ++i) y[i * step.y] = x[i * step.x];
  }
}

/// `rows` short runs, `row` apart: walking from run to run would take longer than the copies.
void copy_block(const float* x, float* y, Step row, std::int64_t rows, Step step, std::int64_t length) {
  for (std::int64_t first = 0; first < rows; first += kMostRows) {
    const std::int64_t count = std::min(kMostRows, rows - first);
    for (std::int64_t i = 0; i < length; ++i)
      copy_run(x + first * row.x + i * step.x, y + first * row.y + i * step.y, row, count);
  }
}

}  // namespace

void copy(const StridedWalk<2>& walk, int threads, const float* x, float* y) {
  const Step step{walk.run_steps()[1], walk.run_steps()[0]}, row{walk.row_steps()[1], walk.row_steps()[0]};
  const std::int64_t length = walk.run_length();
  if (length > 0 && length < kLanes && walk.rows() >= kLanes) {
    in_parallel(threads, walk.elements() / length, length, [&](std::int64_t begin, std::int64_t end) {
      walk.for_each_block(begin, end, [&](const auto& at, std::int64_t rows) {
        copy_block(x + at[1], y + at[0], row, rows, step, length);
      });
    });
    return;
  }
  walk_in_parallel(walk, threads,
                   [&](const auto& at, std::int64_t count) { copy_run(x + at[1], y + at[0], step, count); });
}

void fill(const StridedWalk<1>& walk, int threads, float value, float* y) {
  const std::int64_t step = walk.run_steps()[0];
  walk_in_parallel(walk, threads, [&](const auto& at, std::int64_t count) {
    if (step == 1) {
      std::fill_n(y + at[0], count, value);
    } else {
      for (std::int64_t i = 0; i < count; ++i) y[at[0] + i * step] = value;
    }
  });
}

}  // namespace cohort::onednn
