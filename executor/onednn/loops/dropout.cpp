// Dropout, whose random numbers are drawn as they are needed: many blocks of four side by side.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>

#include "executor/device_error.hpp"
#include "executor/onednn/loops/own_way.hpp"
#include "executor/onednn/loops/parallel.hpp"
#include "executor/onednn/loops/vector.hpp"
#include "executor/reference/tensor_ref.hpp"
#include "models/random_bits.hpp"

namespace cohort::onednn {
namespace {

/// Blocks drawn at once.
constexpr std::int64_t kBlocks = 64;
constexpr std::int64_t kDrawn = 4 * kBlocks;

/// The bits of elements 4 * block to 4 * (block + kBlocks) - 1, as random_block() has them.
COHORT_VECTORS void draw(const RandomKey& key, std::uint32_t salt, std::uint64_t block, std::uint32_t* bits) {
#pragma omp simd
  for (std::int64_t i = 0; i < kBlocks; ++i) {
    const std::uint64_t at = block + static_cast<std::uint64_t>(i);
    std::uint32_t a = static_cast<std::uint32_t>(at), b = static_cast<std::uint32_t>(at >> 32), c = salt, d = key.step;
    std::uint32_t low = key.seed_low, high = key.seed_high ^ key.stream;
    for (int round = 0; round < 10; ++round) {
      const std::uint64_t first = std::uint64_t{0xD2511F53U} * a, second = std::uint64_t{0xCD9E8D57U} * c;
      a = static_cast<std::uint32_t>(second >> 32) ^ b ^ low;
      b = static_cast<std::uint32_t>(second);
      c = static_cast<std::uint32_t>(first >> 32) ^ d ^ high;
      d = static_cast<std::uint32_t>(first);
      low += 0x9E3779B9U;
      high += 0xBB67AE85U;
    }
    bits[4 * i] = a;
    bits[4 * i + 1] = b;
    bits[4 * i + 2] = c;
    bits[4 * i + 3] = d;
  }
}

/// Keeps or drops `count` elements, at steps of x and y.
COHORT_VECTORS void drop(const std::uint32_t* bits, float rate, std::int64_t count, const float* x, float* y) {
  const float factor = 1.0F / (1.0F - rate);
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) y[i] = is_kept(bits[i], rate) ? x[i] * factor : 0.0F;
}

void drop_at_steps(const std::uint32_t* bits, float rate, std::int64_t count, const float* x, std::int64_t x_step,
                   float* y, std::int64_t y_step) {
  const float factor = 1.0F / (1.0F - rate);
  for (std::int64_t i = 0; i < count; ++i) y[i * y_step] = is_kept(bits[i], rate) ? x[i * x_step] * factor : 0.0F;
}

/// A member's tensor, walked in logical order, by which elements are counted.
class Dropper {
 public:
  Dropper(const Shape& shape, const Shape& x, const Shape& y, std::uint32_t salt)
      : walk_(shape, {x, y}), salt_(salt), count_(element_count(shape)) {
    if (walk_.extents.empty()) {
      walk_.extents = {1};
      walk_.steps = {Shape{1}, Shape{1}};
    }
  }

  [[nodiscard]] std::int64_t count() const { return count_; }

  /// Elements [begin, end).
  void run(const RandomKey& key, float rate, std::int64_t begin, std::int64_t end, const float* x, float* y) const {
    std::array<std::uint32_t, kDrawn> bits{};
    const std::int64_t x_step = walk_.steps[0].back(), y_step = walk_.steps[1].back();
    while (begin < end) {
      const std::int64_t block = begin / 4;
      draw(key, salt_, static_cast<std::uint64_t>(block), bits.data());
      const std::int64_t drawn_end = std::min(end, 4 * block + kDrawn);
      while (begin < drawn_end) {
        const Place at = place(begin);
        const std::int64_t count = std::min(at.left, drawn_end - begin);
        const std::uint32_t* const from = bits.data() + (begin - 4 * block);
        if (x_step == 1 && y_step == 1) {
          drop(from, rate, count, x + at.x, y + at.y);
        } else {
          drop_at_steps(from, rate, count, x + at.x, x_step, y + at.y, y_step);
        }
        begin += count;
      }
    }
  }

 private:
  struct Place {
    std::int64_t x, y, left;  ///< left: elements of the run from here on
  };
  [[nodiscard]] Place place(std::int64_t element) const {
    Place at{0, 0, 0};
    for (std::size_t d = walk_.extents.size(); d-- > 0;) {
      const std::int64_t index = element % walk_.extents[d];
      element /= walk_.extents[d];
      if (d + 1 == walk_.extents.size()) at.left = walk_.extents[d] - index;
      at.x += index * walk_.steps[0][d];
      at.y += index * walk_.steps[1][d];
    }
    return at;
  }

  reference::Walk<2> walk_;
  std::uint32_t salt_;
  std::int64_t count_;
};

void check_rate(float rate) {
  if (!(rate >= 0 && rate < 1))
    throw DeviceError(fmt::format("Dropout: rate must be at least 0 and below 1, not {}", rate));
}

RandomKey key_of(const float* from) {
  const auto word = [&](std::size_t i) { return std::bit_cast<std::uint32_t>(from[i]); };
  return {word(0), word(1), word(2), word(3)};
}

}  // namespace

OwnWays own_ways(const Dropout& op, const OpCall& call, int threads) {
  const View x = view_of(call, 0), rate = view_of(call, 1), key = view_of(call, 2), &y = call.outputs[0];
  if (!call.post_ops.empty() || element_count(y.shape) == 0 || key.strides.back() != 1) return {};
  const std::int64_t members = op.stacked ? y.shape[0] : 1;
  const auto own = [&](const Shape& all) { return Shape(all.begin() + (op.stacked ? 1 : 0), all.end()); };
  const auto step = [&](const View& view) { return members > 1 ? view.strides[0] : 0; };
  const Dropper dropper(own(y.shape), own(x.strides), own(y.strides), op.salt);
  const std::int64_t x_step = step(x), rate_step = step(rate), key_step = step(key), y_step = step(y);
  // Drawing costs as much as moving some elements more.
  return {{[=](const HostArguments& arguments) {
    for (std::int64_t m = 0; m < members; ++m) check_rate(arguments.inputs[1][m * rate_step]);
    in_parallel(threads, members * dropper.count(), 4, [&](std::int64_t begin, std::int64_t end) {
      while (begin < end) {
        const std::int64_t m = begin / dropper.count(), first = m * dropper.count();
        const std::int64_t until = std::min(dropper.count(), end - first);
        dropper.run(key_of(arguments.inputs[2] + m * key_step), arguments.inputs[1][m * rate_step], begin - first,
                    until, arguments.inputs[0] + m * x_step, arguments.outputs[0] + m * y_step);
        begin = first + until;
      }
    });
  }}};
}

}  // namespace cohort::onednn
