#pragma once

#include <onnx/onnx_pb.h>

#include <filesystem>
#include <string>

#include "models/onnx/graph.hpp"

namespace cohort::onnx {

/// Whether values of that type can be read.
bool is_readable(std::int32_t type);

/// Where the files lie that tensors may name; null: they may name none.
using Folder = const std::filesystem::path*;

/// The values of a tensor. Floating-point numbers of 16 and 64 bits become float32, whole numbers and truth values
/// int64.
/// Errors: kInvalidInput for another type, and where the tensor holds more or fewer values than its shape says.
Result<Constant> parse_constant(const ::onnx::TensorProto& tensor, Folder folder);

/// Whether a tensor is whole, be its type supported or not. Values in another file are not looked at.
Result<void> check_whole(const ::onnx::TensorProto& tensor);

}  // namespace cohort::onnx
