#include "tests/models/onnx_text.hpp"

#include <fmt/ranges.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

namespace cohort {

namespace {

template <class T>
std::string repeated(std::string_view field, const std::vector<T>& values) {
  std::string text;
  for (const T& value : values) text += fmt::format(" {}: {}", field, value);
  return text;
}

std::string quoted(std::string_view field, const std::vector<std::string>& values) {
  std::string text;
  for (const std::string& value : values) text += fmt::format(" {}: \"{}\"", field, value);
  return text;
}

}  // namespace

std::string onnx_model(int opset, std::string_view graph_text) {
  const std::string text =
      fmt::format("ir_version: 7 opset_import {{ version: {} }} graph {{ {} }}", opset, graph_text);
  ::onnx::ModelProto model;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &model)) << text;
  return model.SerializeAsString();
}

std::string input_text(std::string_view name, const Shape& shape, int type) {
  std::string dimensions;
  for (const std::int64_t extent : shape)
    dimensions +=
        extent < 0 ? std::string(" dim { dim_param: \"n\" }") : fmt::format(" dim {{ dim_value: {} }}", extent);
  return fmt::format(" input {{ name: \"{}\" type {{ tensor_type {{ elem_type: {} shape {{ {} }} }} }} }}", name, type,
                     dimensions);
}

std::string output_text(std::string_view name) { return fmt::format(" output {{ name: \"{}\" }}", name); }

std::string floats_text(std::string_view name, const Shape& shape, const std::vector<float>& values) {
  return fmt::format(" initializer {{ name: \"{}\" data_type: 1 {} {} }}", name, repeated("dims", shape),
                     repeated("float_data", values));
}

std::string integers_text(std::string_view name, const Shape& shape, const std::vector<std::int64_t>& values) {
  return fmt::format(" initializer {{ name: \"{}\" data_type: 7 {} {} }}", name, repeated("dims", shape),
                     repeated("int64_data", values));
}

std::string narrow_text(std::string_view name, const Shape& shape, int type, const std::vector<std::int64_t>& values) {
  return fmt::format(" initializer {{ name: \"{}\" data_type: {} {} {} }}", name, type, repeated("dims", shape),
                     repeated("int32_data", values));
}

std::string node_text(std::string_view op_type, const std::vector<std::string>& inputs,
                      const std::vector<std::string>& outputs, std::string_view attributes) {
  return fmt::format(" node {{ op_type: \"{}\" name: \"n_{}\" {} {} {} }}", op_type,
                     outputs.empty() ? std::string() : outputs[0], quoted("input", inputs), quoted("output", outputs),
                     attributes);
}

std::string integer_attribute(std::string_view name, std::int64_t value) {
  return fmt::format(" attribute {{ name: \"{}\" type: INT i: {} }}", name, value);
}

std::string float_attribute(std::string_view name, float value) {
  return fmt::format(" attribute {{ name: \"{}\" type: FLOAT f: {} }}", name, value);
}

std::string text_attribute(std::string_view name, std::string_view value) {
  return fmt::format(" attribute {{ name: \"{}\" type: STRING s: \"{}\" }}", name, value);
}

std::string integers_attribute(std::string_view name, const std::vector<std::int64_t>& values) {
  return fmt::format(" attribute {{ name: \"{}\" type: INTS {} }}", name, repeated("ints", values));
}

}  // namespace cohort
