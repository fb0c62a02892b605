#include "models/onnx/tensor_values.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "base/float16.hpp"
#include "models/onnx/external_data.hpp"
#include "models/onnx/number_types.hpp"

namespace cohort::onnx {

namespace {

using Proto = ::onnx::TensorProto;

template <class Stored, class Field>
Stored from_field(Field value) {
  if constexpr (std::is_arithmetic_v<Stored>) {
    return static_cast<Stored>(value);
  } else {
    return {static_cast<std::uint16_t>(value)};
  }
}

/// Extents and number of elements, both bounded, so that later arithmetic cannot overflow.
Result<Shape> shape_of(const Proto& tensor) {
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  Shape shape(tensor.dims().begin(), tensor.dims().end());
  std::int64_t non_zero = 1;
  for (const std::int64_t extent : shape) {
    const bool overflows = extent > 0 && __builtin_mul_overflow(non_zero, extent, &non_zero);
    if (extent < 0 || overflows || non_zero > kMost)
      return fail(ErrorCode::kInvalidInput, "its shape {} is not valid", to_string(shape));
  }
  return shape;
}

/// A finite float64 beyond the range of float32 becomes the end of that range: masks are often the least float64, and
/// an infinity in their place would make a NaN of a row where everything is masked.
template <class Value, class Stored>
Value as_value(Stored stored) {
  if constexpr (std::is_same_v<Stored, double>) {
    constexpr auto kMost = static_cast<double>(std::numeric_limits<float>::max());
    if (std::isfinite(stored)) stored = std::clamp(stored, -kMost, kMost);
  }
  return static_cast<Value>(stored);
}

/// The values of `tensor`: `count` elements of type Stored as raw bytes, or else those of `field`.
template <class Stored, class Value, class Field>
Result<std::vector<Value>> values_of(const Proto& tensor, std::size_t count, const Field& field) {
  std::vector<Value> values;
  if (tensor.has_raw_data()) {
    const std::string& raw = tensor.raw_data();
    if (raw.size() != count * sizeof(Stored))
      return fail(ErrorCode::kInvalidInput, "it holds {} bytes where its {} elements of {} need {}", raw.size(), count,
                  type_name(tensor.data_type()), count * sizeof(Stored));
    values.resize(count);
    for (std::size_t i = 0; i < count; ++i) {
      Stored stored{};
      std::memcpy(&stored, raw.data() + i * sizeof(Stored), sizeof(Stored));
      values[i] = as_value<Value>(stored);
    }
    return values;
  }
  if (static_cast<std::size_t>(field.size()) != count)
    return fail(ErrorCode::kInvalidInput, "it holds {} values where its shape needs {}", field.size(), count);
  values.reserve(count);
  for (const auto value : field) values.push_back(as_value<Value>(from_field<Stored>(value)));
  return values;
}

template <class Stored, class Value, class Field>
Result<Constant> constant_of(const Proto& tensor, Shape shape, const Field& field) {
  const auto count = static_cast<std::size_t>(element_count(shape));
  COHORT_TRY(auto values, (values_of<Stored, Value>(tensor, count, field)));
  Constant constant = make_constant(std::move(shape), std::move(values));
  constant.type = tensor.data_type();
  return constant;
}

bool is_external(const Proto& tensor) {
  return tensor.data_location() == Proto::EXTERNAL || tensor.external_data_size() > 0;
}

Result<Constant> parse_external(const Proto& tensor, Folder folder) {
  if (folder == nullptr)
    return fail(ErrorCode::kInvalidInput, "its values lie in another file, which only a model in a file can name");
  std::map<std::string, std::string> fields;
  for (const auto& field : tensor.external_data()) fields[field.key()] = field.value();
  COHORT_TRY(std::string bytes, external_bytes(*folder, fields));
  Proto inside;
  inside.set_data_type(tensor.data_type());
  *inside.mutable_dims() = tensor.dims();
  inside.set_raw_data(std::move(bytes));
  return parse_constant(inside, nullptr);
}

/// Whole numbers of up to 32 bits, which a file may hold as int32.
Result<Constant> parse_narrow(const Proto& tensor, Shape shape) {
  using Whole = std::int64_t;
  switch (tensor.data_type()) {
    case Proto::INT8:
      return constant_of<std::int8_t, Whole>(tensor, std::move(shape), tensor.int32_data());
    case Proto::INT16:
      return constant_of<std::int16_t, Whole>(tensor, std::move(shape), tensor.int32_data());
    case Proto::UINT16:
      return constant_of<std::uint16_t, Whole>(tensor, std::move(shape), tensor.int32_data());
    case Proto::INT32:
      return constant_of<std::int32_t, Whole>(tensor, std::move(shape), tensor.int32_data());
    default:  // UINT8 and BOOL
      return constant_of<std::uint8_t, Whole>(tensor, std::move(shape), tensor.int32_data());
  }
}

}  // namespace

bool is_readable(std::int32_t type) { return is_floating(type) || type == Type::kBool || range_of(type); }

Result<Constant> parse_constant(const Proto& tensor, Folder folder) {
  if (!is_readable(tensor.data_type()))
    return fail(ErrorCode::kInvalidInput,
                "its type is {}; supported are floating-point numbers of 16 to 64 bits, and whole numbers",
                type_name(tensor.data_type()));
  if (is_external(tensor)) return parse_external(tensor, folder);
  COHORT_TRY(Shape shape, shape_of(tensor));
  switch (tensor.data_type()) {
    case Proto::FLOAT:
      return constant_of<float, float>(tensor, std::move(shape), tensor.float_data());
    case Proto::DOUBLE:
      return constant_of<double, float>(tensor, std::move(shape), tensor.double_data());
    case Proto::FLOAT16:
      return constant_of<Float16, float>(tensor, std::move(shape), tensor.int32_data());
    case Proto::BFLOAT16:
      return constant_of<Bfloat16, float>(tensor, std::move(shape), tensor.int32_data());
    case Proto::INT64:
      return constant_of<std::int64_t, std::int64_t>(tensor, std::move(shape), tensor.int64_data());
    case Proto::UINT32:
      return constant_of<std::uint32_t, std::int64_t>(tensor, std::move(shape), tensor.uint64_data());
    default:
      return parse_narrow(tensor, std::move(shape));
  }
}

Result<void> check_whole(const Proto& tensor) {
  if (is_external(tensor)) return {};
  COHORT_CHECK(shape_of(tensor));
  if (tensor.data_type() == Proto::UNDEFINED) return fail(ErrorCode::kInvalidInput, "it says no type");
  if (!is_readable(tensor.data_type())) return {};
  COHORT_CHECK(parse_constant(tensor, nullptr));
  return {};
}

}  // namespace cohort::onnx
