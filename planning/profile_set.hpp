#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "executor/backend.hpp"
#include "planning/named_trace.hpp"
#include "planning/profiled_catalog.hpp"
#include "simulator/planner/learned_ratios.hpp"
#include "simulator/planner/planner.hpp"
#include "tracer/file/trace_file.hpp"
#include "tracer/trace.hpp"

namespace cohort {

/// Recorded profiles of models on one device, in one precision and layout, for planning any number of members of these
/// models.
class ProfileSet {
 public:
  /// `gpu_profile`: figures of the GPU; the published ones where empty.
  /// Errors: kInvalidInput naming the file that is no profile, or does not fit the first; kUsage for figures of a GPU
  /// where there is none.
  static Result<std::unique_ptr<ProfileSet>> read(const std::vector<std::filesystem::path>& files,
                                                  const std::filesystem::path& gpu_profile,
                                                  const TraceReadOptions& read);
  /// The same of profiles that have been read.
  static Result<std::unique_ptr<ProfileSet>> of(std::vector<NamedTrace> profiles,
                                                const std::filesystem::path& gpu_profile);

  [[nodiscard]] const std::vector<NamedTrace>& profiles() const { return profiles_; }  ///< by file
  [[nodiscard]] const std::vector<ModelSource>& sources() const { return sources_; }   ///< by file
  /// Plans that were run (cohort plan --check), of all profiles; each once.
  [[nodiscard]] const std::vector<CheckedPlan>& checked() const { return checked_; }
  [[nodiscard]] const DeviceInfo& device() const { return device_; }
  [[nodiscard]] bool on_gpu() const { return device_.kind == "cuda"; }
  [[nodiscard]] Precision precision() const { return precision_; }
  [[nodiscard]] Layout layout() const { return layout_; }
  [[nodiscard]] const OpCatalog& catalog() const { return *catalog_; }
  /// Where the device is a GPU whose figures are known.
  [[nodiscard]] const std::optional<GpuDemands>& gpu() const { return gpu_; }
  /// Of the first profile's model: what files are called.
  [[nodiscard]] const std::string& name() const { return name_; }

  /// Costs, device and ways of each op, without members: what all cases of these profiles share. It points into this.
  [[nodiscard]] PlanningCase planning_case();

  /// Checks precision and layout, as times recorded in one say nothing about another. `asked` is the option that asks:
  /// "--precision".
  /// Errors: kUsage naming what to profile with.
  [[nodiscard]] Result<void> check_recorded_in(std::string_view asked, Precision precision) const;
  [[nodiscard]] Result<void> check_recorded_in(Layout of_plan) const;
  /// check_timed_alike() of all profiles.
  [[nodiscard]] Result<void> check_images(const InputPlan& input, std::string_view asked) const;

 private:
  ProfileSet() = default;
  Result<void> add(NamedTrace profile);
  Result<void> read_checked();
  Result<void> read_gpu_profile(const std::filesystem::path& file);
  void open_catalog();
  Result<void> finish(const std::filesystem::path& gpu_profile);

  std::vector<NamedTrace> profiles_;
  std::vector<ModelSource> sources_;
  std::vector<CheckedPlan> checked_;
  std::optional<CostTable> costs_;
  DeviceInfo device_;
  DeviceProfile device_profile_;
  Precision precision_ = Precision::kFloat32;
  Layout layout_ = Layout::kNhwc;
  std::optional<GpuDemands> gpu_;
  std::string name_;
  std::unique_ptr<Backend> backend_;  ///< null where the profiled device is not here
  std::unique_ptr<OpCatalog> catalog_;
};

}  // namespace cohort
