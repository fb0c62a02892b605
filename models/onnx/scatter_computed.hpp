#pragma once

#include <optional>

#include "models/onnx/importer.hpp"

namespace cohort::onnx {

/// x [outer, entries, inner] with updates [outer, n, inner] written to it, each to the entry that `places`, whole
/// numbers, [outer, n, inner] or [outer, n, 1], say in the step; where several meet, the last stays, or all are
/// combined with what is there. Every entry is compared with every place. Errors: kInvalidInput where that is more than
/// 2^25 comparisons.
Result<TensorId> scatter_computed(NodeImport& node, TensorId x, TensorId places, TensorId updates,
                                  std::optional<BinaryKind> reduction);

}  // namespace cohort::onnx
