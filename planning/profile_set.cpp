#include "planning/profile_set.hpp"

#include <algorithm>
#include <utility>

#include "devices/devices.hpp"
#include "planning/gpu_figures.hpp"
#include "planning/members.hpp"
#include "planning/recorded_settings.hpp"
#include "simulator/contention/gpu_profile.hpp"
#include "tracer/checked_plan_record.hpp"

namespace cohort {
namespace {

/// That CUDA makes use of.
constexpr std::int64_t kMostConnections = 32;

}  // namespace

Result<void> ProfileSet::add(NamedTrace profile) {
  const TraceInfo& info = profile.trace->info;
  const std::string file = profile.file.string();
  if (info.kind != TraceKind::kProfile)
    return fail(ErrorCode::kInvalidInput, "{} is a {} trace; planning needs a profile (cohort profile MODEL)", file,
                to_string(info.kind));
  if (!profiles_.empty() && info.device.name != profiles_.front().trace->info.device.name)
    return fail(ErrorCode::kInvalidInput, "{} was made on \"{}\", {} on \"{}\": a plan is of one device", file,
                info.device.name, profiles_.front().file.string(), profiles_.front().trace->info.device.name);
  auto source = source_of(profile.file, info);
  if (!source) return in_context(file, source.error());
  const auto precision = recorded_precision(info.settings);
  if (!precision) return in_context(file, precision.error());
  if (!profiles_.empty() && *precision != precision_)
    return fail(ErrorCode::kInvalidInput, "{} was recorded in {}, {} in {}: a plan computes in one precision", file,
                to_string(*precision), profiles_.front().file.string(), to_string(precision_));
  precision_ = *precision;
  const auto layout = recorded_layout(info.settings);
  if (!layout) return in_context(file, layout.error());
  if (!profiles_.empty() && *layout != layout_)
    return fail(ErrorCode::kInvalidInput, "{} was recorded in {}, {} in {}: a plan has one layout", file,
                to_string(*layout), profiles_.front().file.string(), to_string(layout_));
  layout_ = *layout;
  sources_.push_back(std::move(*source));
  profiles_.push_back(std::move(profile));
  return {};
}

/// A check of members of several models stands in the profile of each.
Result<void> ProfileSet::read_checked() {
  const auto take_moved = [&](ModelSource& source) {
    for (std::size_t i = 0; i < profiles_.size(); ++i) {
      const auto recorded = read_source(profiles_[i].trace->info.settings);
      if (!recorded || recorded->model != source.model) continue;
      source.model = sources_[i].model;
      return;
    }
  };
  std::vector<CheckedPlanRecord> known;
  for (const NamedTrace& profile : profiles_) {
    const std::vector<CheckedPlanRecord> of_others = known;
    for (const CheckedPlanRecord& record : checked_plans_of(*profile.trace)) {
      if (std::find(of_others.begin(), of_others.end(), record) != of_others.end()) continue;
      auto plan = parse_plan(record.plan);
      if (!plan)
        return in_context(fmt::format("{}: checked plan {}", profile.file.string(), record.name), plan.error());
      for (Member& member : plan->members) take_moved(member.source);
      checked_.push_back({*std::move(plan), record.step, record.baseline});
      known.push_back(record);
    }
  }
  return {};
}

/// A GPU shares itself among streams as its figures say; without them nothing can be said of streams.
Result<void> ProfileSet::read_gpu_profile(const std::filesystem::path& file) {
  if (!file.empty() && !on_gpu()) {
    return fail(ErrorCode::kUsage, "--device-profile {}: the profiles are of {}, which is not a GPU", file.string(),
                device_.kind.empty() ? "no known device" : device_.id);
  }
  COHORT_TRY(std::optional<GpuProfile> figures, gpu_figures(file));
  if (!figures && on_gpu()) figures = published_gpu_profile(device_.name);
  if (!figures) return {};
  // Not a fact of the GPU: what the plan's process asks for, as the one that recorded the profile did.
  if (const auto connections = number_setting(device_, kConnectionsSetting); connections && *connections > 0)
    figures->connections = static_cast<int>(std::min<std::int64_t>(*connections, kMostConnections));
  std::vector<const Trace*> recorded;
  for (const NamedTrace& profile : profiles_) recorded.push_back(profile.trace.get());
  gpu_.emplace(*std::move(figures), RecordedLaunches(recorded), precision_);
  return {};
}

/// The device may be elsewhere: then what was recorded of it must do.
void ProfileSet::open_catalog() {
  if (auto opened = open_device(device_.id); opened && is_profiled_device((*opened)->info(), device_))
    backend_ = std::move(*opened);
  catalog_ = std::make_unique<ProfiledDeviceCatalog>(*costs_, device_, precision_, device_profile_.cores,
                                                     backend_ ? &backend_->catalog() : nullptr);
}

Result<std::unique_ptr<ProfileSet>> ProfileSet::read(const std::vector<std::filesystem::path>& files,
                                                     const std::filesystem::path& gpu_profile,
                                                     const TraceReadOptions& read) {
  std::unique_ptr<ProfileSet> set(new ProfileSet());
  for (const auto& file : files) {
    COHORT_TRY(Trace trace, read_trace(file, read));
    COHORT_CHECK(set->add({file, std::make_shared<const Trace>(std::move(trace))}));
  }
  COHORT_CHECK(set->finish(gpu_profile));
  return set;
}

Result<std::unique_ptr<ProfileSet>> ProfileSet::of(std::vector<NamedTrace> profiles,
                                                   const std::filesystem::path& gpu_profile) {
  std::unique_ptr<ProfileSet> set(new ProfileSet());
  for (NamedTrace& profile : profiles) COHORT_CHECK(set->add(std::move(profile)));
  COHORT_CHECK(set->finish(gpu_profile));
  return set;
}

Result<void> ProfileSet::finish(const std::filesystem::path& gpu_profile) {
  std::vector<const Trace*> recorded;
  for (const NamedTrace& profile : profiles_) recorded.push_back(profile.trace.get());
  auto costs = CostTable::from(recorded);
  if (!costs && profiles_.size() == 1) return in_context(profiles_.front().file.string(), costs.error());
  COHORT_TRY(costs_, std::move(costs));
  device_ = recorded.front()->info.device;
  name_ = base_name(sources_.front().model);
  COHORT_TRY(device_profile_, device_profile_of(recorded));
  COHORT_CHECK(read_checked());
  COHORT_CHECK(read_gpu_profile(gpu_profile));
  open_catalog();
  return {};
}

PlanningCase ProfileSet::planning_case() {
  PlanningCase common;
  common.costs = &*costs_;
  common.device = device_profile_;
  common.catalog = catalog_.get();
  common.gpu = gpu_ ? &*gpu_ : nullptr;
  return common;
}

Result<void> ProfileSet::check_recorded_in(std::string_view asked, Precision precision) const {
  if (precision == precision_) return {};
  return fail(ErrorCode::kUsage, "{} {}: the profiles were recorded in {}; profile with --precision {}", asked,
              to_string(precision), to_string(precision_), to_string(precision));
}

Result<void> ProfileSet::check_recorded_in(Layout of_plan) const {
  if (of_plan == layout_) return {};
  return fail(ErrorCode::kUsage, "the plan's layout {}: the profiles were recorded in {}; profile with --layout {}",
              to_string(of_plan), to_string(layout_), to_string(of_plan));
}

Result<void> ProfileSet::check_images(const InputPlan& input, std::string_view asked) const {
  for (const NamedTrace& profile : profiles_)
    COHORT_CHECK(check_timed_alike(input, asked, *profile.trace, profile.file));
  return {};
}

}  // namespace cohort
