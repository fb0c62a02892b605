// Convolutions along one dimension of tensors that hold each channel as a line, as networks for sound and text do. The
// library multiplies copies of all windows by the kernels, or has plain loops. Here sums of some kernels at
// neighbouring positions stay in registers, while all channels and taps pass by: each is one weight times a piece of a
// line.

#include <algorithm>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "executor/onednn/loops/activation.hpp"
#include "executor/onednn/loops/columns.hpp"
#include "executor/onednn/loops/own_way.hpp"
#include "executor/onednn/loops/parallel.hpp"
#include "executor/onednn/loops/row_steps.hpp"
#include "executor/onednn/loops/vector.hpp"
#include "executor/onednn/operands.hpp"
#include "executor/reference/call.hpp"
#include "executor/reference/tensor_ref.hpp"
#include "models/compute/window_loops.hpp"

namespace cohort::onednn {
namespace {

/// Kernels whose weights lie side by side, tap by tap.
constexpr std::int64_t kStrip = 4;
/// Kernels that are computed together, at most; two strips.
constexpr std::int64_t kMostRows = 2 * kStrip;
/// Positions that are, at most.
constexpr std::int64_t kMostVectors = 3;
/// Floats of the lines that are in work at once, so that they stay in the second cache.
constexpr std::int64_t kChunk = 48 * 1024;

/// Lines of a sample's channels, padded, from the first tap of the first position in work on.
struct Lines {
  const float* data;
  std::int64_t channels, distance;           ///< elements from one channel to the next
  const std::vector<std::int64_t>& offsets;  ///< of each tap at the first position
};

/// sums[row][i] = bias[row] + what kernel `row` gives at position i. Kernels are kStrips strips of kWidth.
template <std::int64_t kStrips, std::int64_t kWidth, std::int64_t kVectors>
COHORT_INLINE void add_tile(const Lines& x, std::int64_t position, const float* w, const float* bias, float* sums,
                            std::int64_t distance) {
  constexpr std::int64_t kRows = kStrips * kWidth;
  const auto taps = static_cast<std::int64_t>(x.offsets.size());
  const std::int64_t strip_size = x.channels * taps * kWidth;
  float tile[static_cast<std::size_t>(kRows)][static_cast<std::size_t>(kVectors)][kLanes];
#pragma GCC unroll 8
  for (std::int64_t row = 0; row < kRows; ++row) {
#pragma GCC unroll 3
    for (std::int64_t v = 0; v < kVectors; ++v) {
#pragma omp simd
      for (std::int64_t i = 0; i < kLanes; ++i) tile[row][v][i] = bias[row];
    }
  }
  for (std::int64_t c = 0; c < x.channels; ++c) {
    for (std::int64_t tap = 0; tap < taps; ++tap) {
      const float* const from = x.data + c * x.distance + x.offsets[static_cast<std::size_t>(tap)] + position;
      const float* const weights = w + (c * taps + tap) * kWidth;
#pragma GCC unroll 8
      for (std::int64_t row = 0; row < kRows; ++row) {
        const float weight = weights[row / kWidth * strip_size + row % kWidth];
#pragma GCC unroll 3
        for (std::int64_t v = 0; v < kVectors; ++v) {
#pragma omp simd
          for (std::int64_t i = 0; i < kLanes; ++i) tile[row][v][i] += weight * from[v * kLanes + i];
        }
      }
    }
  }
#pragma GCC unroll 8
  for (std::int64_t row = 0; row < kRows; ++row) {
#pragma GCC unroll 3
    for (std::int64_t v = 0; v < kVectors; ++v) {
#pragma omp simd
      for (std::int64_t i = 0; i < kLanes; ++i) sums[row * distance + position + v * kLanes + i] = tile[row][v][i];
    }
  }
}

/// The same at `count` positions, rounded up to whole vectors.
template <std::int64_t kStrips, std::int64_t kWidth>
COHORT_INLINE void add_rows(const Lines& x, std::int64_t count, const float* w, const float* bias, bool many_registers,
                            float* sums, std::int64_t distance) {
  std::int64_t position = 0;
  if (many_registers || kStrips * kWidth <= 2) {
    for (; position + kMostVectors * kLanes <= count; position += kMostVectors * kLanes)
      add_tile<kStrips, kWidth, kMostVectors>(x, position, w, bias, sums, distance);
  }
  for (; position < count; position += kLanes) add_tile<kStrips, kWidth, 1>(x, position, w, bias, sums, distance);
}

/// Of `rows` kernels, which lie in one strip or two.
COHORT_VECTORS void convolve(const Lines& x, std::int64_t count, const float* w, std::int64_t rows, const float* bias,
                             bool many_registers, float* sums, std::int64_t distance) {
  if (rows == kMostRows) add_rows<2, kStrip>(x, count, w, bias, many_registers, sums, distance);
  if (rows == 4) add_rows<1, 4>(x, count, w, bias, many_registers, sums, distance);
  if (rows == 3) add_rows<1, 3>(x, count, w, bias, many_registers, sums, distance);
  if (rows == 2) add_rows<1, 2>(x, count, w, bias, many_registers, sums, distance);
  if (rows == 1) add_rows<1, 1>(x, count, w, bias, many_registers, sums, distance);
}

/// Every stride-th element of a line, side by side.
COHORT_VECTORS void gather(const float* from, std::int64_t stride, std::int64_t count, float* to) {
  if (stride == 1) {
    std::copy_n(from, count, to);
  } else if (stride == 2) {
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) to[i] = from[2 * i];
  } else {
    for (std::int64_t i = 0; i < count; ++i) to[i] = from[i * stride];
  }
}

/// The reverse.
COHORT_VECTORS void spread(const float* from, std::int64_t count, std::int64_t stride, float* to) {
  for (std::int64_t i = 0; i < count; ++i) to[i * stride] = from[i];
}

bool has_many_registers() {
#if defined(__x86_64__) && defined(__GNUC__)
  return __builtin_cpu_supports("avx512f") != 0;
#else
  return false;
#endif
}

std::int64_t whole_vectors(std::int64_t count) { return (count + kLanes - 1) / kLanes * kLanes; }

/// A tensor of three spatial dimensions of which one is long: elements between samples, and between channels.
struct LineSteps {
  std::int64_t sample = 0, channel = 0;
};

/// Empty where the elements of a line along `axis` do not adjoin.
std::optional<LineSteps> line_steps(const View& view, std::size_t axis) {
  const auto tensor = reference::with_three_spatial(reference::ConstTensor{nullptr, view.shape, view.strides});
  if (tensor.shape[axis] > 1 && tensor.strides[axis] != 1) return std::nullopt;
  return LineSteps{tensor.strides[0], tensor.strides[1]};
}

/// The one axis, of three spatial ones from 2 on, that the convolution goes along; empty where there are more, or none.
std::optional<std::size_t> axis_of(const reference::Window3& window, const Shape& x, const Shape& y) {
  std::optional<std::size_t> axis;
  for (std::size_t d = 0; d < 3; ++d) {
    const bool is_padded = window.pad_begin[d] != 0 || window.pad_end[d] != 0;
    if (x[d + 2] == 1 && y[d + 2] == 1 && window.kernel[d] == 1 && !is_padded) continue;
    if (axis) return std::nullopt;
    axis = d + 2;
  }
  return axis;
}

std::int64_t floor_divide(std::int64_t a, std::int64_t b) { return a >= 0 ? a / b : -((b - 1 - a) / b); }

/// What a convolution and a transposed one are alike: element out_stride * (q + first) + part - out_pad of y, for
/// position q and each part, is the sum over the part's taps of elements in_stride * q + offset - in_pad of x.
struct Geometry {
  struct Part {
    std::vector<std::int64_t> taps, offsets;
  };
  std::int64_t in_stride = 1, in_pad = 0, out_stride = 1, out_pad = 0;
  std::int64_t first = 0, positions = 0;
  std::vector<Part> parts;
};

Geometry geometry_of(const Convolution& /*op*/, const reference::Window3& window, std::size_t d, std::int64_t length) {
  Geometry result;
  result.in_stride = window.stride[d];
  result.in_pad = window.pad_begin[d];
  result.positions = length;
  Geometry::Part& part = result.parts.emplace_back();
  for (std::int64_t tap = 0; tap < window.kernel[d]; ++tap) {
    part.taps.push_back(tap);
    part.offsets.push_back(tap * window.dilation[d]);
  }
  return result;
}

Geometry geometry_of(const ConvTranspose& /*op*/, const reference::Window3& window, std::size_t d,
                     std::int64_t length) {
  Geometry result;
  result.out_stride = window.stride[d];
  result.out_pad = window.pad_begin[d];
  result.first = floor_divide(result.out_pad, result.out_stride);
  result.positions = floor_divide(result.out_pad + length - 1, result.out_stride) - result.first + 1;
  result.parts.resize(static_cast<std::size_t>(result.out_stride));
  const std::int64_t last = (window.kernel[d] - 1) * window.dilation[d] / result.out_stride;
  result.in_pad = last - result.first;
  for (std::int64_t tap = 0; tap < window.kernel[d]; ++tap) {
    const std::int64_t offset = tap * window.dilation[d];
    Geometry::Part& part = result.parts[static_cast<std::size_t>(offset % result.out_stride)];
    part.taps.push_back(tap);
    part.offsets.push_back(last - offset / result.out_stride);
  }
  return result;
}

class LineConvolution {
 public:
  /// Empty where the call is no such convolution.
  template <class Op>
  static std::optional<LineConvolution> of(const Op& op, const OpCall& call, int threads) {
    const View x = view_of(call, 0), &y = call.outputs[0];
    const auto shape = [](const View& view) {
      return reference::with_three_spatial(reference::ConstTensor{nullptr, view.shape, view.strides}).shape;
    };
    const reference::Window3 window = reference::window3(op.window);
    const auto axis = axis_of(window, shape(x), shape(y));
    if (!axis) return std::nullopt;
    const auto x_steps = line_steps(x, *axis), y_steps = line_steps(y, *axis);
    if (!x_steps || !y_steps) return std::nullopt;
    LineConvolution result;
    result.is_transposed_ = std::is_same_v<Op, ConvTranspose>;
    result.x_ = *x_steps;
    result.y_ = *y_steps;
    result.groups_ = op.groups;
    result.channels_ = x.shape[1] / op.groups;
    result.kernels_ = y.shape[1] / op.groups;
    result.samples_ = y.shape[0];
    result.x_length_ = shape(x)[*axis];
    result.y_length_ = shape(y)[*axis];
    result.taps_ = window.kernel[*axis - 2];
    result.geometry_ = geometry_of(op, window, *axis - 2, result.y_length_);
    result.threads_ = threads;
    result.has_bias_ = own_input_count(call) > 2;
    if (!result.add_steps(call, *axis)) return std::nullopt;
    result.cut();
    return result;
  }

  [[nodiscard]] Bytes workspace() const { return Bytes{threads_ * scratch() * std::int64_t{sizeof(float)}}; }

  /// Each thread takes neighbouring positions; of few positions some kernels.
  void run(const HostArguments& arguments) const {
    const std::int64_t length = geometry_.positions, positions = samples_ * length;
    auto* const scratches = reinterpret_cast<float*>(arguments.workspace);
    const std::int64_t parts = positions * groups_ * kernels_ * channels_ * taps_ >= kGrain ? threads_ : 1;
    for_each_part(static_cast<int>(parts), parts, [&](std::int64_t part) {
      const auto share = [&](std::int64_t all) { return std::pair(all * part / parts, all * (part + 1) / parts); };
      Chunk chunk{.last_kernel = kernels_};
      auto [first, end] = std::pair(std::int64_t{0}, positions);
      if (by_kernels_) {
        const auto [begin, last] = share(kernels_ / kMostRows);
        chunk.kernel = begin * kMostRows;
        if (part + 1 < parts) chunk.last_kernel = last * kMostRows;
      } else {
        std::tie(first, end) = share(positions);
      }
      while (first < end) {
        chunk.sample = first / length;
        chunk.at = first % length;
        chunk.count = std::min({chunk_, end - first, length - chunk.at});
        for (chunk.group = 0; chunk.group < groups_; ++chunk.group)
          run_chunk(arguments, chunk, scratches + part * scratch());
        first += chunk.count;
      }
    });
  }

  /// Kernels w [K, C/groups, taps], of a transposed convolution [C, K/groups, taps], for each group and part in strips
  /// of kStrip, the last one of as many as are left: [C/groups, taps of the part, kernels of the strip].
  [[nodiscard]] std::vector<float> packed(const std::vector<float>& w) const {
    std::vector<float> result;
    result.reserve(w.size());
    const auto at = [&](std::int64_t group, std::int64_t kernel, std::int64_t c, std::int64_t tap) {
      const std::int64_t pair =
          is_transposed_ ? (group * channels_ + c) * kernels_ + kernel : (group * kernels_ + kernel) * channels_ + c;
      return w[static_cast<std::size_t>(pair * taps_ + tap)];
    };
    for (std::int64_t group = 0; group < groups_; ++group) {
      for (const Geometry::Part& part : geometry_.parts) {
        for (std::int64_t first = 0; first < kernels_; first += kStrip) {
          for (std::int64_t c = 0; c < channels_; ++c) {
            for (const std::int64_t tap : part.taps) {
              for (std::int64_t kernel = first; kernel < std::min(first + kStrip, kernels_); ++kernel)
                result.push_back(at(group, kernel, c, tap));
            }
          }
        }
      }
    }
    return result;
  }

 private:
  struct Step {
    ActivationLoops loops = nullptr;  ///< null: adds operand `operand`
    Activation activation = {};
    std::size_t operand = 0;
    LineSteps lines = {};
  };
  /// Kernels [kernel, last_kernel) of a group at positions [at, at + count) of a sample.
  struct Chunk {
    std::int64_t sample = 0, at = 0, count = 0, group = 0, kernel = 0, last_kernel = 0;
  };

  LineConvolution() = default;

  /// False where there are no loops for one of the post-ops.
  bool add_steps(const OpCall& call, std::size_t axis) {
    for (const PostOp& post_op : call.post_ops) {
      Step step;
      if (const auto* const add = std::get_if<AddOperand>(&post_op)) {
        const auto lines = line_steps(view_of(call, add->operand), axis);
        if (!lines) return false;
        step.operand = add->operand;
        step.lines = *lines;
      } else {
        step.activation = std::get<Activation>(post_op);
        step.loops = activation_loops(step.activation);
        if (step.loops == nullptr) return false;
      }
      steps_.push_back(step);
    }
    return true;
  }

  /// Chooses how many positions are in work at once, and finds where taps lie then: of strided lines each phase, every
  /// stride-th element, lies by itself.
  void cut() {
    const std::int64_t stride = geometry_.in_stride;
    std::int64_t farthest = 0;
    for (const Geometry::Part& part : geometry_.parts) {
      for (const std::int64_t offset : part.offsets) {
        phases_.push_back(offset % stride);
        farthest = std::max(farthest, offset / stride);
      }
    }
    std::sort(phases_.begin(), phases_.end());
    phases_.erase(std::unique(phases_.begin(), phases_.end()), phases_.end());
    const std::int64_t positions = samples_ * geometry_.positions, at_once = kMostVectors * kLanes;
    by_kernels_ = groups_ == 1 && kernels_ >= kMostRows * threads_ && kernels_ * taps_ > positions;
    const std::int64_t most = by_kernels_ ? geometry_.positions : (positions + threads_ - 1) / threads_;
    const std::int64_t in_cache = kChunk / (channels_ * std::ssize(phases_)) / at_once;
    chunk_ = std::min(std::max(in_cache, std::int64_t{1}) * at_once, whole_vectors(most));
    line_length_ = chunk_ + farthest;
    for (Geometry::Part& part : geometry_.parts) {
      for (std::int64_t& offset : part.offsets) {
        const auto phase = std::find(phases_.begin(), phases_.end(), offset % stride) - phases_.begin();
        offset = phase * line_length_ + offset / stride;
      }
    }
  }

  [[nodiscard]] std::int64_t channel_distance() const { return std::ssize(phases_) * line_length_; }
  [[nodiscard]] bool interleaves() const { return geometry_.parts.size() > 1; }
  /// Of the sums of one kernel.
  [[nodiscard]] std::int64_t row_distance() const { return chunk_ * geometry_.out_stride; }
  [[nodiscard]] std::int64_t scratch() const {
    return channels_ * channel_distance() + kMostRows * (row_distance() + (interleaves() ? chunk_ : 0));
  }

  void run_chunk(const HostArguments& arguments, const Chunk& chunk, float* scratch) const {
    const float* const x = arguments.inputs[0] + chunk.sample * x_.sample + chunk.group * channels_ * x_.channel;
    float* const rows = scratch + channels_ * channel_distance();
    for (std::int64_t c = 0; c < channels_; ++c) copy_line(x + c * x_.channel, chunk, scratch + c * channel_distance());
    for (std::int64_t kernel = chunk.kernel; kernel < chunk.last_kernel;) {
      const std::int64_t left = chunk.last_kernel - kernel, channel = chunk.group * kernels_ + kernel;
      const std::int64_t count = many_registers_ && left >= kMostRows ? kMostRows : std::min(kStrip, left);
      sum(arguments, chunk, kernel, count, scratch, rows);
      for (std::int64_t row = 0; row < count; ++row)
        finish(arguments, chunk, channel + row, rows + row * row_distance());
      kernel += count;
    }
  }

  /// Rows of sums, one for each of `count` kernels from `kernel` on.
  void sum(const HostArguments& arguments, const Chunk& chunk, std::int64_t kernel, std::int64_t count,
           const float* lines, float* rows) const {
    const float no_bias[kMostRows] = {};
    const float* const bias = has_bias_ ? arguments.inputs[2] + chunk.group * kernels_ + kernel : no_bias;
    const float* weights = arguments.inputs[1] + chunk.group * kernels_ * channels_ * taps_;
    float* const of_part = interleaves() ? rows + kMostRows * row_distance() : rows;
    for (std::size_t part = 0; part < geometry_.parts.size(); ++part) {
      const Lines x{lines, channels_, channel_distance(), geometry_.parts[part].offsets};
      const std::int64_t inner = channels_ * std::ssize(x.offsets);
      convolve(x, chunk.count, weights + kernel * inner, count, bias, many_registers_, of_part, chunk_);
      weights += kernels_ * inner;
      if (!interleaves()) continue;
      for (std::int64_t row = 0; row < count; ++row)
        spread(of_part + row * chunk_, chunk.count, geometry_.out_stride,
               rows + row * row_distance() + static_cast<std::int64_t>(part));
    }
  }

  /// The part of a channel's line that the chunk reads, with zeros for what lies in the padding.
  void copy_line(const float* x, const Chunk& chunk, float* to) const {
    const std::int64_t stride = geometry_.in_stride, length = line_length_ - chunk_ + whole_vectors(chunk.count);
    for (const std::int64_t phase : phases_) {
      // Element i of the phase is element stride * i + first of x.
      const std::int64_t first = stride * chunk.at + phase - geometry_.in_pad;
      const auto elements_before = [&](std::int64_t place) {
        return place <= first ? std::int64_t{0} : std::min(length, (place - first + stride - 1) / stride);
      };
      const std::int64_t begin = elements_before(0), end = elements_before(x_length_);
      std::fill(to, to + begin, 0.0F);
      if (begin < end) gather(x + first + begin * stride, stride, end - begin, to + begin);
      std::fill(to + end, to + length, 0.0F);
      to += line_length_;
    }
  }

  /// Post-ops on the sums of a channel, which then go where they belong.
  void finish(const HostArguments& arguments, const Chunk& chunk, std::int64_t channel, float* row) const {
    const std::int64_t from = (geometry_.first + chunk.at) * geometry_.out_stride - geometry_.out_pad;
    const std::int64_t begin = std::max(from, std::int64_t{0});
    const std::int64_t count = std::min(from + chunk.count * geometry_.out_stride, y_length_) - begin;
    if (count <= 0) return;
    row += begin - from;
    const auto offset = [&](const LineSteps& lines) {
      return chunk.sample * lines.sample + channel * lines.channel + begin;
    };
    for (const Step& step : steps_) {
      if (step.loops == nullptr) {
        add_to(arguments.inputs[step.operand] + offset(step.lines), count, row);
      } else {
        step.loops({row, 1, count, step.activation.alpha, step.activation.beta, row, 1});
      }
    }
    std::copy_n(row, count, arguments.outputs[0] + offset(y_));
  }

  bool is_transposed_ = false;
  Geometry geometry_;  ///< offsets: in a channel's lines
  LineSteps x_, y_;
  std::int64_t samples_ = 0, groups_ = 1;
  std::int64_t channels_ = 0, kernels_ = 0, taps_ = 0;  ///< of a group
  std::int64_t x_length_ = 0, y_length_ = 0;
  std::vector<std::int64_t> phases_;  ///< remainders of offsets by the stride
  std::vector<Step> steps_;
  std::int64_t chunk_ = 0;        ///< positions at once, whole vectors
  std::int64_t line_length_ = 0;  ///< of a phase
  bool has_bias_ = false;
  bool by_kernels_ = false;  ///< threads share kernels
  bool many_registers_ = has_many_registers();
  int threads_ = 1;
};

template <class Op>
OwnWays ways_of(const Op& op, const OpCall& call, int threads) {
  const bool one_model = shape_of(call.inputs[1]).size() == shape_of(call.inputs[0]).size();
  if (!one_model || !is_constant(call, 1) || !has_dense_parameters(call)) return {};
  if (element_count(call.outputs[0].shape) == 0 || element_count(shape_of(call.inputs[1])) == 0) return {};
  auto of_call = LineConvolution::of(op, call, threads);
  if (!of_call) return {};
  const auto convolution = std::make_shared<const LineConvolution>(*std::move(of_call));
  OwnWay way{[convolution](const HostArguments& arguments) { convolution->run(arguments); }, convolution->workspace(),
             /*leads=*/false, "loops:lines", /*stands_in=*/true};
  way.pack = [convolution](std::size_t input, const std::vector<float>& values) {
    return input == 1 ? convolution->packed(values) : values;
  };
  return {std::move(way)};
}

}  // namespace

OwnWays line_ways(const Convolution& op, const OpCall& call, int threads) { return ways_of(op, call, threads); }

OwnWays stand_ins(const ConvTranspose& op, const OpCall& call, int threads) { return ways_of(op, call, threads); }

}  // namespace cohort::onednn
