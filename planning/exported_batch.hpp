#pragma once

#include <string>

#include "base/result.hpp"
#include "models/model.hpp"
#include "simulator/plan/plan.hpp"

namespace cohort {

/// A plan's model batch as an ONNX model.
struct ExportedBatch {
  Model model;        ///< what is in the file
  std::string bytes;  ///< of the file
  std::string data;   ///< of the file with the weights beside it; empty where they are in the first
};

enum class ExportFusion {
  kPlan,  ///< what the plan fuses
  kAll,   ///< what fuse_all() does
};

/// Loads the plan's members and writes them as one model, as batch_model() makes it. `data_name` is what the file with
/// the weights will be called, should one be needed.
/// Errors: those of LoadedMembers::load(), batch_model() and onnx::serialize_model().
Result<ExportedBatch> export_batch(const Plan& plan, ExportFusion fusion, const std::string& data_name);

}  // namespace cohort
