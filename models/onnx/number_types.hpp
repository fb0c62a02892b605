#pragma once

#include <cstdint>
#include <optional>

namespace cohort::onnx {

/// Numbers of types in ONNX's TensorProto.
struct Type {
  enum : std::int64_t {
    kFloat = 1,
    kUint8 = 2,
    kInt8 = 3,
    kUint16 = 4,
    kInt16 = 5,
    kInt32 = 6,
    kInt64 = 7,
    kBool = 9,
    kFloat16 = 10,
    kDouble = 11,
    kUint32 = 12,
    kBfloat16 = 16,
  };
};

/// What values of a type of whole numbers are, in 64 bits.
struct Range {
  int bits = 64;
  bool is_signed = true;
};

inline std::optional<Range> range_of(std::int64_t type) {
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

}  // namespace cohort::onnx
