#include "executor/run/batch_run.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "executor/input/npy.hpp"
#include "executor/input_values.hpp"
#include "simulator/plan/lower.hpp"

namespace cohort {
namespace {

InputOptions input_options(const Plan& plan, const BatchRunOptions& options) {
  InputOptions input;
  input.workers = plan.input.decode_workers;
  input.seed = plan.input.seed;
  input.on_bad_image = plan.input.bad_images == BadImages::kFatal ? OnBadImage::kFatal : OnBadImage::kSkip;
  input.observer = options.stages;
  input.cancel = options.cancel;
  return input;
}

/// An input's name as a file's: without its member, and what stands for folders in it as one word.
std::string file_name(std::string name) {
  const std::size_t slash = name.find('/');
  const bool has_member = slash != std::string::npos && slash > 0 && name.find_first_not_of("0123456789") == slash;
  if (has_member) name.erase(0, slash + 1);
  std::replace(name.begin(), name.end(), '/', '_');
  return name;
}

/// `<folder>/<input name>.npy`, of exactly the input's shape. Any type will do whose values a float32 can hold.
Result<std::vector<float>> read_array(const std::string& folder, const ProgramInput& input) {
  const std::string name = file_name(input.name);
  const auto path = std::filesystem::path(folder) / (name + ".npy");
  COHORT_TRY(NpyArray array, read_npy(path));
  if (array.shape != input.shape)
    return fail(ErrorCode::kInvalidInput, "{}: shape {} does not fit input {} of shape {}", path.string(),
                to_string(array.shape), name, to_string(input.shape));
  const auto is_inexact = [](float value) { return std::abs(value) >= 0x1p24F; };
  if (input.element != ElementType::kFloat32 && std::any_of(array.values.begin(), array.values.end(), is_inexact))
    return fail(ErrorCode::kInvalidInput, "{}: whole numbers from 2^24 (16777216) on cannot be read exactly",
                path.string());
  return as_elements(input, std::move(array.values));
}

/// Of inputs that are the same in every step.
InputValues values_of(const Plan& plan) {
  return [&plan](const ProgramInput& input, InputPlace place) -> Result<std::vector<float>> {
    const bool is_given = plan.input.source == InputSource::kArrays && input.role != TensorRole::kSetting;
    if (is_given) return read_array(plan.input.path, input);
    return generated_values(input, plan.input.seed, place);
  };
}

}  // namespace

Result<std::unique_ptr<BatchRun>> BatchRun::open(Backend& backend, const Plan& plan, const MemberModels& members,
                                                 const BatchRunOptions& options) {
  if (plan.resolved && !plan.resolved->device.empty() && plan.resolved->device != backend.info().name &&
      plan.resolved->fingerprint == fingerprint(plan))
    return fail(ErrorCode::kInvalidInput,
                "resolved.device: the plan was made for {}, this device is {}; plan again here, or delete resolved to "
                "run it as it is",
                plan.resolved->device, backend.info().name);
  COHORT_TRY(Program program, lower(plan, members.models, backend.catalog()));
  std::unique_ptr<BatchRun> run(new BatchRun(std::move(program), options.cancel));
  const bool decodes = plan.input.source == InputSource::kFolder;
  const auto fill = [&](Runner& runner) { return fill_inputs(runner, values_of(plan)); };
  COHORT_TRY(run->runner_, Runner::create(backend, run->program_, members.weights,
                                          decodes ? Runner::FillInputs() : Runner::FillInputs(fill)));
  if (decodes) COHORT_CHECK(run->open_folder(plan, options));
  return run;
}

Result<void> BatchRun::open_folder(const Plan& plan, const BatchRunOptions& options) {
  COHORT_TRY(ImageFolder folder, scan_image_folder(plan.input.path));
  COHORT_TRY(feeder_,
             Feeder::open(*runner_, std::move(folder), input_options(plan, options), image_target(plan.input.images)));
  return {};
}

Result<void> BatchRun::step() { return feeder_ ? feeder_->step() : runner_->step(0); }

Result<Nanoseconds> BatchRun::timed_steps(int steps, const TimeSource& now) {
  return feeder_ ? feeder_->timed_steps(steps, now) : runner_->timed_steps(steps, now, cancel_);
}

std::vector<BadImage> BatchRun::bad_images() const {
  return feeder_ ? feeder_->pipelines().bad_images() : std::vector<BadImage>();
}

}  // namespace cohort
