// Convolutions with few positions in y, as of the ends of networks, of short signals and of spectrograms: the windows
// become rows of a matrix, whose products with the kernels read these about once. The library's ways are made for many
// positions.

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "executor/onednn/loops/own_way.hpp"
#include "executor/onednn/loops/packed_product.hpp"
#include "executor/onednn/loops/parallel.hpp"
#include "executor/onednn/loops/product.hpp"
#include "executor/onednn/loops/row_steps.hpp"
#include "executor/onednn/loops/vector.hpp"
#include "executor/onednn/operands.hpp"
#include "executor/reference/call.hpp"
#include "executor/reference/tensor_ref.hpp"
#include "models/compute/window_loops.hpp"

namespace cohort::onednn {
namespace {

constexpr std::int64_t kMostPositions = 8;  // of all samples together
/// Elements of a window below which a product is mostly what is done around it.
constexpr std::int64_t kLeastInner = 32;
constexpr std::int32_t kOutside = -1;

/// Where the elements of the window at every position lie in x, in the order of a kernel's elements: for each position
/// a row; kOutside: in the padding. Empty where offsets need more than 32 bits.
std::optional<std::vector<std::int32_t>> window_offsets(const Convolution& op, const View& view, const View& out) {
  const auto x = reference::with_three_spatial(reference::ConstTensor{nullptr, view.shape, view.strides});
  const auto y = reference::with_three_spatial(reference::ConstTensor{nullptr, out.shape, out.strides});
  const reference::Window3 window = reference::window3(op.window);
  const Shape kernel{window.kernel[0] * window.kernel[1] * window.kernel[2], window.kernel[1] * window.kernel[2],
                     window.kernel[2]};
  const std::int64_t inner = x.shape[1] * kernel[0];
  std::vector<std::int32_t> offsets;
  for (std::int64_t n = 0; n < y.shape[0]; ++n) {
    for (std::int64_t p = 0; p < y.shape[2] * y.shape[3] * y.shape[4]; ++p) {
      const Shape at{p / (y.shape[3] * y.shape[4]), p / y.shape[4] % y.shape[3], p % y.shape[4]};
      const std::size_t row = offsets.size();
      offsets.resize(row + static_cast<std::size_t>(inner), kOutside);
      bool fits = true;
      reference::for_each_inside(window, at, x, {kernel[1], kernel[2], 1}, [&](std::int64_t from, std::int64_t tap) {
        for (std::int64_t c = 0; c < x.shape[1]; ++c) {
          const std::int64_t offset = n * x.strides[0] + c * x.strides[1] + from;
          fits = fits && offset <= std::numeric_limits<std::int32_t>::max();
          offsets[row + static_cast<std::size_t>(c * kernel[0] + tap)] = static_cast<std::int32_t>(offset);
        }
      });
      if (!fits) return std::nullopt;
    }
  }
  return offsets;
}

/// A convolution of this kind, as it is prepared.
struct FewPositions {
  std::int64_t positions = 0, channels = 0, inner = 0;
  std::vector<std::int32_t> windows;
  std::optional<RowSteps> steps;
  bool packed = false;  ///< kernels are constants, packed in strips
  int threads = 1;

  void run(const HostArguments& arguments) const {
    auto* const windowed = reinterpret_cast<float*>(arguments.workspace);
    float* const rows = windowed + positions * inner;
    for (std::int64_t i = 0; i < positions * inner; ++i) {
      const std::int32_t at = windows[static_cast<std::size_t>(i)];
      windowed[i] = at == kOutside ? 0.0F : arguments.inputs[0][at];
    }
    // Each thread ends what it has begun.
    const std::int64_t strips = (channels + kLanes - 1) / kLanes;
    in_parallel(threads, strips, inner * positions * kLanes, [&](std::int64_t first, std::int64_t last) {
      const std::int64_t begin = first * kLanes, end = std::min(last * kLanes, channels);
      multiply_kernels(arguments.inputs[1] + begin * inner, windowed, begin, end, rows);
      steps->finish(arguments, rows, 0, positions, begin, end);
    });
  }

 private:
  /// Products of all windows with the kernels [begin, end), of which `kernels` is the first.
  void multiply_kernels(const float* kernels, const float* windowed, std::int64_t begin, std::int64_t end,
                        float* rows) const {
    const Extents extents{positions, end - begin, inner};
    const Matrix x{windowed, inner};
    if (!packed) return multiply(extents, x, {kernels, inner, true}, false, rows + begin, /*threads=*/1, channels);
    for (std::int64_t row = 0; row < positions; ++row) std::fill_n(rows + row * channels + begin, end - begin, 0.0F);
    multiply_packed(positions, end - begin, {inner}, x, kernels, rows + begin, channels, /*threads=*/1);
  }
};

}  // namespace

OwnWays own_ways(const Convolution& op, const OpCall& call, int threads) {
  const View x = view_of(call, 0), w = view_of(call, 1), &y = call.outputs[0];
  FewPositions few;
  few.channels = y.shape[1];
  few.positions = few.channels == 0 ? 0 : element_count(y.shape) / few.channels;
  const bool one_model = w.shape.size() == x.shape.size() && op.groups == 1;
  if (!one_model || few.positions == 0 || few.positions > kMostPositions || !has_dense_parameters(call)) return {};
  few.inner = element_count(w.shape) / few.channels;
  if (few.inner < kLeastInner) return {};
  std::optional<std::vector<std::int32_t>> windows = window_offsets(op, x, y);
  std::optional<RowSteps> steps = RowSteps::of(call);
  if (!steps || !windows) return {};
  few.steps = std::move(steps);
  few.windows = *std::move(windows);
  few.packed = is_constant(call, 1);
  few.threads = threads;
  const Bytes workspace{few.positions * (few.inner + few.channels) * std::int64_t{sizeof(float)}};
  OwnWay way{[few](const HostArguments& arguments) { few.run(arguments); }, workspace, /*leads=*/false};
  if (!few.packed) return {way};
  const Packing packing{few.inner};
  way.pack = [packing, kernels = few.channels](std::size_t input, const std::vector<float>& values) {
    return input == 1 ? packing.pack(values, kernels) : values;
  };
  way.padding = packing.padding(few.channels);
  return {way};
}

}  // namespace cohort::onednn
