#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.hpp"
#include "models/model.hpp"

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

std::optional<Range> range_of(std::int64_t type);

/// `value` as a type of that range has it: what does not fit wraps around.
std::int64_t wrapped(std::int64_t value, const Range& range);

/// Whether values of that type are whole numbers or truth values, of whatever width.
bool is_whole(std::int64_t type);

/// Whether values of that type are whole numbers of 8 or 16 bits.
bool is_narrow(std::int64_t type);

/// Whether values of that type are floating point of 16 to 64 bits, all of which float32 stands for.
bool is_floating(std::int64_t type);

/// What holds values of that type in a model: float32 all floating-point numbers, and whole numbers of 8 and 16 bits
/// (whole_in_float.hpp); int32 the others.
/// Errors: kInvalidInput where values of the type cannot be read or written at run time.
Result<ElementType> element_of_type(std::int64_t type);

/// Distance of neighbouring values of a floating-point type of 16 bits, relative to them; 0 of others.
float spacing_of(std::int64_t type);

/// "float32", "int64", ...: how messages call a type. One without a name is "type N".
std::string type_name(std::int64_t type);

}  // namespace cohort::onnx
