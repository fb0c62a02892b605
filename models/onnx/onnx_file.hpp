#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "models/model.hpp"
#include "models/source.hpp"

namespace cohort::onnx {

struct ReadOptions {
  std::int64_t minibatch = 1;  ///< replaces a dynamic first dimension of the inputs
};

/// Reads an ONNX model, weights included, as it stands (not simplified).
/// Errors: kInvalidInput naming the file and what is wrong; ops that are not supported are one
/// error that lists all of them with op and opset.
Result<LoadedModel> read_model(const std::filesystem::path& path, const ReadOptions& options);

/// The same from bytes in memory.
Result<LoadedModel> parse_model(std::string_view bytes, const ReadOptions& options);

/// Serialised ONNX (IR 8, opset 13) that ONNX Runtime accepts.
Result<std::string> serialize_model(const LoadedModel& loaded);

/// A tensor file of an ONNX test-data folder (input_0.pb, output_0.pb), float32 only.
struct NamedTensor {
  std::string name;
  Shape shape;
  std::vector<float> values;
};
Result<NamedTensor> read_tensor(const std::filesystem::path& path);

/// The model a source names, built in or ONNX, simplified for inference, with the file's weights or
/// random ones from `seed`.
Result<LoadedModel> load(const ModelSource& source, std::uint64_t seed);

}  // namespace cohort::onnx
