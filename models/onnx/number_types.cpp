#include "models/onnx/number_types.hpp"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <cctype>

namespace cohort::onnx {

std::optional<Range> range_of(std::int64_t type) {
  switch (type) {
    case Type::kUint8:
      return Range{8, false};
    case Type::kInt8:
      return Range{8, true};
    case Type::kUint16:
      return Range{16, false};
    case Type::kInt16:
      return Range{16, true};
    case Type::kUint32:
      return Range{32, false};
    case Type::kInt32:
      return Range{32, true};
    case Type::kInt64:
      return Range{64, true};
    default:
      return std::nullopt;
  }
}

std::int64_t wrapped(std::int64_t value, const Range& range) {
  if (range.bits == 64) return value;
  const std::int64_t count = std::int64_t{1} << range.bits;
  const std::int64_t low = ((value % count) + count) % count;
  return range.is_signed && low >= count / 2 ? low - count : low;
}

bool is_whole(std::int64_t type) { return type == Type::kBool || type_name(type).find("int") != std::string::npos; }

bool is_narrow(std::int64_t type) {
  const std::optional<Range> range = range_of(type);
  return range && range->bits <= 16;
}

bool is_floating(std::int64_t type) {
  return type == Type::kFloat || type == Type::kDouble || type == Type::kFloat16 || type == Type::kBfloat16;
}

Result<ElementType> element_of_type(std::int64_t type) {
  if (is_floating(type) || is_narrow(type)) return ElementType::kFloat32;
  if (type == Type::kInt64 || type == Type::kInt32 || type == Type::kBool) return ElementType::kInt32;
  return fail(ErrorCode::kInvalidInput,
              "holds {}; supported are floating-point numbers of 16 to 64 bits, whole numbers of 8 and 16 bits, int32, "
              "int64 and bool",
              type_name(type));
}

float spacing_of(std::int64_t type) {
  if (type == Type::kFloat16) return 0x1p-10F;
  if (type == Type::kBfloat16) return 0x1p-7F;
  return 0;
}

std::string type_name(std::int64_t type) {
  using Proto = ::onnx::TensorProto;
  if (type == Type::kFloat) return "float32";
  if (type == Type::kDouble) return "float64";
  const auto number = static_cast<int>(type);
  if (number != type || !Proto::DataType_IsValid(number)) return fmt::format("type {}", type);
  std::string name = Proto::DataType_Name(static_cast<Proto::DataType>(number));
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
  return name;
}

}  // namespace cohort::onnx
