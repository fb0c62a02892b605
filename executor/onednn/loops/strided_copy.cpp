#include "executor/onednn/loops/strided_copy.hpp"

#include <algorithm>

#include "executor/onednn/loops/parallel.hpp"

namespace cohort::onednn {

void copy(const StridedWalk<2>& walk, int threads, const float* x, float* y) {
  const auto [to_step, from_step] = walk.run_steps();
  walk_in_parallel(walk, threads, [&, to_step = to_step, from_step = from_step](const auto& at, std::int64_t count) {
    float* const to = y + at[0];
    const float* const from = x + at[1];
    if (to_step == 1 && from_step == 1) {
      std::copy_n(from, count, to);
    } else if (to_step == 1 && from_step == 0) {
      std::fill_n(to, count, *from);
    } else {
      for (std::int64_t i = 0; i < count; ++i) to[i * to_step] = from[i * from_step];
    }
  });
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
