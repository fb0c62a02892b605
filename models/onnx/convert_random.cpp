#include "models/onnx/converters.hpp"
#include "models/onnx/number_types.hpp"

namespace cohort::onnx {

namespace {

/// The numbers that the node would draw are an input of the model, which is called as they are: whoever runs it chooses
/// them, and the same ones give the same outputs.
Result<void> convert_drawn(NodeImport& node, const Shape& shape, std::int64_t otherwise) {
  COHORT_TRY(const std::int64_t type, node.integer("dtype", otherwise));
  if (is_whole(type))
    return fail(ErrorCode::kInvalidInput,
                "draws numbers of type {}; random numbers are floating-point, as attribute "
                "dtype has to say",
                type_name(type));
  COHORT_CHECK(element_of_type(type));
  for (const char* const name : {"mean", "scale", "low", "high", "seed"}) node.ignore(name);
  COHORT_CHECK(check_shape(shape));
  node.set_random_input(shape, type);
  return {};
}

}  // namespace

Result<void> convert_random(NodeImport& node) {
  COHORT_TRY(const Shape shape, node.integer_list("shape", {}));
  return convert_drawn(node, shape, Type::kFloat);
}

Result<void> convert_random_like(NodeImport& node) {
  COHORT_TRY(const Shape shape, node.shape(0));
  COHORT_TRY(const ElementType element, node.element(0));
  return convert_drawn(node, shape, element == ElementType::kFloat32 ? Type::kFloat : Type::kInt64);
}

}  // namespace cohort::onnx
