#include "models/onnx/model_parts.hpp"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include <string>

#include "models/onnx/other_content.hpp"

namespace cohort::onnx {

namespace {

using google::protobuf::internal::WireFormatLite;

tl::unexpected<Error> cut_short() { return fail(ErrorCode::kInvalidInput, "not an ONNX model, or cut short"); }

/// Splits the fields of a message: calls take(content) for those of number `field` that have a length, and returns the
/// bytes of the others.
/// Errors: kInvalidInput where the message ends in the middle of a field.
template <class Take>
Result<std::string> without_field(std::string_view message, int field, const Take& take) {
  google::protobuf::io::CodedInputStream in(reinterpret_cast<const std::uint8_t*>(message.data()),
                                            static_cast<int>(message.size()));
  std::string others;
  std::size_t begin = 0;
  while (const std::uint32_t tag = in.ReadTag()) {
    std::uint32_t size = 0;
    if (tag == WireFormatLite::MakeTag(field, WireFormatLite::WIRETYPE_LENGTH_DELIMITED)) {
      if (!in.ReadVarint32(&size)) return cut_short();
      const auto at = static_cast<std::size_t>(in.CurrentPosition());
      if (size > message.size() - at || !in.Skip(static_cast<int>(size))) return cut_short();
      take(message.substr(at, size));
    } else {
      if (!WireFormatLite::SkipField(&in, tag)) return cut_short();
      others += message.substr(begin, static_cast<std::size_t>(in.CurrentPosition()) - begin);
    }
    begin = static_cast<std::size_t>(in.CurrentPosition());
  }
  if (begin != message.size()) return cut_short();
  return others;
}

}  // namespace

Result<ModelParts> parts_of(std::string_view bytes) {
  if (const auto other = other_content(bytes))
    return fail(ErrorCode::kInvalidInput, "not an ONNX model: it is {}", *other);
  std::vector<std::string_view> graphs;
  COHORT_TRY(const std::string rest, without_field(bytes, ::onnx::ModelProto::kGraphFieldNumber,
                                                   [&](std::string_view graph) { graphs.push_back(graph); }));
  ModelParts parts;
  if (!parts.model.ParseFromString(rest)) return cut_short();
  if (graphs.empty()) return fail(ErrorCode::kInvalidInput, "not an ONNX model: it has no graph");
  // Several are one, whose fields follow each other.
  for (const std::string_view graph : graphs) {
    COHORT_TRY(const std::string others,
               without_field(graph, ::onnx::GraphProto::kInitializerFieldNumber,
                             [&](std::string_view tensor) { parts.initializers.push_back(tensor); }));
    if (!parts.model.mutable_graph()->MergeFromString(others)) return cut_short();
  }
  return parts;
}

Result<void> for_each_initializer(const ModelParts& parts,
                                  const std::function<Result<void>(const ::onnx::TensorProto&)>& visit) {
  ::onnx::TensorProto tensor;  // the same one for all: it keeps its memory
  for (const std::string_view bytes : parts.initializers) {
    if (!tensor.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return cut_short();
    COHORT_CHECK(visit(tensor));
  }
  return {};
}

}  // namespace cohort::onnx
