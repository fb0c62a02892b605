#include "planning/exported_batch.hpp"

#include "models/onnx/onnx_file.hpp"
#include "planning/members.hpp"
#include "simulator/plan/batch_model.hpp"
#include "simulator/plan/fuse_all.hpp"

namespace cohort {

Result<ExportedBatch> export_batch(const Plan& plan, ExportFusion fusion, const std::string& data_name) {
  COHORT_TRY(const LoadedMembers members, LoadedMembers::load(plan.members));
  const std::vector<const Model*>& models = members.models().models;
  const Plan fused = fusion == ExportFusion::kAll ? fuse_all(plan, models) : plan;
  COHORT_TRY(LoadedModel batch, batch_model(fused, models, members.models().weights));
  batch = simplify(std::move(batch));
  COHORT_TRY(onnx::ModelFiles files, onnx::serialize_model(batch, data_name));
  return ExportedBatch{std::move(batch.model), std::move(files.model), std::move(files.data)};
}

}  // namespace cohort
