#include "executor/onednn/eight_bits.hpp"

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <utility>

#include "executor/device_error.hpp"
#include "executor/onednn/loops/activation.hpp"
#include "executor/onednn/loops/parallel.hpp"
#include "executor/onednn/loops/quantize.hpp"
#include "executor/onednn/operands.hpp"
#include "executor/onednn/windows.hpp"
#include "executor/reference/call.hpp"
#include "models/eight_bits.hpp"

namespace cohort::onednn {
namespace {

using DataType = dnnl::memory::data_type;

/// Products of the largest levels that an int32 can sum.
constexpr std::int64_t kMostProducts = INT32_MAX / (255 * 128);

std::vector<float> known_steps(const std::vector<float>& w, std::int64_t outputs) {
  std::vector<float> steps = steps_of_rows(w, outputs);
  if (steps.empty()) throw DeviceError("weights are not those of an 8-bit product: no number divides a row of them");
  return steps;
}

std::vector<float> levels_of_rows(std::vector<float> w, std::int64_t outputs) {
  const std::vector<float> steps = known_steps(w, outputs);
  const std::size_t length = w.size() / steps.size();
  for (std::size_t i = 0; i < w.size(); ++i) w[i] = std::nearbyint(w[i] / steps[i / length]);
  return w;
}

/// A product of whole numbers: y[o] = scale[o] * (sum of products + bias[o]).
struct WholeProduct {
  EightBits bits;
  std::int64_t outputs = 0;
  bool is_biased = false;
  float divisor = 1;  ///< of y: the step in which it is quantised

  [[nodiscard]] std::vector<float> scales(const Constants& constants) const {
    std::vector<float> steps = known_steps(constants(1), outputs);
    for (float& step : steps) step = step * bits.step / divisor;
    return steps;
  }

  /// With what the sums lack by x being counted from `from` on.
  [[nodiscard]] std::vector<float> bias(const Constants& constants) const {
    const std::vector<float> factors = scales(constants);
    const std::vector<float> levels = levels_of_rows(constants(1), outputs);
    const std::size_t length = levels.size() / factors.size();
    std::vector<float> result;
    for (std::size_t row = 0; row < factors.size(); ++row) {
      const std::span<const float> of_row = std::span(levels).subspan(row * length, length);
      const double lack = std::accumulate(of_row.begin(), of_row.end(), 0.0) * bits.from;
      const double own = is_biased ? static_cast<double>(constants(2)[row]) / divisor / factors[row] : 0.0;
      result.push_back(static_cast<float>(lack + own));
    }
    return result;
  }
};

/// The call's product, and what is left to do to its result.
struct Parts {
  WholeProduct product;
  std::optional<PostOps> post_ops;
};

Parts parts_of(const EightBits& bits, const OpCall& call, std::int64_t outputs, const Presentation& present) {
  Parts parts{{bits, outputs, own_input_count(call) == 3}, {}};
  OpCall rest = call;
  dnnl::post_ops first;
  const auto* const next = call.post_ops.empty() ? nullptr : std::get_if<Activation>(&call.post_ops[0]);
  if (next != nullptr && next->kind == ActivationKind::kFakeQuantize) {
    parts.product.divisor = next->alpha;
    append_levels(*next, first);
    rest.post_ops.erase(rest.post_ops.begin());
  }
  parts.post_ops = make_post_ops(rest, present, first);
  return parts;
}

dnnl::primitive_attr with_scales(dnnl::primitive_attr attributes, const std::vector<float>& scales) {
  constexpr int kByOutput = 1 << 1;
  attributes.set_output_scales(kByOutput, scales);
  return attributes;
}

/// Bindings of w, and of the bias where there is one, to what lies as `kernel` and `bias` say.
std::vector<Binding> bind_constants(const WholeProduct& product, const Descriptor& kernel, const Descriptor& bias,
                                    Rearrange arrange) {
  std::vector<Binding> bindings = {bind_input(DNNL_ARG_WEIGHTS, 1, kernel)};
  bindings[0].rearrange = [outputs = product.outputs, arrange = std::move(arrange)](const std::vector<float>& w) {
    return levels_of_rows(arrange ? arrange(w) : w, outputs);
  };
  if (!bias) return bindings;
  bindings.push_back(bind_input(DNNL_ARG_BIAS, 1, bias));
  bindings[1].made_of = [product](const Constants& constants) { return product.bias(constants); };
  return bindings;
}

/// The first implementation of `descriptor_for(scales)`, where it loses nothing. The only one: whether oneDNN 2.6 lists
/// others, too, depends on more than the call (with the address sanitizer they are there at first, and then not).
template <class PrimitiveDescriptor>
Implementations lossless(const std::function<PrimitiveDescriptor(const std::vector<float>& scales)>& descriptor_for,
                         const std::string& prefix, const WholeProduct& product, const std::vector<Binding>& bindings) {
  const PrimitiveDescriptor descriptor =
      descriptor_for(std::vector<float>(static_cast<std::size_t>(product.outputs), 0.5F));
  if (!descriptor) return {};
  const std::string name = descriptor.impl_info_str();
  if (name.find("vnni") == std::string::npos && name.find("amx") == std::string::npos) return {};
  const auto scaled = [descriptor_for, name](const std::vector<float>& scales) -> dnnl::primitive_desc_base {
    const PrimitiveDescriptor other = descriptor_for(scales);
    if (!other || name != other.impl_info_str()) throw DeviceError("oneDNN chooses otherwise than it did before");
    return static_cast<const dnnl::primitive_desc_base&>(other);
  };
  Implementation way{prefix + name, static_cast<const dnnl::primitive_desc_base&>(descriptor), bindings, std::nullopt};
  way.scaled = ScaledPrimitive{[product](const Constants& constants) { return product.scales(constants); }, scaled};
  return {way};
}

Binding bind_copy(Descriptor descriptor, MakeCopy make) {
  Binding binding = bind_input(DNNL_ARG_SRC, 0, std::move(descriptor));
  binding.make = std::move(make);
  return binding;
}

/// Whether all of the call's own inputs behind x are constants.
bool constants_follow(const OpCall& call) {
  return is_constant(call, 1) && (own_input_count(call) < 3 || is_constant(call, 2));
}

/// Calls body(row), by the threads that the call's primitive has, too.
template <class Body>
void for_each_row(std::int64_t rows, std::int64_t elements, const Body& body) {
  in_parallel(omp_get_max_threads(), rows, elements, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) body(row);
  });
}

/// A convolution's image and its copy: rows of `width` pixels of `channels` adjoining elements.
struct ImageCopy {
  Quantize levels;
  std::int64_t images, height, width, channels;
  std::int64_t image_stride, row_stride, pixel_stride;
  std::int64_t top = 0, left = 0, copy_height = 0, copy_width = 0;  ///< of the copy, with padding

  void make(const float* x, std::uint8_t* copy) const {
    const auto copy_row = [&](std::int64_t row) {
      const std::int64_t y = row % copy_height - top;
      std::uint8_t* const to = copy + row * copy_width * channels;
      if (y < 0 || y >= height) {
        std::fill_n(to, copy_width * channels, levels.zero());
        return;
      }
      std::fill_n(to, left * channels, levels.zero());
      quantize_row(x + row / copy_height * image_stride + y * row_stride, to + left * channels);
      std::fill_n(to + (left + width) * channels, (copy_width - left - width) * channels, levels.zero());
    };
    for_each_row(images * copy_height, copy_width * channels, copy_row);
  }

 private:
  void quantize_row(const float* x, std::uint8_t* to) const {
    if (pixel_stride == channels) return levels.run(x, width * channels, to);
    for (std::int64_t pixel = 0; pixel < width; ++pixel)
      levels.run(x + pixel * pixel_stride, channels, to + pixel * channels);
  }
};

/// What a convolution reads in place of its x.
struct CopiedInput {
  Descriptor descriptor;
  MakeCopy make;
};

template <class Copy>
CopiedInput copied_by(const Copy& copy, const Descriptor& descriptor) {
  return {descriptor, [copy](const HostArguments& arguments, std::byte* place) {
            copy.make(arguments.inputs[0], reinterpret_cast<std::uint8_t*>(place));
          }};
}

/// Of images, where they lie channels last. It has the window's padding, unless the number of 0 is the 0 that
/// primitives pad with.
std::optional<CopiedInput> copied_images(const Convolution& op, const View& x) {
  const Shape& shape = x.shape;
  if (shape[1] != 1 && x.strides[1] != 1) return std::nullopt;
  ImageCopy copy{
      Quantize(*op.eight_bits), shape[0], shape[2], shape[3], shape[1], x.strides[0], x.strides[2], x.strides[3]};
  copy.copy_height = copy.height;
  copy.copy_width = copy.width;
  if (op.eight_bits->from != 0) {
    const Window& window = op.window;
    copy.top = window.pad_begin[0];
    copy.left = window.pad_begin[1];
    copy.copy_height += window.pad_begin[0] + window.pad_end[0];
    copy.copy_width += window.pad_begin[1] + window.pad_end[1];
  }
  const std::int64_t row = copy.copy_width * copy.channels;
  const Descriptor descriptor({copy.images, copy.channels, copy.copy_height, copy.copy_width}, DataType::u8,
                              dnnl::memory::dims{copy.copy_height * row, 1, row, copy.channels});
  return copied_by(copy, descriptor);
}

/// Signals [N, C, L], whose channels lie one behind another, and their copy, whose channels adjoin.
struct SignalCopy {
  Quantize levels;
  std::int64_t signals, channels, length;
  std::int64_t signal_stride, channel_stride;
  std::int64_t left = 0, copy_length = 0;  ///< of the copy, with padding

  void make(const float* x, std::uint8_t* copy) const {
    const std::int64_t blocks = (copy_length + kBlock - 1) / kBlock;
    for_each_row(signals * blocks, kBlock * channels, [&](std::int64_t i) {
      const std::int64_t signal = i / blocks, begin = i % blocks * kBlock;
      copy_block(x + signal * signal_stride, begin, std::min(begin + kBlock, copy_length),
                 copy + signal * copy_length * channels);
    });
  }

 private:
  static constexpr std::int64_t kBlock = 64, kChannels = 16;

  /// Places [begin, end) of the copy.
  void copy_block(const float* x, std::int64_t begin, std::int64_t end, std::uint8_t* copy) const {
    const std::int64_t first = std::clamp(left, begin, end), last = std::clamp(left + length, begin, end);
    std::fill(copy + begin * channels, copy + first * channels, levels.zero());
    std::fill(copy + last * channels, copy + end * channels, levels.zero());
    std::uint8_t rows[kChannels][kBlock];
    for (std::int64_t c = 0; c < channels; c += kChannels) {
      const std::int64_t count = std::min(kChannels, channels - c);
      for (std::int64_t k = 0; k < count; ++k)
        levels.run(x + (c + k) * channel_stride + first - left, last - first, rows[k]);
      for (std::int64_t place = first; place < last; ++place) {
        std::uint8_t* const to = copy + place * channels + c;
        for (std::int64_t k = 0; k < count; ++k) to[k] = rows[k][place - first];
      }
    }
  }
};

std::optional<CopiedInput> copied_signals(const Convolution& op, const View& x) {
  const Shape& shape = x.shape;
  if (x.strides[2] != 1 && shape[2] != 1) return std::nullopt;
  SignalCopy copy{Quantize(*op.eight_bits), shape[0], shape[1], shape[2], x.strides[0], x.strides[1]};
  copy.copy_length = copy.length;
  if (op.eight_bits->from != 0) {
    copy.left = op.window.pad_begin[0];
    copy.copy_length += op.window.pad_begin[0] + op.window.pad_end[0];
  }
  const Descriptor descriptor({copy.signals, copy.channels, copy.copy_length}, DataType::u8,
                              dnnl::memory::dims{copy.copy_length * copy.channels, 1, copy.channels});
  return copied_by(copy, descriptor);
}

OpCall without_post_ops(const OpCall& call) {
  OpCall own = call;
  own.inputs.resize(own_input_count(call));
  own.post_ops.clear();
  return own;
}

Descriptor describe_packed(const Shape& shape) { return {shape, DataType::s8, dnnl::memory::format_tag::any}; }

}  // namespace

Implementations eight_bit_ways(const Convolution& op, const OpCall& call, const dnnl::engine& engine) {
  const auto* const image = std::get_if<View>(&call.inputs[0]);
  if (!op.eight_bits || image == nullptr || !constants_follow(call)) return {};
  const std::size_t rank = image->shape.size();
  if (rank > 4) return {};
  const bool is_signal = rank == 3;
  const std::optional<CopiedInput> copy = is_signal ? copied_signals(op, *image) : copied_images(op, *image);
  const std::optional<KernelView> kernel = kernel_of(call, 1, op.groups, image->shape.size() - 2);
  const View& output = call.outputs[0];
  const std::int64_t outputs = output.shape[1];
  if (!copy || !kernel || element_count(shape_of(call.inputs[1])) / outputs > kMostProducts) return {};
  // A signal comes channels last, and is put where it belongs before anything follows.
  const Loop after = is_signal ? follow_in_place(call, omp_get_max_threads()) : Loop();
  if (is_signal && !call.post_ops.empty() && !after) return {};
  const auto [product, post_ops] =
      parts_of(*op.eight_bits, is_signal ? without_post_ops(call) : call, outputs, as_it_lies);
  if (!post_ops) return {};
  const bool pads_copy = op.eight_bits->from != 0;
  const Descriptor x = copy->descriptor, y = is_signal ? describe_any(output.shape) : describe(output);
  const Descriptor bias = product.is_biased || pads_copy ? describe_dense({outputs}) : Descriptor();
  std::vector<Binding> bindings =
      bind_constants(product, describe(kernel->shape, kernel->strides), bias, /*arrange=*/{});
  bindings.insert(bindings.end(), post_ops->bindings.begin(), post_ops->bindings.end());
  bindings.push_back(bind_copy(x, copy->make));
  bindings.push_back(bind_output(describe(output)));
  const Shape none(op.window.kernel.size(), 0);
  using PrimitiveDescriptor = dnnl::convolution_forward::primitive_desc;
  const auto descriptor_for = [=, window = op.window, w = describe_packed(kernel->shape),
                               attributes = post_ops->attributes](const std::vector<float>& scales) {
    const dnnl::convolution_forward::desc description(
        dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct, x, w, bias, y, window.stride,
        skipped(window.dilation), pads_copy ? none : window.pad_begin, pads_copy ? none : window.pad_end);
    return PrimitiveDescriptor(description, with_scales(attributes, scales), engine, /*allow_empty=*/true);
  };
  try {
    Implementations ways = lossless<PrimitiveDescriptor>(descriptor_for, "8-bit/", product, bindings);
    stage_as_wanted({DNNL_ARG_DST}, call, ways);
    for (Implementation& way : ways) way.after = after;
    return ways;
  } catch (const dnnl::error&) {
    return {};  // float32 will do
  }
}

Implementations eight_bit_ways(const EightBitRows& rows, const OpCall& call, const Presentation& present,
                               const dnnl::engine& engine) {
  if (rows.inputs > kMostProducts || !constants_follow(call)) return {};
  const auto [product, post_ops] = parts_of(rows.bits, call, rows.outputs, present);
  if (!post_ops) return {};
  const Descriptor x({rows.samples, rows.inputs}, DataType::u8, dnnl::memory::dims{rows.inputs, 1});
  const bool is_biased = product.is_biased || rows.bits.from != 0;
  const Descriptor bias = is_biased ? describe_dense({1, rows.outputs}) : Descriptor();
  std::vector<Binding> bindings =
      bind_constants(product, describe({rows.inputs, rows.outputs}, {1, rows.inputs}), bias, rows.arrange);
  bindings.insert(bindings.end(), post_ops->bindings.begin(), post_ops->bindings.end());
  bindings.push_back(bind_copy(x, [levels = Quantize(rows.bits), samples = rows.samples, inputs = rows.inputs,
                                   stride = rows.x_stride](const HostArguments& arguments, std::byte* place) {
    auto* const copy = reinterpret_cast<std::uint8_t*>(place);
    for_each_row(samples, inputs, [&](std::int64_t row) {
      levels.run(arguments.inputs[0] + row * stride, inputs, copy + row * inputs);
    });
  }));
  bindings.push_back(bind_output(rows.y));
  using PrimitiveDescriptor = dnnl::matmul::primitive_desc;
  const auto descriptor_for = [=, y = rows.y, w = describe_packed({rows.inputs, rows.outputs}),
                               attributes = post_ops->attributes](const std::vector<float>& scales) {
    return PrimitiveDescriptor(bias ? dnnl::matmul::desc(x, w, bias, y) : dnnl::matmul::desc(x, w, y),
                               with_scales(attributes, scales), engine, /*allow_empty=*/true);
  };
  try {
    return lossless<PrimitiveDescriptor>(descriptor_for, "8-bit/matmul/", product, bindings);
  } catch (const dnnl::error&) {
    return {};  // float32 will do
  }
}

}  // namespace cohort::onednn
