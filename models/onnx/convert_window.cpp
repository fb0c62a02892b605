#include <algorithm>
#include <numeric>
#include <string_view>

#include "models/onnx/converters.hpp"

namespace cohort::onnx {

namespace {

constexpr std::int64_t kMostWindow = std::int64_t{1} << 30;

/// Limits that keep sums and products of window fields in range; infer_shape checks the rest.
Result<void> check_list(std::string_view name, const std::vector<std::int64_t>& values, std::size_t size) {
  if (values.size() != size)
    return fail(ErrorCode::kInvalidInput, "attribute {} must have {} entries, not {}", name, size, values.size());
  for (const std::int64_t value : values) {
    if (value < 0 || value > kMostWindow)
      return fail(ErrorCode::kInvalidInput, "attribute {} must hold numbers from 0 to {}, not {}", name, kMostWindow,
                  value);
  }
  return {};
}

Result<std::size_t> spatial_rank(const Shape& x) {
  if (x.size() >= 3 && x.size() <= 5) return x.size() - 2;
  return fail(ErrorCode::kInvalidInput,
              "is supported on [N, C, ...] with one to three spatial dimensions, images are [N, C, H, W], not on {}",
              to_string(x));
}

/// Pads so that the output has ceil(extent / stride) elements.
void pad_to_same(Window& window, const Shape& x, bool more_behind) {
  for (std::size_t i = 0; i < window.kernel.size(); ++i) {
    const std::int64_t extent = x[i + 2];
    const std::int64_t out = (extent + window.stride[i] - 1) / window.stride[i];
    const std::int64_t reach = window.dilation[i] * (window.kernel[i] - 1) + 1;
    const std::int64_t total = std::max<std::int64_t>((out - 1) * window.stride[i] + reach - extent, 0);
    const std::int64_t less = total / 2;
    window.pad_begin[i] = more_behind ? less : total - less;
    window.pad_end[i] = total - window.pad_begin[i];
  }
}

/// kernel_shape, strides, dilations and pads. `kernel` is the default, empty for none.
Result<Window> lists_of(NodeImport& node, std::size_t rank, std::vector<std::int64_t> kernel) {
  const std::vector<std::int64_t> ones(rank, 1);
  Window window;
  if (kernel.empty() && !node.has_attribute("kernel_shape"))
    return fail(ErrorCode::kInvalidInput, "attribute kernel_shape is missing");
  COHORT_TRY(window.kernel, node.integer_list("kernel_shape", std::move(kernel)));
  COHORT_TRY(window.stride, node.integer_list("strides", ones));
  COHORT_TRY(window.dilation, node.integer_list("dilations", ones));
  COHORT_TRY(const auto pads, node.integer_list("pads", std::vector<std::int64_t>(2 * rank, 0)));
  COHORT_CHECK(check_list("kernel_shape", window.kernel, rank));
  COHORT_CHECK(check_list("strides", window.stride, rank));
  COHORT_CHECK(check_list("dilations", window.dilation, rank));
  COHORT_CHECK(check_list("pads", pads, 2 * rank));
  if (std::find(window.stride.begin(), window.stride.end(), 0) != window.stride.end())
    return fail(ErrorCode::kInvalidInput, "attribute strides must be at least 1");
  const auto half = pads.begin() + static_cast<std::ptrdiff_t>(rank);
  window.pad_begin.assign(pads.begin(), half);
  window.pad_end.assign(half, pads.end());
  return window;
}

Result<std::string> auto_pad_of(NodeImport& node) {
  COHORT_TRY(std::string auto_pad, node.text("auto_pad", "NOTSET"));
  if (auto_pad.empty()) auto_pad = "NOTSET";
  constexpr std::string_view kKnown[] = {"NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"};
  if (std::find(std::begin(kKnown), std::end(kKnown), auto_pad) != std::end(kKnown)) return auto_pad;
  return fail(ErrorCode::kInvalidInput, "attribute auto_pad must be NOTSET, VALID, SAME_UPPER or SAME_LOWER, not {}",
              auto_pad);
}

Result<void> convert_pool(NodeImport& node, PoolKind kind) {
  COHORT_TRY(const Shape x, node.shape(0));
  Pool pool;
  pool.kind = kind;
  COHORT_TRY(pool.window, window_of(node, x, {}));
  COHORT_TRY(const std::int64_t ceil_mode, node.integer("ceil_mode", 0));
  pool.ceil_mode = ceil_mode != 0;
  std::int64_t storage_order = 0;
  if (kind == PoolKind::kAverage) {
    COHORT_TRY(const std::int64_t count_include_pad, node.integer("count_include_pad", 0));
    pool.count_include_pad = count_include_pad != 0;
  } else {
    COHORT_TRY(storage_order, node.integer("storage_order", 0));
  }
  COHORT_TRY(const TensorId from, node.tensor(0));
  if (kind == PoolKind::kMax && node.is_read(1)) {
    const MaxPoolIndices indices{pool.window, pool.ceil_mode, storage_order != 0};
    COHORT_TRY(const TensorId positions, node.emit("indices", indices, {from}));
    node.set_result(positions, 1);
  }
  COHORT_TRY(const TensorId y, node.emit("", std::move(pool), {from}));
  node.set_result(y);
  return {};
}

Result<void> convert_global_pool(NodeImport& node, PoolKind kind) {
  COHORT_TRY(const Shape x, node.shape(0));
  COHORT_TRY(const std::size_t rank, spatial_rank(x));
  const std::vector<std::int64_t> ones(rank, 1), zeros(rank, 0);
  const Window window{{x.begin() + 2, x.end()}, ones, zeros, zeros, ones};
  COHORT_TRY(const TensorId from, node.tensor(0));
  COHORT_TRY(const TensorId y, node.emit("", Pool{kind, window, false, false}, {from}));
  node.set_result(y);
  return {};
}

/// x, w and where given b, as tensors.
Result<std::vector<TensorId>> convolution_inputs(NodeImport& node) {
  std::vector<TensorId> inputs;
  for (std::size_t i = 0; i < 3; ++i) {
    if (i == 2 && !node.has_input(2)) break;
    COHORT_TRY(const TensorId input, node.tensor(i));
    inputs.push_back(input);
  }
  return inputs;
}

/// Of the weights, input `input`.
Result<std::vector<std::int64_t>> kernel_of(NodeImport& node, const Shape& x, std::size_t input = 1) {
  COHORT_TRY(const Shape w, node.shape(input));
  COHORT_CHECK(spatial_rank(x).map([](std::size_t) {}));
  if (w.size() != x.size())
    return fail(ErrorCode::kInvalidInput, "weight {} does not fit the image {}", to_string(w), to_string(x));
  return std::vector<std::int64_t>(w.begin() + 2, w.end());
}

/// Elements of y without pads, along spatial axis i.
std::int64_t full_extent(const ConvTranspose& op, const Shape& x, std::size_t i) {
  return op.window.stride[i] * (x[i + 2] - 1) + op.output_pad[i] + op.window.dilation[i] * (op.window.kernel[i] - 1) +
         1;
}

/// Pads so that y has the extents asked for: half on each side, the odd one behind for SAME_UPPER, else before. Where y
/// is longer than x makes it the rest lies behind, as in ONNX Runtime and TensorFlow.
void pad_to(ConvTranspose& op, const Shape& x, const std::vector<std::int64_t>& extents, std::string_view auto_pad) {
  for (std::size_t i = 0; i < extents.size(); ++i) {
    const std::int64_t total = full_extent(op, x, i) - extents[i];
    const std::int64_t both = std::max<std::int64_t>(total, 0);
    op.window.pad_begin[i] = auto_pad == "SAME_UPPER" ? both / 2 : both - both / 2;
    op.window.pad_end[i] = total - op.window.pad_begin[i];
  }
}

Result<void> set_transpose_pads(NodeImport& node, const Shape& x, ConvTranspose& op) {
  const std::size_t rank = op.window.kernel.size();
  COHORT_TRY(const std::string auto_pad, auto_pad_of(node));
  COHORT_TRY(auto extents, node.integer_list("output_shape", {}));
  if (extents.size() == rank + 2) extents.erase(extents.begin(), extents.begin() + 2);
  for (std::size_t i = 0; i < rank; ++i) {
    if (x[i + 2] > kMostWindow) return fail(ErrorCode::kInvalidInput, "x {} is too large", to_string(x));
  }
  if (!extents.empty()) {
    COHORT_CHECK(check_list("output_shape", extents, rank));
    pad_to(op, x, extents, auto_pad);
  } else if (auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER") {
    for (std::size_t i = 0; i < rank; ++i) extents.push_back(x[i + 2] * op.window.stride[i]);
    pad_to(op, x, extents, auto_pad);
  } else if (auto_pad == "VALID") {
    op.window.pad_begin = op.window.pad_end = std::vector<std::int64_t>(rank, 0);
  }
  return {};
}

/// What Col2Im sums: blocks of an image, as a transposed convolution without weights' values.
Result<ConvTranspose> block_sums(NodeImport& node, const std::vector<std::int64_t>& image,
                                 const std::vector<std::int64_t>& block) {
  if (block.empty() || block.size() > 3 || image.size() != block.size())
    return fail(ErrorCode::kInvalidInput,
                "image_shape and block_shape must have the same one to three axes, not {} and {}", to_string(image),
                to_string(block));
  for (const std::vector<std::int64_t>& extents : {image, block}) {
    if (std::ranges::any_of(extents, [](std::int64_t extent) { return extent < 1 || extent > kMostWindow; }))
      return fail(ErrorCode::kInvalidInput, "image_shape and block_shape must hold numbers from 1 to {}, not {} and {}",
                  kMostWindow, to_string(image), to_string(block));
  }
  if (node.has_attribute("kernel_shape"))
    return fail(ErrorCode::kInvalidInput, "attribute kernel_shape is not one of Col2Im");
  ConvTranspose op;
  COHORT_TRY(op.window, lists_of(node, block.size(), block));
  for (std::size_t i = 0; i < block.size(); ++i) {
    const std::int64_t reach = op.window.dilation[i] * (block[i] - 1) + 1;
    const std::int64_t room = image[i] + op.window.pad_begin[i] + op.window.pad_end[i] - reach;
    if (room < 0)
      return fail(ErrorCode::kInvalidInput, "blocks {} do not fit the image {} with its pads", to_string(block),
                  to_string(image));
    op.output_pad.push_back(room % op.window.stride[i]);
  }
  return op;
}

/// How many blocks there are along each axis.
Shape blocks_of(const ConvTranspose& op, const std::vector<std::int64_t>& image) {
  Shape blocks;
  for (std::size_t i = 0; i < image.size(); ++i) {
    const std::int64_t reach = op.window.dilation[i] * (op.window.kernel[i] - 1) + 1;
    const std::int64_t room = image[i] + op.window.pad_begin[i] + op.window.pad_end[i] - reach;
    blocks.push_back(room / op.window.stride[i] + 1);
  }
  return blocks;
}

/// [channels * places, 1, ...]: of each channel's places in a block the first has its value at the first, and so on.
std::vector<float> one_hot_places(std::int64_t channels, std::int64_t places) {
  std::vector<float> values(static_cast<std::size_t>(channels * places * places), 0.0F);
  for (std::int64_t row = 0; row < channels * places; ++row)
    values[static_cast<std::size_t>(row * places + row % places)] = 1;
  return values;
}

}  // namespace

/// A transposed convolution that puts each element where it belongs. An infinity makes all of its block NaN.
Result<void> convert_col2im(NodeImport& node) {
  COHORT_TRY(const Shape x, node.shape(0));
  COHORT_TRY(const auto image, node.integers(1, "image_shape"));
  COHORT_TRY(const auto block, node.integers(2, "block_shape"));
  COHORT_TRY(ConvTranspose op, block_sums(node, image, block));
  const Shape blocks = blocks_of(op, image);
  COHORT_CHECK(check_shape(blocks, 0));
  COHORT_CHECK(check_shape(block, 0));
  const std::int64_t places = element_count(block);
  if (x.size() != 3 || x[2] != element_count(blocks) || x[1] % places != 0)
    return fail(ErrorCode::kInvalidInput, "input 0 must be [N, C * {}, {}] for blocks {} of an image {}, not {}",
                places, element_count(blocks), to_string(block), to_string(image), to_string(x));
  op.groups = x[1] / places;
  Shape folded{x[0], x[1]}, weights{x[1], 1};
  folded.insert(folded.end(), blocks.begin(), blocks.end());
  weights.insert(weights.end(), block.begin(), block.end());
  constexpr std::int64_t kMostWeights = std::int64_t{1} << 25;
  if (x[1] > kMostWeights / places)
    return fail(ErrorCode::kInvalidInput, "{} channels of blocks {} are not supported: too many", op.groups,
                to_string(block));
  COHORT_TRY(const TensorId columns, node.tensor(0));
  COHORT_TRY(const TensorId as_image, node.emit_reshape("blocks", columns, std::move(folded)));
  COHORT_TRY(const TensorId places_of,
             node.made_weight("places", std::move(weights), one_hot_places(op.groups, places)));
  COHORT_TRY(const TensorId y, node.emit("", std::move(op), {as_image, places_of}));
  node.set_result(y);
  return {};
}

Result<Window> window_of(NodeImport& node, const Shape& x, std::vector<std::int64_t> kernel) {
  COHORT_TRY(const std::size_t rank, spatial_rank(x));
  COHORT_TRY(Window window, lists_of(node, rank, std::move(kernel)));
  COHORT_TRY(const std::string auto_pad, auto_pad_of(node));
  if (auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER") {
    pad_to_same(window, x, auto_pad == "SAME_UPPER");
  } else if (auto_pad == "VALID") {
    window.pad_begin = window.pad_end = std::vector<std::int64_t>(rank, 0);
  }
  return window;
}

Result<Convolution> convolution_of(NodeImport& node, const Shape& x, std::size_t w) {
  COHORT_TRY(auto kernel, kernel_of(node, x, w));
  Convolution convolution;
  COHORT_TRY(convolution.window, window_of(node, x, std::move(kernel)));
  COHORT_TRY(convolution.groups, node.integer("group", 1));
  return convolution;
}

Result<void> convert_conv(NodeImport& node) {
  COHORT_TRY(const Shape x, node.shape(0));
  COHORT_TRY(Convolution convolution, convolution_of(node, x));
  COHORT_TRY(std::vector<TensorId> inputs, convolution_inputs(node));
  COHORT_TRY(const TensorId y, node.emit("", std::move(convolution), std::move(inputs)));
  node.set_result(y);
  return {};
}

Result<void> convert_conv_transpose(NodeImport& node) {
  COHORT_TRY(const Shape x, node.shape(0));
  COHORT_TRY(auto kernel, kernel_of(node, x));
  const std::size_t rank = kernel.size();
  ConvTranspose op;
  COHORT_TRY(op.window, lists_of(node, rank, std::move(kernel)));
  COHORT_TRY(op.output_pad, node.integer_list("output_padding", std::vector<std::int64_t>(rank, 0)));
  COHORT_CHECK(check_list("output_padding", op.output_pad, rank));
  COHORT_TRY(op.groups, node.integer("group", 1));
  COHORT_CHECK(set_transpose_pads(node, x, op));
  COHORT_TRY(std::vector<TensorId> inputs, convolution_inputs(node));
  COHORT_TRY(const TensorId y, node.emit("", std::move(op), std::move(inputs)));
  node.set_result(y);
  return {};
}

Result<void> convert_max_pool(NodeImport& node) { return convert_pool(node, PoolKind::kMax); }
Result<void> convert_average_pool(NodeImport& node) { return convert_pool(node, PoolKind::kAverage); }
Result<void> convert_global_max_pool(NodeImport& node) { return convert_global_pool(node, PoolKind::kMax); }
Result<void> convert_global_average_pool(NodeImport& node) { return convert_global_pool(node, PoolKind::kAverage); }

}  // namespace cohort::onnx
