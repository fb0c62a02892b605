#include "training/step_profile.hpp"

#include "models/onnx/onnx_file.hpp"
#include "planning/profile_of_model.hpp"
#include "simulator/plan/tensor_layout.hpp"
#include "tracer/file/trace_file.hpp"

namespace cohort {

Result<void> profile_training_step(Backend& backend, const ModelSource& source, const std::filesystem::path& file,
                                   const CancelToken& cancel, const std::function<void(const std::string&)>& progress) {
  COHORT_TRY(const LoadedModel loaded, onnx::load(source, 0));
  ProfileOptions options;
  options.layout = usual_layout(backend.info().kind, options.precision);
  if (backend.info().kind == "cuda") {
    options.passes = 1;
  } else {
    options.budget = usual_budget(loaded.model);
  }
  options.progress = progress;
  COHORT_TRY(const Trace trace, profile_to_plan_with(backend, loaded, source, std::move(options), cancel));
  COHORT_CHECK(cancel.check());
  return write_trace(file, trace, Overwrite::kAllow);
}

}  // namespace cohort
