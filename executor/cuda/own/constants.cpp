// Constant operands, as the kernels read them.

#include <algorithm>
#include <cmath>

#include "executor/cuda/own/lowering.hpp"
#include "executor/cuda/own/number.hpp"
#include "executor/reference/call.hpp"
#include "executor/reference/tensor_ref.hpp"

namespace cohort::cuda::own {
namespace {

/// [4H, I] as [I, 4H].
std::vector<float> transposed(const std::vector<float>& values, const Shape& shape) {
  std::vector<float> result(values.size());
  const auto rows = static_cast<std::size_t>(shape[0]);
  const auto columns = static_cast<std::size_t>(shape[1]);
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t c = 0; c < columns; ++c) result[c * rows + r] = values[r * columns + c];
  }
  return result;
}

/// [K, C, R, S] as [K, R, S, C].
std::vector<float> channels_moved_last(const std::vector<float>& values, const Shape& shape) {
  std::vector<float> result(values.size());
  const auto channels = static_cast<std::size_t>(shape[1]);
  const auto filters = static_cast<std::size_t>(shape[0]);
  const std::size_t area = values.size() / (channels * filters);
  for (std::size_t k = 0; k < filters; ++k) {
    for (std::size_t c = 0; c < channels; ++c) {
      for (std::size_t i = 0; i < area; ++i)
        result[(k * area + i) * channels + c] = values[(k * channels + c) * area + i];
    }
  }
  return result;
}

/// Rows of I values, each put in the order of the input's memory.
std::vector<float> rows_reordered(const std::vector<float>& values, const std::vector<std::int64_t>& order) {
  std::vector<float> result(values.size());
  for (std::size_t row = 0; row < values.size(); row += order.size()) {
    for (std::size_t i = 0; i < order.size(); ++i) result[row + i] = values[row + static_cast<std::size_t>(order[i])];
  }
  return result;
}

/// Indices [O, n, W] into `extent` entries as [O, 2, n, W]: in ascending order, from 0 on, and the numbers that they
/// had.
std::vector<float> sorted_indices(const std::vector<float>& values, const Shape& shape, std::int64_t extent) {
  const auto count = static_cast<std::size_t>(shape[1]), width = static_cast<std::size_t>(shape[2]);
  const auto bits = [](std::size_t value) { return float_of(static_cast<std::uint32_t>(value)); };
  std::vector<float> result(2 * values.size());
  std::vector<std::pair<std::int64_t, std::size_t>> column(count);
  for (std::size_t begin = 0; begin < values.size(); begin += count * width) {
    for (std::size_t w = 0; w < width; ++w) {
      for (std::size_t j = 0; j < count; ++j) {
        const std::int64_t index = reference::whole(values[begin + j * width + w]);
        column[j] = {index < 0 ? index + extent : index, j};
      }
      std::sort(column.begin(), column.end());
      float* const to = result.data() + 2 * begin + w;
      for (std::size_t j = 0; j < count; ++j) {
        to[j * width] = bits(static_cast<std::size_t>(column[j].first));
        to[(count + j) * width] = bits(column[j].second);
      }
    }
  }
  return result;
}

/// Factor (input 1) or addend (input 2) per channel.
std::vector<float> folded(const BatchNormalization& op, std::size_t input,
                          std::span<const std::vector<float>> weights) {
  std::vector<float> result;
  for (std::size_t c = 0; c < weights[0].size(); ++c) {
    const double factor = static_cast<double>(weights[0][c]) /
                          std::sqrt(static_cast<double>(weights[3][c]) + static_cast<double>(op.epsilon));
    const double addend = static_cast<double>(weights[1][c]) - static_cast<double>(weights[2][c]) * factor;
    result.push_back(static_cast<float>(input == 1 ? factor : addend));
  }
  return result;
}

/// Filters of a convolution that is computed by neighbouring channels.
bool has_channels_last(const OpCall& call, std::size_t input) {
  const bool filters =
      std::holds_alternative<Convolution>(call.attributes) || std::holds_alternative<ConvTranspose>(call.attributes);
  return filters && input == 1 && channels_last(call.outputs[0].shape, call.outputs[0].strides);
}

/// Matrices of recurrent layers, whose columns then lie together.
bool is_transposed(const OpCall& call, std::size_t input) {
  const bool recurrent =
      std::holds_alternative<Lstm>(call.attributes) || std::holds_alternative<Recurrent>(call.attributes);
  return recurrent && (input == 1 || input == 2);
}

}  // namespace

bool is_folded(const OpCall& call) {
  return std::holds_alternative<BatchNormalization>(call.attributes) &&
         std::all_of(call.inputs.begin() + 1, call.inputs.begin() + static_cast<std::ptrdiff_t>(own_input_count(call)),
                     [](const Operand& operand) { return std::holds_alternative<WeightView>(operand); });
}

std::vector<std::int64_t> memory_order(const View& view, std::size_t first) {
  std::vector<std::pair<std::int64_t, std::int64_t>> places;  // offset, logical position
  const Shape shape(view.shape.begin() + static_cast<std::ptrdiff_t>(first), view.shape.end());
  const Shape strides(view.strides.begin() + static_cast<std::ptrdiff_t>(first), view.strides.end());
  std::int64_t logical = 0;
  reference::for_each_index<1>(shape, {strides}, [&](const auto& at) { places.emplace_back(at[0], logical++); });
  std::sort(places.begin(), places.end());
  std::vector<std::int64_t> order;
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (places[i].first != static_cast<std::int64_t>(i)) return {};
    order.push_back(places[i].second);
  }
  return order;
}

std::vector<float> packed(const OpCall& call, std::size_t input, std::span<const std::vector<float>> weights) {
  const auto before = std::count_if(call.inputs.begin(), call.inputs.begin() + static_cast<std::ptrdiff_t>(input),
                                    [](const Operand& each) { return std::holds_alternative<WeightView>(each); });
  const std::vector<float>& values = weights[static_cast<std::size_t>(before)];
  const Shape& shape = shape_of(call.inputs[input]);
  if (const auto* const normalization = std::get_if<BatchNormalization>(&call.attributes))
    return !is_folded(call) ? values : input < 3 ? folded(*normalization, input, weights) : std::vector<float>{};
  if (std::holds_alternative<Scatter>(call.attributes) && input == 1)
    return sorted_indices(values, shape, call.outputs[0].shape[1]);
  if (has_channels_last(call, input)) return channels_moved_last(values, shape);
  if (const auto* const gemm = std::get_if<Gemm>(&call.attributes); gemm != nullptr && input == 1)
    return rows_reordered(values, memory_order(std::get<View>(call.inputs[0]), gemm->stacked ? 2 : 1));
  if (is_transposed(call, input)) return transposed(values, {shape[shape.size() - 2], shape.back()});
  return values;
}

Shape packed_strides(const OpCall& call, std::size_t input) {
  const Shape& shape = shape_of(call.inputs[input]);
  Shape strides = reference::row_major_strides(shape);
  if (std::holds_alternative<Scatter>(call.attributes) && input == 1) {
    strides[0] *= 2;
  } else if (has_channels_last(call, input)) {
    for (std::size_t d = 2; d < shape.size(); ++d) strides[d] *= shape[1];
    strides[1] = 1;
  } else if (is_transposed(call, input)) {
    strides[shape.size() - 2] = 1;
    strides.back() = shape[shape.size() - 2];
  }
  return strides;
}

std::vector<std::byte> bytes_of(const std::vector<float>& values, DataType type) {
  std::vector<std::byte> bytes(values.size() * static_cast<std::size_t>(element_bytes(type)));
  with_type(type, [&](auto number) {
    for (std::size_t i = 0; i < values.size(); ++i)
      store<decltype(number)>(bytes.data(), static_cast<std::int64_t>(i), values[i]);
  });
  return bytes;
}

}  // namespace cohort::cuda::own
