#include <algorithm>

#include "models/onnx/converters.hpp"

namespace cohort::onnx {

namespace {

/// Limits that keep sums and products of window fields in range; infer_shape checks the rest.
Result<void> check_list(std::string_view name, const std::vector<std::int64_t>& values, std::size_t size) {
  constexpr std::int64_t kMost = std::int64_t{1} << 30;
  if (values.size() != size)
    return fail(ErrorCode::kInvalidInput, "attribute {} must have {} entries, not {}", name, size, values.size());
  for (const std::int64_t value : values) {
    if (value < 0 || value > kMost)
      return fail(ErrorCode::kInvalidInput, "attribute {} must hold numbers from 0 to {}, not {}", name, kMost, value);
  }
  return {};
}

Result<void> check_image(const Shape& x) {
  if (x.size() == 4) return {};
  return fail(ErrorCode::kInvalidInput, "is supported on images [N, C, H, W] only, not on {}", to_string(x));
}

/// Pads so that the output has ceil(extent / stride) elements.
void pad_to_same(Window& window, const Shape& x, bool more_behind) {
  for (std::size_t i = 0; i < 2; ++i) {
    const std::int64_t extent = x[i + 2];
    const std::int64_t out = (extent + window.stride[i] - 1) / window.stride[i];
    const std::int64_t reach = window.dilation[i] * (window.kernel[i] - 1) + 1;
    const std::int64_t total = std::max<std::int64_t>((out - 1) * window.stride[i] + reach - extent, 0);
    const std::int64_t less = total / 2;
    window.pad_begin[i] = more_behind ? less : total - less;
    window.pad_end[i] = total - window.pad_begin[i];
  }
}

/// The window attributes that convolution and pooling share. `kernel` is the default, empty for none.
Result<Window> window_of(NodeImport& node, const Shape& x, std::vector<std::int64_t> kernel) {
  COHORT_CHECK(check_image(x));
  Window window;
  if (kernel.empty() && !node.has_attribute("kernel_shape"))
    return fail(ErrorCode::kInvalidInput, "attribute kernel_shape is missing");
  COHORT_TRY(window.kernel, node.integer_list("kernel_shape", std::move(kernel)));
  COHORT_TRY(window.stride, node.integer_list("strides", {1, 1}));
  COHORT_TRY(window.dilation, node.integer_list("dilations", {1, 1}));
  COHORT_TRY(const auto pads, node.integer_list("pads", {0, 0, 0, 0}));
  COHORT_CHECK(check_list("kernel_shape", window.kernel, 2));
  COHORT_CHECK(check_list("strides", window.stride, 2));
  COHORT_CHECK(check_list("dilations", window.dilation, 2));
  COHORT_CHECK(check_list("pads", pads, 4));
  if (window.stride[0] == 0 || window.stride[1] == 0)
    return fail(ErrorCode::kInvalidInput, "attribute strides must be at least 1");
  window.pad_begin = {pads[0], pads[1]};
  window.pad_end = {pads[2], pads[3]};
  COHORT_TRY(const std::string auto_pad, node.text("auto_pad", "NOTSET"));
  if (auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER") {
    pad_to_same(window, x, auto_pad == "SAME_UPPER");
  } else if (auto_pad == "VALID") {
    window.pad_begin = window.pad_end = {0, 0};
  } else if (auto_pad != "NOTSET" && !auto_pad.empty()) {
    return fail(ErrorCode::kInvalidInput, "attribute auto_pad must be NOTSET, VALID, SAME_UPPER or SAME_LOWER, not {}",
                auto_pad);
  }
  return window;
}

Result<void> convert_pool(NodeImport& node, PoolKind kind) {
  COHORT_TRY(const Shape x, node.shape(0));
  Pool pool;
  pool.kind = kind;
  COHORT_TRY(pool.window, window_of(node, x, {}));
  COHORT_TRY(const std::int64_t ceil_mode, node.integer("ceil_mode", 0));
  pool.ceil_mode = ceil_mode != 0;
  if (kind == PoolKind::kAverage) {
    COHORT_TRY(const std::int64_t count_include_pad, node.integer("count_include_pad", 0));
    pool.count_include_pad = count_include_pad != 0;
  } else {
    node.ignore("storage_order");  // of the indices, which are not supported
  }
  COHORT_TRY(const TensorId input, node.tensor(0));
  COHORT_TRY(const TensorId y, node.emit("", std::move(pool), {input}));
  node.set_result(y);
  return {};
}

Result<void> convert_global_pool(NodeImport& node, PoolKind kind) {
  COHORT_TRY(const Shape x, node.shape(0));
  COHORT_CHECK(check_image(x));
  COHORT_TRY(const TensorId input, node.tensor(0));
  const Window window{{x[2], x[3]}, {1, 1}, {0, 0}, {0, 0}, {1, 1}};
  COHORT_TRY(const TensorId y, node.emit("", Pool{kind, window, false, false}, {input}));
  node.set_result(y);
  return {};
}

}  // namespace

Result<void> convert_conv(NodeImport& node) {
  COHORT_TRY(const Shape x, node.shape(0));
  COHORT_TRY(const Shape w, node.shape(1));
  if (w.size() != x.size())
    return fail(ErrorCode::kInvalidInput, "weight {} does not fit the image {}", to_string(w), to_string(x));
  COHORT_CHECK(check_image(x));
  Convolution convolution;
  COHORT_TRY(convolution.window, window_of(node, x, {w[2], w[3]}));
  COHORT_TRY(convolution.groups, node.integer("group", 1));
  std::vector<TensorId> inputs;
  for (std::size_t i = 0; i < 3; ++i) {
    if (i == 2 && !node.has_input(2)) break;
    COHORT_TRY(const TensorId input, node.tensor(i));
    inputs.push_back(input);
  }
  COHORT_TRY(const TensorId y, node.emit("", std::move(convolution), std::move(inputs)));
  node.set_result(y);
  return {};
}

Result<void> convert_max_pool(NodeImport& node) { return convert_pool(node, PoolKind::kMax); }
Result<void> convert_average_pool(NodeImport& node) { return convert_pool(node, PoolKind::kAverage); }
Result<void> convert_global_max_pool(NodeImport& node) { return convert_global_pool(node, PoolKind::kMax); }
Result<void> convert_global_average_pool(NodeImport& node) { return convert_global_pool(node, PoolKind::kAverage); }

}  // namespace cohort::onnx
