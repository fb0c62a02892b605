#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "models/op.hpp"

namespace cohort {

/// Bytes of an ONNX model whose graph is given in protobuf's text form, without ir_version and
/// opset. Fails the running test where the text is not valid.
std::string onnx_model(int opset, std::string_view graph_text);

/// Text of a graph's input, output or initialiser. A negative extent is left open; types are numbers of TensorProto's.
std::string input_text(std::string_view name, const Shape& shape, int type = 1);
std::string output_text(std::string_view name);
std::string floats_text(std::string_view name, const Shape& shape, const std::vector<float>& values);
std::string integers_text(std::string_view name, const Shape& shape, const std::vector<std::int64_t>& values);
/// Whole numbers of up to 32 bits, as `type` says.
std::string narrow_text(std::string_view name, const Shape& shape, int type, const std::vector<std::int64_t>& values);
/// node { op_type, input..., output..., name: "n_<first output>" } with `attributes` as text.
std::string node_text(std::string_view op_type, const std::vector<std::string>& inputs,
                      const std::vector<std::string>& outputs, std::string_view attributes = "");
/// attribute { name, i } and the like.
std::string integer_attribute(std::string_view name, std::int64_t value);
std::string float_attribute(std::string_view name, float value);
std::string text_attribute(std::string_view name, std::string_view value);
std::string integers_attribute(std::string_view name, const std::vector<std::int64_t>& values);

}  // namespace cohort
