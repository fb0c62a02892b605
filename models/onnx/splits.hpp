#pragma once

#include <cstdint>
#include <vector>

#include "models/model.hpp"

namespace cohort::onnx {

/// Slices that together are the whole of one tensor, each part once: what ONNX has as one Split.
struct Split {
  std::int64_t axis = 0;
  std::vector<OpId> slices;  ///< by where they begin
};

/// All of a model, in the order of their tensors; a slice is in at most one.
std::vector<Split> find_splits(const Model& model);

}  // namespace cohort::onnx
