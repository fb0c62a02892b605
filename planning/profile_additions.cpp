#include "planning/profile_additions.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <memory>
#include <utility>

#include "devices/devices.hpp"
#include "executor/profile/profile.hpp"
#include "models/onnx/onnx_file.hpp"
#include "planning/needed_calls.hpp"
#include "planning/plan_files.hpp"
#include "planning/planning_input.hpp"
#include "planning/profiled_catalog.hpp"
#include "planning/recorded_settings.hpp"
#include "tracer/file/trace_file.hpp"

namespace cohort {
namespace {

/// Of all plans, each call once.
Result<std::vector<WantedCase>> wanted_by(const ProfileAdditionOptions& options) {
  std::vector<WantedCase> wanted;
  for (const std::filesystem::path& file : options.plans) {
    COHORT_TRY(Plan plan, read_plan(file));
    plan.resolved.reset();
    COHORT_TRY(const auto input, PlanningInput::open(options.profiles, plan, {}, options.read));
    auto calls = needed_calls(input->planning_case(), plan);
    if (!calls) return in_context(file.string(), calls.error());
    for (WantedCase& call : *calls) {
      if (std::find(wanted.begin(), wanted.end(), call) == wanted.end()) wanted.push_back(std::move(call));
    }
  }
  return wanted;
}

using Devices = std::map<std::string, std::unique_ptr<Backend>>;

/// A profile that is added to.
class Addition {
 public:
  /// `devices` are those that are open, by id; the profile's is among them afterwards, and must outlive this.
  static Result<Addition> open(std::filesystem::path file, const ProfileAdditionOptions& options, Devices& devices) {
    COHORT_TRY(Trace profile, read_trace(file, options.read));
    COHORT_CHECK(check_can_be_timed(profile.info.device, file.string()));
    COHORT_TRY(const ModelSource source, source_of(file, profile.info));
    COHORT_TRY(LoadedModel loaded, onnx::load(source, 0));
    std::unique_ptr<Backend>& backend = devices[profile.info.device.id];
    if (backend == nullptr) {
      COHORT_TRY(backend, open_device(profile.info.device.id));
    }
    COHORT_CHECK(check_profiled_device(backend->info(), profile.info.device, file.string()));
    Addition made(std::move(file), std::move(profile), std::move(loaded), *backend);
    COHORT_TRY(made.profiling_.precision, recorded_precision(made.profile_.info.settings));
    COHORT_TRY(made.profiling_.layout, recorded_layout(made.profile_.info.settings));
    made.left_ = options.budget ? Nanoseconds(std::llround(*options.budget * 1e9)) : usual_budget(made.loaded_.model);
    made.profiling_.progress = options.progress;
    return made;
  }

  /// Times those of the model's ops, but for what was tried before, and writes the file. Returns whether any was tried.
  Result<bool> add(const std::vector<WantedCase>& wanted, const CancelToken& cancel) {
    std::vector<WantedCase> own;
    for (const WantedCase& each : wanted) {
      if (has(each) && std::find(tried_.begin(), tried_.end(), each) == tried_.end()) own.push_back(each);
    }
    without_ = own.size();
    if (own.empty()) return false;
    profiling_.budget = left_;
    const Nanoseconds begin = steady_now();
    auto added = add_to_profile(*backend_, loaded_, profiling_, own, cancel, profile_);
    left_ = std::max(Nanoseconds(0), left_ - (steady_now() - begin));
    if (!added) return in_context(file_.string(), added.error());
    if (added->records > 0) COHORT_CHECK(write_trace(file_, profile_, Overwrite::kAllow));
    records_ += added->records;
    without_ -= added->tried;
    tried_.insert(tried_.end(), own.begin(), own.begin() + static_cast<std::ptrdiff_t>(added->tried));
    std::move(added->left_out.begin(), added->left_out.end(), std::back_inserter(left_out_));
    return added->tried > 0;
  }

  [[nodiscard]] ProfileAddition result() const {
    return {file_, tried_.size() + without_, without_, records_, left_out_};
  }

 private:
  Addition(std::filesystem::path file, Trace profile, LoadedModel loaded, Backend& backend)
      : file_(std::move(file)), profile_(std::move(profile)), loaded_(std::move(loaded)), backend_(&backend) {}

  [[nodiscard]] bool has(const WantedCase& wanted) const {
    const std::vector<Op>& ops = loaded_.model.ops;
    return std::any_of(ops.begin(), ops.end(),
                       [&](const Op& op) { return signature_of(loaded_.model, op) == wanted.signature; });
  }

  std::filesystem::path file_;
  Trace profile_;
  LoadedModel loaded_;
  Backend* backend_;
  ProfileOptions profiling_;
  Nanoseconds left_{};  ///< of the budget
  std::vector<WantedCase> tried_;
  std::size_t without_ = 0;  ///< calls that there was no time for
  std::size_t records_ = 0;
  std::vector<std::string> left_out_;
};

}  // namespace

Result<std::vector<ProfileAddition>> add_to_profiles(const ProfileAdditionOptions& options, const CancelToken& cancel) {
  COHORT_TRY(std::vector<WantedCase> wanted, wanted_by(options));
  Devices devices;
  std::vector<Addition> additions;
  for (const std::filesystem::path& file : options.profiles) {
    COHORT_TRY(Addition addition, Addition::open(file, options, devices));
    additions.push_back(std::move(addition));
  }
  // A call that was timed may take longer than it was thought to, and the plan then make it in another way, on fewer
  // threads or by another algorithm, that is still not timed. Each round tries calls that none before it did.
  for (bool any = true; any && !cancel.cancelled();) {
    any = false;
    for (Addition& addition : additions) {
      COHORT_TRY(const bool tried, addition.add(wanted, cancel));
      any = any || tried;
    }
    if (any && !cancel.cancelled()) {
      COHORT_TRY(wanted, wanted_by(options));
    }
  }
  std::vector<ProfileAddition> results;
  for (const Addition& addition : additions) results.push_back(addition.result());
  return results;
}

}  // namespace cohort
