#include "models/onnx/model_parts.hpp"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include "models/onnx/other_content.hpp"

namespace cohort::onnx {

namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;

tl::unexpected<Error> cut_short() { return fail(ErrorCode::kInvalidInput, "not an ONNX model, or cut short"); }

CodedInputStream stream_of(std::string_view bytes) {
  return CodedInputStream(reinterpret_cast<const std::uint8_t*>(bytes.data()), static_cast<int>(bytes.size()));
}

/// Calls take(content) for each field of number `field` in a message, whose type is a message, too; `others` gets all
/// other fields.
template <class Take>
Result<void> take_apart(std::string_view message, int field, google::protobuf::MessageLite& others, const Take& take) {
  CodedInputStream in = stream_of(message);
  std::size_t begin = 0;  // of other fields that were not read yet
  const auto read_others = [&](std::size_t end) {
    CodedInputStream run = stream_of(message.substr(begin, end - begin));
    return others.MergeFromCodedStream(&run) && run.ConsumedEntireMessage();
  };
  std::size_t at = 0;
  while (const std::uint32_t tag = in.ReadTag()) {
    if (tag != WireFormatLite::MakeTag(field, WireFormatLite::WIRETYPE_LENGTH_DELIMITED)) {
      if (!WireFormatLite::SkipField(&in, tag)) return cut_short();
      at = static_cast<std::size_t>(in.CurrentPosition());
      continue;
    }
    int size = 0;
    if (!read_others(at) || !in.ReadVarintSizeAsInt(&size)) return cut_short();
    at = static_cast<std::size_t>(in.CurrentPosition());
    if (!in.Skip(size)) return cut_short();
    take(message.substr(at, static_cast<std::size_t>(size)));
    at = begin = static_cast<std::size_t>(in.CurrentPosition());
  }
  // A tag of 0 ends the loop, too.
  if (at != message.size() || !read_others(at)) return cut_short();
  return {};
}

}  // namespace

Result<ModelParts> parts_of(std::string_view bytes) {
  if (const auto other = other_content(bytes))
    return fail(ErrorCode::kInvalidInput, "not an ONNX model: it is {}", *other);
  ModelParts parts;
  std::vector<std::string_view> graphs;
  COHORT_CHECK(take_apart(bytes, ::onnx::ModelProto::kGraphFieldNumber, parts.model,
                          [&](std::string_view graph) { graphs.push_back(graph); }));
  if (graphs.empty()) return fail(ErrorCode::kInvalidInput, "not an ONNX model: it has no graph");
  // Several are one, whose fields follow each other.
  for (const std::string_view graph : graphs)
    COHORT_CHECK(take_apart(graph, ::onnx::GraphProto::kInitializerFieldNumber, *parts.model.mutable_graph(),
                            [&](std::string_view tensor) { parts.initializers.push_back(tensor); }));
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
