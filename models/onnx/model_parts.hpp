#pragma once

#include <onnx/onnx_pb.h>

#include <functional>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace cohort::onnx {

/// A file's model, its initialisers apart. They are most of a large file: parsed one at a time, there is never a second
/// copy of them all.
struct ModelParts {
  ::onnx::ModelProto model;                    ///< without the initialisers of its graph
  std::vector<std::string_view> initializers;  ///< each a TensorProto, where it stands in the file
};

/// Parts of `bytes`, which must be less than 2 GiB and outlive them.
/// Errors: kInvalidInput where the bytes are no model, or are cut short.
Result<ModelParts> parts_of(std::string_view bytes);

/// Calls visit for each initialiser, in the file's order, to the first error.
/// Errors: visit's, and kInvalidInput where an initialiser is cut short.
Result<void> for_each_initializer(const ModelParts& parts,
                                  const std::function<Result<void>(const ::onnx::TensorProto&)>& visit);

}  // namespace cohort::onnx
