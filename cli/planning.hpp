#pragma once

#include <deque>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/image_options.hpp"
#include "cli/members.hpp"
#include "executor/backend.hpp"
#include "simulator/costs/recorded_catalog.hpp"
#include "simulator/planner/planner.hpp"
#include "tracer/file/trace_file.hpp"
#include "tracer/trace.hpp"

namespace CLI {
class App;
}

namespace cohort {

/// Options that plan and simulate share: which members, on which input, within which limits.
struct PlanningOptions {
  std::vector<std::filesystem::path> profiles;
  std::vector<int> counts{1};  ///< members of each profile's model: one number for all profiles, or one by profile
  std::filesystem::path members;
  std::string data;
  ImageOptions images;
  std::string input = "shared";
  std::string bad_images = "skip";
  int decode_workers = 0;
  int buffers = 2;
  int launch_threads = 1;
  std::optional<LaunchMode> launch;  ///< of a GPU's steps; kGraph is a usage error of another device's
  std::uint64_t seed = 0;
  std::vector<std::string> limits;    ///< of bytes
  std::string precision;              ///< empty: that of the profiles
  std::filesystem::path gpu_profile;  ///< a fitted profile of the GPU; the published figures unless given
  bool choose_minibatch = false;      ///< profiles that differ in their minibatch alone stand for one choice
  std::optional<int> choose_models;   ///< instead of `counts`: 1, 2, 4, ... and so many, to choose from
};

/// "8GiB", "512MiB", "1000". Errors: kUsage naming the option.
Result<Bytes> parse_bytes(std::string_view option, std::string_view text);

/// Whether options hold what a plan may, so that a plan made with them can be read; before any file is.
/// Errors: kUsage naming the option.
Result<void> check_usage(const PlanningOptions& options);

void add_planning_options(CLI::App& app, PlanningOptions& options);

/// Errors: kInvalidInput naming the file and the field.
Result<Plan> read_plan(const std::filesystem::path& file);

/// Recorded profiles made ready to plan with: members loaded, costs and device known.
class PlanningInput {
 public:
  /// Errors: kInvalidInput naming the trace, option or member; kUsage for a limit or count that is wrong.
  static Result<std::unique_ptr<PlanningInput>> open(const PlanningOptions& options, const TraceReadOptions& read);
  /// For a plan that is there already.
  static Result<std::unique_ptr<PlanningInput>> open(const std::vector<std::filesystem::path>& profiles, Plan plan,
                                                     const std::filesystem::path& gpu_profile,
                                                     const TraceReadOptions& read);

  [[nodiscard]] const PlanningCase& planning_case() const { return cases_.front(); }
  /// One for each number of members to choose from, at each minibatch to choose from; else one.
  [[nodiscard]] const std::vector<PlanningCase>& cases() const { return cases_; }
  [[nodiscard]] const DeviceInfo& device() const { return device_; }
  /// Of the first profile: what files are called.
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  PlanningInput() = default;
  Result<void> read_profiles(const std::vector<std::filesystem::path>& files, const TraceReadOptions& read);
  [[nodiscard]] Result<void> check_profiled(std::string_view asked, Precision precision) const;
  [[nodiscard]] Result<void> check_profiled(Layout of_plan) const;
  [[nodiscard]] Result<void> check_images(const std::vector<std::filesystem::path>& files,
                                          std::string_view asked) const;
  Result<void> read_gpu_profile(const std::filesystem::path& file);
  Result<void> set_base(const PlanningOptions& options);
  Result<void> choose_members(const PlanningOptions& options);
  Result<void> check_repeated(const PlanningOptions& options) const;
  Result<void> prepare();

  std::vector<Trace> profiles_;
  std::vector<ModelSource> sources_;  ///< by profile
  std::optional<CostTable> costs_;
  DeviceInfo device_;
  Precision precision_ = Precision::kFloat32;  ///< of the profiles
  Layout layout_ = Layout::kNhwc;              ///< likewise
  std::optional<GpuDemands> gpu_;              ///< where the device is a GPU whose figures are known
  std::string name_;
  std::unique_ptr<Backend> backend_;  ///< null where the profiled device is not here
  std::unique_ptr<OpCatalog> catalog_;
  Plan base_;  ///< members apart
  std::vector<std::vector<Member>> choices_;
  std::deque<Plan> bases_;  ///< by choice
  std::deque<MemberStructures> members_;
  PlanningCase common_;  ///< of all cases
  std::vector<PlanningCase> cases_;
};

}  // namespace cohort
