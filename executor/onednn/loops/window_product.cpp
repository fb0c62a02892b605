// Convolutions as a matrix product: the windows of some positions at a time become rows or columns of a matrix, which
// is multiplied by the kernels. The library lacks kernels for long windows over few channels, such as filter banks and
// resampling, and takes plain loops for them; along one dimension it may have a slow product only, and there
// line_convolution.hpp has another way, which stands before this one.

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "executor/onednn/loops/line_convolution.hpp"
#include "executor/onednn/loops/padded_line.hpp"
#include "executor/onednn/loops/parallel.hpp"
#include "executor/onednn/loops/product.hpp"
#include "executor/onednn/loops/row_steps.hpp"
#include "executor/onednn/loops/vector.hpp"
#include "executor/onednn/operands.hpp"
#include "executor/reference/tensor_ref.hpp"
#include "models/compute/window_loops.hpp"

namespace cohort::onednn {
namespace {

/// Floats of the windows and results that are in work at once. Fewer would lie nearer, but for each chunk the library
/// packs the kernels once more.
constexpr std::int64_t kChunk = 192 * 1024;
constexpr std::int64_t kLeastRows = 16;
/// Kernels up to which windows are read by dot products, which need no copy of those that lie in one piece.
constexpr std::int64_t kFewKernels = 8;

/// The windows of a convolution's positions, as rows or columns of a matrix.
class Windows {
 public:
  Windows(const Convolution& op, const View& x, const View& y)
      : window_(reference::window3(op.window)),
        x_(reference::with_three_spatial(reference::ConstTensor{nullptr, x.shape, x.strides})),
        y_(reference::with_three_spatial(reference::ConstTensor{nullptr, y.shape, y.strides}).shape),
        channels_(x.shape[1] / op.groups),
        channels_last_(x.shape[1] > 1 && x.strides[1] == 1) {}

  /// Whether a row holds tap by tap all channels, instead of channel by channel all taps.
  [[nodiscard]] bool channels_last() const { return channels_last_; }
  /// Whether rows are made of so short runs of memory that it is faster to copy many positions of one tap at a time.
  [[nodiscard]] bool has_short_lines() const {
    return !channels_last_ && window_.kernel[2] < kLanes && row_length() >= kLanes;
  }
  [[nodiscard]] std::int64_t taps() const { return window_.kernel[0] * window_.kernel[1] * window_.kernel[2]; }
  [[nodiscard]] std::int64_t inner() const { return channels_ * taps(); }
  [[nodiscard]] std::int64_t positions() const { return y_[0] * y_[2] * y_[3] * y_[4]; }
  /// Positions side by side along the last dimension.
  [[nodiscard]] std::int64_t row_length() const { return y_[4]; }

  /// Elements from one window to the next along the last dimension, where each lies in one piece as a row would; 0
  /// where they have to be copied. Dilation and padding tear them.
  [[nodiscard]] std::int64_t distance_in_place() const {
    const bool in_one_piece = window_.kernel[0] == 1 && window_.kernel[1] == 1 && window_.dilation[2] == 1 &&
                              window_.pad_begin == std::array<std::int64_t, 3>{} &&
                              window_.pad_end == std::array<std::int64_t, 3>{} && channels_ == x_.shape[1] &&
                              x_.strides[4] == channels_ && (channels_ == 1 || channels_last_);
    return in_one_piece ? window_.stride[2] * channels_ : 0;
  }
  /// The window of a position that lies in place.
  [[nodiscard]] const float* in_place(const float* x, std::int64_t position) const {
    const Place at = place_of(position);
    return x + at.sample * x_.strides[0] + at.first[0] * x_.strides[2] + at.first[1] * x_.strides[3] +
           at.first[2] * x_.strides[4];
  }

  /// Copies the windows of `count` positions from `first` on, of the channels of one group, as columns: for each tap of
  /// each channel a row of `count`; zeros for what lies in the padding.
  void copy_columns(const float* x, std::int64_t first, std::int64_t count, std::int64_t group, float* columns) const {
    for (std::int64_t done = 0; done < count;) {
      const std::int64_t length = std::min(count - done, y_[4] - (first + done) % y_[4]);
      const Place at = place_of(first + done);
      const float* const sample = x + at.sample * x_.strides[0] + group * channels_ * x_.strides[1];
      float* to = columns + done;
      for_each_line(at, channels_, [&](std::int64_t offset, bool inside) {
        for (std::int64_t tap = 0; tap < window_.kernel[2]; ++tap, to += count)
          copy_padded({inside ? sample + offset : nullptr, x_.shape[4], x_.strides[4]},
                      at.first[2] + tap * window_.dilation[2], window_.stride[2], length, to);
      });
      done += length;
    }
  }

  /// Copies the window of a position, of the channels of one group; zeros for what lies in the padding.
  void copy(const float* x, std::int64_t position, std::int64_t group, float* row) const {
    const Place at = place_of(position);
    x += at.sample * x_.strides[0] + group * channels_ * x_.strides[1];
    const Run run = run_of(at.first[2]);
    const std::int64_t channels = channels_last_ ? 1 : channels_;
    for_each_line(at, channels, [&](std::int64_t offset, bool inside) {
      row = copy_run(inside ? run : Run{0, 0}, x + offset, at.first[2], row);
    });
  }

 private:
  struct Place {
    std::int64_t sample;
    std::array<std::int64_t, 3> first;  ///< element of x, which may lie in the padding
  };
  /// Taps along the last dimension that lie inside x.
  struct Run {
    std::int64_t begin, end;
  };

  [[nodiscard]] Place place_of(std::int64_t position) const {
    const std::array<std::int64_t, 3> at{position / (y_[3] * y_[4]) % y_[2], position / y_[4] % y_[3],
                                         position % y_[4]};
    Place place{position / (y_[2] * y_[3] * y_[4]), {}};
    for (std::size_t d = 0; d < 3; ++d) place.first[d] = at[d] * window_.stride[d] - window_.pad_begin[d];
    return place;
  }

  /// Calls visit(offset of its element 0, whether it lies inside x) for each line of each channel's window, in the
  /// order of a kernel's elements.
  template <class Visit>
  void for_each_line(const Place& at, std::int64_t channels, const Visit& visit) const {
    for (std::int64_t c = 0; c < channels; ++c) {
      for (std::int64_t a = 0; a < window_.kernel[0]; ++a) {
        for (std::int64_t b = 0; b < window_.kernel[1]; ++b) {
          const std::int64_t i = at.first[0] + a * window_.dilation[0], j = at.first[1] + b * window_.dilation[1];
          const bool inside = i >= 0 && i < x_.shape[2] && j >= 0 && j < x_.shape[3];
          visit(c * x_.strides[1] + i * x_.strides[2] + j * x_.strides[3], inside);
        }
      }
    }
  }

  [[nodiscard]] Run run_of(std::int64_t first) const {
    const std::int64_t gap = window_.dilation[2], taps = window_.kernel[2];
    const auto taps_before = [&](std::int64_t element) {
      return element <= first ? std::int64_t{0} : std::min(taps, (element - first + gap - 1) / gap);
    };
    return {taps_before(0), taps_before(x_.shape[4])};
  }

  /// The taps of one line of the window; returns where the next line goes.
  float* copy_run(const Run& run, const float* line, std::int64_t first, float* row) const {
    const std::int64_t width = channels_last_ ? channels_ : 1, taps = window_.kernel[2];
    const std::int64_t step = window_.dilation[2] * x_.strides[4];
    std::fill_n(row, run.begin * width, 0.0F);
    const float* const from = line + first * x_.strides[4];
    float* to = row + run.begin * width;
    if (step == width) {
      to = std::copy_n(from + run.begin * step, (run.end - run.begin) * width, to);
    } else {
      for (std::int64_t tap = run.begin; tap < run.end; ++tap) to = std::copy_n(from + tap * step, width, to);
    }
    std::fill(to, row + taps * width, 0.0F);
    return row + taps * width;
  }

  reference::Window3 window_;
  reference::ConstTensor x_;
  Shape y_;
  std::int64_t channels_;  ///< of a group
  bool channels_last_;
};

class WindowProduct {
 public:
  WindowProduct(const Convolution& op, const View& x, const View& y, RowSteps steps, int threads)
      : windows_(op, x, y),
        steps_(std::move(steps)),
        groups_(op.groups),
        kernels_(y.shape[1] / op.groups),
        distance_(kernels_ <= kFewKernels && op.groups == 1 ? windows_.distance_in_place() : 0),
        threads_(threads) {}

  [[nodiscard]] Bytes workspace() const { return Bytes{threads_ * scratch() * std::int64_t{sizeof(float)}}; }

  /// Each thread takes neighbouring positions.
  void run(const HostArguments& arguments) const {
    const std::int64_t positions = windows_.positions();
    auto* const scratches = reinterpret_cast<float*>(arguments.workspace);
    const bool worth_it = positions * windows_.inner() * kernels_ * groups_ >= kGrain;
    const std::int64_t parts = worth_it ? threads_ : 1;
    for_each_part(static_cast<int>(parts), parts, [&](std::int64_t part) {
      const std::int64_t end = positions * (part + 1) / parts;
      for (std::int64_t first = positions * part / parts; first < end;) {
        std::int64_t count = std::min(rows_at_once(), end - first);
        if (distance_ != 0) count = std::min(count, windows_.row_length() - first % windows_.row_length());
        run_rows(arguments, first, count, scratches + part * scratch());
        first += count;
      }
    });
  }

  /// w [K, C/groups, taps] as [K, taps, C/groups].
  [[nodiscard]] std::vector<float> packed(const std::vector<float>& w) const {
    const auto taps = static_cast<std::size_t>(windows_.taps());
    const std::size_t inner = static_cast<std::size_t>(windows_.inner()), channels = inner / taps;
    std::vector<float> result(w.size());
    for (std::size_t i = 0; i < w.size(); ++i) {
      const std::size_t kernel = i / inner, channel = i % inner / taps, tap = i % taps;
      result[kernel * inner + tap * channels + channel] = w[i];
    }
    return result;
  }
  [[nodiscard]] bool packs() const { return windows_.channels_last(); }

 private:
  void copy_rows(const float* x, std::int64_t first, std::int64_t count, std::int64_t group, float* copies) const {
    for (std::int64_t i = 0; i < count; ++i) windows_.copy(x, first + i, group, copies + i * windows_.inner());
  }
  [[nodiscard]] std::int64_t rows_at_once() const {
    return std::clamp(kChunk / row_floats(), kLeastRows, windows_.positions() + kLeastRows);
  }
  /// Of a position: its results, those of few kernels once more, and its window where that is copied.
  [[nodiscard]] std::int64_t row_floats() const {
    return groups_ * kernels_ + (kernels_ > kFewKernels ? 0 : kernels_) + (distance_ != 0 ? 0 : windows_.inner());
  }
  [[nodiscard]] std::int64_t scratch() const { return rows_at_once() * row_floats(); }

  void run_rows(const HostArguments& arguments, std::int64_t first, std::int64_t count, float* scratch) const {
    const std::int64_t inner = windows_.inner(), channels = groups_ * kernels_;
    float* const rows = scratch;
    float* const by_kernel = rows + rows_at_once() * channels;
    float* const copies = by_kernel + (kernels_ > kFewKernels ? 0 : rows_at_once() * kernels_);
    for (std::int64_t group = 0; group < groups_; ++group) {
      const float* const x = arguments.inputs[0];
      const Matrix kernels{arguments.inputs[1] + group * kernels_ * inner, inner, true};
      float* const to = rows + group * kernels_;
      if (kernels_ > kFewKernels) {
        const bool in_columns = windows_.has_short_lines();
        if (in_columns) {
          windows_.copy_columns(x, first, count, group, copies);
        } else {
          copy_rows(x, first, count, group, copies);
        }
        multiply({count, kernels_, inner}, {copies, in_columns ? count : inner, in_columns}, kernels, /*add=*/false, to,
                 /*threads=*/1, channels);
        continue;
      }
      Matrix windows{copies, inner, true};
      if (distance_ != 0) {
        windows = {windows_.in_place(x, first), distance_, true};
      } else {
        copy_rows(x, first, count, group, copies);
      }
      multiply({kernels_, count, inner}, {kernels.data, inner}, windows, /*add=*/false, by_kernel, /*threads=*/1);
      for (std::int64_t k = 0; k < kernels_; ++k) {
        for (std::int64_t i = 0; i < count; ++i) to[i * channels + k] = by_kernel[k * count + i];
      }
    }
    steps_.finish(arguments, rows, first, count, 0, channels);
  }

  Windows windows_;
  RowSteps steps_;
  std::int64_t groups_, kernels_;
  std::int64_t distance_;  ///< of windows in place; 0: they are copied
  int threads_;
};

}  // namespace

OwnWays stand_ins(const Convolution& op, const OpCall& call, int threads) {
  const View x = view_of(call, 0), w = view_of(call, 1), &y = call.outputs[0];
  const bool one_model = w.shape.size() == x.shape.size();
  if (!one_model || element_count(y.shape) == 0 || element_count(w.shape) == 0 || !has_dense_parameters(call))
    return {};
  OwnWays ways = line_ways(op, call, threads, has_many_registers());
  std::optional<RowSteps> steps = RowSteps::of(call);
  if (!steps) return ways;
  const auto product = std::make_shared<const WindowProduct>(op, x, y, *std::move(steps), threads);
  if (product->packs() && !is_constant(call, 1)) return ways;
  OwnWay way{[product](const HostArguments& arguments) { product->run(arguments); }, product->workspace(),
             /*leads=*/false, "loops:windows", /*stands_in=*/true};
  if (product->packs())
    way.pack = [product](std::size_t input, const std::vector<float>& values) {
      return input == 1 ? product->packed(values) : values;
    };
  ways.push_back(std::move(way));
  return ways;
}

}  // namespace cohort::onednn
