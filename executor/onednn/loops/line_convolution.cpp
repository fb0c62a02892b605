// Convolutions along one dimension of tensors that hold each channel as a line, as networks for sound and text do. The
// library multiplies copies of all windows by the kernels, or has plain loops. Here sums of some kernels at
// neighbouring positions stay in registers, while all channels and taps pass by: each is one weight times a piece of a
// line.

#include "executor/onednn/loops/line_convolution.hpp"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "executor/onednn/loops/columns.hpp"
#include "executor/onednn/loops/padded_line.hpp"
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
/// Vectors of positions that are computed together, at most.
constexpr std::int64_t kMostVectors = 3;
/// Floats of lines and sums that are in work at once, so that they stay in the second cache.
constexpr std::int64_t kChunk = std::int64_t{64} * 1024;
/// Of strided lines each phase, every stride-th element, is copied by itself: of more, windows are faster to copy.
constexpr std::int64_t kMostPhases = 8;
/// Strides of transposed convolutions, each element of which is a convolution of its own.
constexpr std::int64_t kMostParts = 64;

/// Lines of a sample's channels, padded, of which tap t at position i reads element offsets[t] + i.
struct Lines {
  const float* data;
  std::int64_t channels;
  std::int64_t distance;  ///< elements from one channel to the next
  const std::vector<std::int64_t>& offsets;
};

/// 1 to kStrip kernels, which are a strip, or two whole strips.
struct Kernels {
  const float* weights;
  const float* bias;
  std::int64_t count;
};

/// A row of sums for each kernel.
struct Sums {
  float* data;
  std::int64_t distance;  ///< from one row to the next
};

/// Sums at the positions of kVectors vectors from `position` on: bias, and what each kernel gives there. Kernels are
/// kStrips strips of kWidth.
template <std::int64_t kStrips, std::int64_t kWidth, std::int64_t kVectors>
COHORT_INLINE void compute_tile(const Lines& x, std::int64_t position, const Kernels& kernels, const Sums& sums) {
  constexpr std::int64_t kRows = kStrips * kWidth;
  const auto taps = static_cast<std::int64_t>(x.offsets.size());
  const std::int64_t strip_size = x.channels * taps * kWidth;
  float tile[static_cast<std::size_t>(kRows)][static_cast<std::size_t>(kVectors)][kLanes];
#pragma GCC unroll 8
  for (std::int64_t row = 0; row < kRows; ++row) {
#pragma GCC unroll 3
    for (std::int64_t v = 0; v < kVectors; ++v) {
#pragma omp simd
      for (std::int64_t i = 0; i < kLanes; ++i) tile[row][v][i] = kernels.bias[row];
    }
  }
  for (std::int64_t c = 0; c < x.channels; ++c) {
    for (std::int64_t tap = 0; tap < taps; ++tap) {
      const float* const from = x.data + c * x.distance + x.offsets[static_cast<std::size_t>(tap)] + position;
      const float* const weights = kernels.weights + (c * taps + tap) * kWidth;
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
    float* const to = sums.data + row * sums.distance + position;
#pragma GCC unroll 3
    for (std::int64_t v = 0; v < kVectors; ++v) {
#pragma omp simd
      for (std::int64_t i = 0; i < kLanes; ++i) to[v * kLanes + i] = tile[row][v][i];
    }
  }
}

/// The same at the first `count` positions, rounded up to whole vectors.
template <std::int64_t kStrips, std::int64_t kWidth>
COHORT_INLINE void compute_rows(const Lines& x, std::int64_t count, const Kernels& kernels, bool many_registers,
                                const Sums& sums) {
  std::int64_t position = 0;
  if (many_registers || kStrips * kWidth <= 2) {
    for (; position + kMostVectors * kLanes <= count; position += kMostVectors * kLanes)
      compute_tile<kStrips, kWidth, kMostVectors>(x, position, kernels, sums);
  }
  for (; position < count; position += kLanes) compute_tile<kStrips, kWidth, 1>(x, position, kernels, sums);
}

COHORT_VECTORS void convolve(const Lines& x, std::int64_t count, const Kernels& kernels, bool many_registers,
                             const Sums& sums) {
  if (kernels.count == kMostRows) compute_rows<2, kStrip>(x, count, kernels, many_registers, sums);
  if (kernels.count == 4) compute_rows<1, 4>(x, count, kernels, many_registers, sums);
  if (kernels.count == 3) compute_rows<1, 3>(x, count, kernels, many_registers, sums);
  if (kernels.count == 2) compute_rows<1, 2>(x, count, kernels, many_registers, sums);
  if (kernels.count == 1) compute_rows<1, 1>(x, count, kernels, many_registers, sums);
}

/// Puts elements `stride` apart.
COHORT_VECTORS void spread(const float* from, std::int64_t count, std::int64_t stride, float* to) {
  for (std::int64_t i = 0; i < count; ++i) to[i * stride] = from[i];
}

std::int64_t whole_vectors(std::int64_t count) { return (count + kLanes - 1) / kLanes * kLanes; }

std::int64_t floor_divide(std::int64_t a, std::int64_t b) { return a >= 0 ? a / b : -((b - 1 - a) / b); }

/// The lines of a tensor.
struct LineView {
  std::int64_t sample = 0, channel = 0;  ///< elements from one to the next
  std::int64_t length = 0;
};

/// Empty where the elements of a line along `axis`, counted with three spatial dimensions, do not adjoin.
std::optional<LineView> lines_of(const View& view, std::size_t axis) {
  const auto tensor = reference::with_three_spatial(reference::ConstTensor{nullptr, view.shape, view.strides});
  if (tensor.shape[axis] > 1 && tensor.strides[axis] != 1) return std::nullopt;
  return LineView{tensor.strides[0], tensor.strides[1], tensor.shape[axis]};
}

/// The one axis, of three spatial ones from 2 on, that the convolution goes along; empty where there are more, or none.
std::optional<std::size_t> axis_of(const reference::Window3& window, const View& x, const View& y) {
  const auto extents = [](const View& view) {
    return reference::with_three_spatial(reference::ConstTensor{nullptr, view.shape, view.strides}).shape;
  };
  const Shape of_x = extents(x), of_y = extents(y);
  std::optional<std::size_t> axis;
  for (std::size_t d = 0; d < 3; ++d) {
    const bool is_padded = window.pad_begin[d] != 0 || window.pad_end[d] != 0;
    if (of_x[d + 2] == 1 && of_y[d + 2] == 1 && window.kernel[d] == 1 && !is_padded) continue;
    if (axis) return std::nullopt;
    axis = d + 2;
  }
  return axis;
}

/// What both kinds of convolutions have in common: element out_stride * (first + q) + part - out_pad of y, for each
/// position q and each part, is the sum over the part's taps, if it has any, of elements in_stride * q + offset -
/// in_pad of x.
struct Geometry {
  struct Part {
    std::vector<std::int64_t> taps, offsets;
  };
  std::int64_t in_stride = 1, in_pad = 0, out_stride = 1, out_pad = 0;
  std::int64_t first = 0, positions = 0;
  std::vector<Part> parts;
};

/// Along spatial dimension `d`, of lines of y that are `length` long.
Geometry geometry_of(const reference::Window3& window, std::size_t d, std::int64_t length) {
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

Geometry transposed_geometry_of(const reference::Window3& window, std::size_t d, std::int64_t length) {
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
  /// Empty where the call is no such convolution, or is better run in another way.
  static std::optional<LineConvolution> of(const Window& window, std::int64_t groups, bool is_transposed,
                                           const OpCall& call, int threads, bool many_registers) {
    const View x = view_of(call, 0), &y = call.outputs[0];
    const reference::Window3 window3 = reference::window3(window);
    const auto axis = axis_of(window3, x, y);
    if (!axis) return std::nullopt;
    const auto x_lines = lines_of(x, *axis), y_lines = lines_of(y, *axis);
    const std::size_t d = *axis - 2;
    if (!x_lines || !y_lines || window3.kernel[d] > kChunk) return std::nullopt;
    if (is_transposed && window3.stride[d] > kMostParts) return std::nullopt;
    LineConvolution result;
    result.is_transposed_ = is_transposed;
    result.x_ = *x_lines;
    result.y_ = *y_lines;
    result.groups_ = groups;
    result.channels_ = x.shape[1] / groups;
    result.kernels_ = y.shape[1] / groups;
    result.samples_ = y.shape[0];
    result.taps_ = window3.kernel[d];
    result.geometry_ = is_transposed ? transposed_geometry_of(window3, d, result.y_.length)
                                     : geometry_of(window3, d, result.y_.length);
    result.has_bias_ = own_input_count(call) > 2;
    result.many_registers_ = many_registers;
    if (!result.add_steps(call, *axis) || !result.cut(threads)) return std::nullopt;
    return result;
  }

  [[nodiscard]] Bytes workspace() const { return Bytes{parts_ * scratch() * std::int64_t{sizeof(float)}}; }

  /// Each thread takes neighbouring positions; of few positions some kernels.
  void run(const HostArguments& arguments) const {
    const std::int64_t length = geometry_.positions, positions = samples_ * length;
    auto* const scratches = reinterpret_cast<float*>(arguments.workspace);
    for_each_part(static_cast<int>(parts_), parts_, [&](std::int64_t part) {
      const auto share = [&](std::int64_t all) { return std::pair(all * part / parts_, all * (part + 1) / parts_); };
      Chunk chunk{.last_kernel = kernels_};
      auto [first, end] = std::pair(std::int64_t{0}, positions);
      if (by_kernels_) {
        const auto [strip, last_strip] = share((kernels_ + kStrip - 1) / kStrip);
        chunk.kernel = strip * kStrip;
        chunk.last_kernel = std::min(last_strip * kStrip, kernels_);
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
    FusedStep fused;
    LineView added = {};
  };
  /// Kernels [kernel, last_kernel) of a group at positions [at, at + count) of a sample.
  struct Chunk {
    std::int64_t sample = 0, at = 0, count = 0, group = 0, kernel = 0, last_kernel = 0;
  };

  LineConvolution() = default;

  /// False where there are no loops for one of the post-ops, or lines of what is added are not dense.
  bool add_steps(const OpCall& call, std::size_t axis) {
    const auto fused = fused_steps(call);
    if (!fused) return false;
    for (const FusedStep& step : *fused) {
      const auto added = step.loops == nullptr ? lines_of(view_of(call, step.operand), axis) : LineView{};
      if (!added) return false;
      steps_.push_back({step, *added});
    }
    return true;
  }

  /// Chooses how many positions are in work at once, and finds where taps lie then. False where what is in work would
  /// be too large: of far dilation, long strides or very many channels.
  bool cut(int threads) {
    const std::int64_t stride = geometry_.in_stride, positions = samples_ * geometry_.positions;
    parts_ = positions * groups_ * kernels_ * channels_ * taps_ >= kGrain ? threads : 1;
    by_kernels_ = groups_ == 1 && kernels_ >= kMostRows * parts_ && kernels_ * taps_ > positions;
    rows_ = many_registers_ && kernels_ >= kMostRows ? kMostRows : std::min(kernels_, kStrip);
    for (const Geometry::Part& part : geometry_.parts) {
      for (const std::int64_t offset : part.offsets) {
        phases_.push_back(offset % stride);
        farthest_ = std::max(farthest_, offset / stride);
      }
    }
    std::sort(phases_.begin(), phases_.end());
    phases_.erase(std::unique(phases_.begin(), phases_.end()), phases_.end());
    if (std::ssize(phases_) > kMostPhases || farthest_ > kChunk) return false;
    const std::int64_t lines = channels_ * std::ssize(phases_), at_once = kMostVectors * kLanes;
    const std::int64_t sums = rows_ * (geometry_.out_stride + (interleaves() ? 1 : 0));
    const std::int64_t in_cache = (kChunk - lines * farthest_) / (lines + sums) / at_once * at_once;
    const std::int64_t share = by_kernels_ ? positions : (positions + parts_ - 1) / parts_;
    chunk_ = std::min(std::max(in_cache, at_once), whole_vectors(std::min(share, geometry_.positions)));
    // An odd number of cache lines: those of all channels lie in different sets of the first cache.
    line_length_ = whole_vectors(chunk_ + farthest_);
    if (line_length_ % (2 * kLanes) == 0) line_length_ += kLanes;
    for (Geometry::Part& part : geometry_.parts) {
      for (std::int64_t& offset : part.offsets) {
        const auto phase = std::find(phases_.begin(), phases_.end(), offset % stride) - phases_.begin();
        offset = phase * line_length_ + offset / stride;
      }
    }
    return scratch() <= 4 * kChunk;
  }

  [[nodiscard]] std::int64_t channel_distance() const { return std::ssize(phases_) * line_length_; }
  [[nodiscard]] bool interleaves() const { return geometry_.parts.size() > 1; }
  /// Of the sums of one kernel.
  [[nodiscard]] std::int64_t row_distance() const { return chunk_ * geometry_.out_stride; }
  [[nodiscard]] std::int64_t scratch() const {
    return channels_ * channel_distance() + rows_ * (row_distance() + (interleaves() ? chunk_ : 0));
  }

  void run_chunk(const HostArguments& arguments, const Chunk& chunk, float* scratch) const {
    const float* const x = arguments.inputs[0] + chunk.sample * x_.sample + chunk.group * channels_ * x_.channel;
    float* const rows = scratch + channels_ * channel_distance();
    for (std::int64_t c = 0; c < channels_; ++c) copy_line(x + c * x_.channel, chunk, scratch + c * channel_distance());
    for (std::int64_t kernel = chunk.kernel; kernel < chunk.last_kernel;) {
      const std::int64_t left = chunk.last_kernel - kernel, channel = chunk.group * kernels_ + kernel;
      const std::int64_t count = left >= rows_ ? rows_ : std::min(kStrip, left);
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
    float* const of_part = interleaves() ? rows + rows_ * row_distance() : rows;
    for (std::size_t part = 0; part < geometry_.parts.size(); ++part) {
      const Lines x{lines, channels_, channel_distance(), geometry_.parts[part].offsets};
      const std::int64_t inner = channels_ * std::ssize(x.offsets);
      convolve(x, chunk.count, {weights + kernel * inner, bias, count}, many_registers_, {of_part, chunk_});
      weights += kernels_ * inner;
      if (!interleaves()) continue;
      for (std::int64_t row = 0; row < count; ++row)
        spread(of_part + row * chunk_, chunk.count, geometry_.out_stride,
               rows + row * row_distance() + static_cast<std::int64_t>(part));
    }
  }

  /// The part of a channel's line that the chunk reads, with zeros for what lies in the padding.
  void copy_line(const float* x, const Chunk& chunk, float* to) const {
    const std::int64_t stride = geometry_.in_stride, length = whole_vectors(chunk.count) + farthest_;
    for (const std::int64_t phase : phases_) {
      copy_padded({x, x_.length}, stride * chunk.at + phase - geometry_.in_pad, stride, length, to);
      to += line_length_;
    }
  }

  /// Post-ops on the sums of a channel, which then go where they belong.
  void finish(const HostArguments& arguments, const Chunk& chunk, std::int64_t channel, float* row) const {
    const std::int64_t from = (geometry_.first + chunk.at) * geometry_.out_stride - geometry_.out_pad;
    const std::int64_t begin = std::max(from, std::int64_t{0});
    const std::int64_t count = std::min(from + chunk.count * geometry_.out_stride, y_.length) - begin;
    if (count <= 0) return;
    row += begin - from;
    const auto offset = [&](const LineView& lines) {
      return chunk.sample * lines.sample + channel * lines.channel + begin;
    };
    for (const auto& [fused, added] : steps_) {
      if (fused.loops == nullptr) {
        add_to(arguments.inputs[fused.operand] + offset(added), count, row);
      } else {
        fused.loops({row, 1, count, fused.activation.alpha, fused.activation.beta, row, 1});
      }
    }
    std::copy_n(row, count, arguments.outputs[0] + offset(y_));
  }

  bool is_transposed_ = false;
  Geometry geometry_;  ///< offsets: in a channel's lines
  LineView x_, y_;
  std::int64_t samples_ = 0, groups_ = 1;
  std::int64_t channels_ = 0, kernels_ = 0, taps_ = 0;  ///< of a group
  std::vector<std::int64_t> phases_;                    ///< remainders of offsets by the stride
  std::int64_t farthest_ = 0;                           ///< tap of a phase
  std::vector<Step> steps_;
  std::int64_t parts_ = 1;        ///< that threads share
  std::int64_t chunk_ = 0;        ///< positions at once, whole vectors
  std::int64_t rows_ = 0;         ///< kernels at once, at most
  std::int64_t line_length_ = 0;  ///< of a phase
  bool has_bias_ = false;
  bool by_kernels_ = false;  ///< threads share kernels
  bool many_registers_ = false;
};

OwnWays ways_of(const Window& window, std::int64_t groups, bool is_transposed, const OpCall& call, int threads,
                bool many_registers) {
  const bool one_model = shape_of(call.inputs[1]).size() == shape_of(call.inputs[0]).size();
  if (!one_model || !is_constant(call, 1) || !has_dense_parameters(call)) return {};
  if (element_count(call.outputs[0].shape) == 0 || element_count(shape_of(call.inputs[1])) == 0) return {};
  auto of_call = LineConvolution::of(window, groups, is_transposed, call, threads, many_registers);
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

bool has_many_registers() {
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__SANITIZE_THREAD__)
  return __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512vl") != 0;
#else
  return false;
#endif
}

OwnWays line_ways(const Convolution& op, const OpCall& call, int threads, bool many_registers) {
  return ways_of(op.window, op.groups, /*is_transposed=*/false, call, threads, many_registers);
}

OwnWays line_ways(const ConvTranspose& op, const OpCall& call, int threads, bool many_registers) {
  return ways_of(op.window, op.groups, /*is_transposed=*/true, call, threads, many_registers);
}

OwnWays stand_ins(const ConvTranspose& op, const OpCall& call, int threads) {
  return line_ways(op, call, threads, has_many_registers());
}

}  // namespace cohort::onednn
