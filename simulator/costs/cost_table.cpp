#include "simulator/costs/cost_table.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <span>
#include <utility>

#include "base/csv.hpp"
#include "base/statistics.hpp"

namespace cohort {
namespace {

/// On two cores an AlexNet-like step on both took 9.2 ms alone and 32.0 ms beside two busy workers,
/// where its share of the cores accounts for 18.4 ms (oneDNN 2.6 on OpenMP, measured once).
constexpr double kUsualOversubscriptionPenalty = 1.7;

/// What is used in turn stays in a cache until it is full, and then misses it each time: warm up to the first part of
/// the cache, cold from the second on. A judgement, since what the runner and the system touch is not known.
constexpr double kCachedPart = 0.75;
constexpr double kUncachedPart = 1.25;

Nanoseconds rounded(double time) { return Nanoseconds(std::llround(time)); }

Bytes scaled(Bytes bytes, double factor) { return {std::llround(static_cast<double>(bytes.value) * factor)}; }

/// The recorded width next to `width`: itself, else the nearest, the lower among equals.
template <class Widths>
auto nearest_width(const Widths& widths, int width) {
  auto best = widths.begin();
  for (auto it = widths.begin(); it != widths.end(); ++it) {
    if (std::abs(it->first - width) < std::abs(best->first - width)) best = it;
  }
  return best;
}

Result<std::string> device_name_of(std::span<const Trace* const> profiles) {
  if (profiles.empty()) return fail(ErrorCode::kInvalidInput, "no profile was given");
  const std::string& name = profiles.front()->info.device.name;
  for (std::size_t i = 0; i < profiles.size(); ++i) {
    if (profiles[i]->info.kind != TraceKind::kProfile) {
      return fail(ErrorCode::kInvalidInput,
                  "trace {} is a {} trace; a profile is needed (make one with cohort profile)", i + 1,
                  to_string(profiles[i]->info.kind));
    }
    if (profiles[i]->info.device.name != name) {
      return fail(ErrorCode::kInvalidInput, "profile {} was made on \"{}\", the first one on \"{}\"", i + 1,
                  profiles[i]->info.device.name, name);
    }
  }
  return name;
}

bool is_in_place(ProfileState state) { return state == ProfileState::kInModel || state == ProfileState::kInPlan; }

}  // namespace

std::string_view to_string(CostOrigin origin) {
  switch (origin) {
    case CostOrigin::kProfiled:
      return "profiled";
    case CostOrigin::kInterpolated:
      return "interpolated";
    case CostOrigin::kAnalytic:
      return "analytic";
  }
  return "";
}

CostTable::CostTable(std::span<const ProfileRecord> records, Bytes core_cache) {
  using Point = std::tuple<std::string, Form, int, int, bool, Bytes, ProfileState>;
  std::map<Point, std::vector<Nanoseconds>> samples;
  for (std::size_t i = 0; i < records.size(); ++i) {
    const ProfileRecord& record = records[i];
    const Form form{record.strategy, record.threads, record.algorithm};
    const std::string signature = recorded_signature(record.signature);
    usual_.in_model = usual_.in_model || is_in_place(record.state);
    const bool is_single = record.width == 1 && record.threads == 1 && record.neighbours == 0;
    const bool among_teams = record.state == ProfileState::kInModel && is_single && record.around > 1;
    samples[{signature, form, record.width, record.neighbours, among_teams, record.footprint, record.state}].push_back(
        record.time);
    OpTimes::Timing& timing = ops_[signature].timing(form, record.width);
    timing.first_seen = std::min(timing.first_seen, i);
    timing.workspace = std::max(timing.workspace, record.workspace);
    timing.packed_weights = std::max(timing.packed_weights, record.packed_weights);
    if (record.state == ProfileState::kInPlan && is_single && record.around > 1) timing.in_plan_of_teams = true;
  }
  std::vector<double> spreads;
  for (const auto& [point, times] : samples) {
    constexpr std::size_t kEnough = 5;
    if (std::get<ProfileState>(point) != ProfileState::kInModel || times.size() < kEnough) continue;
    most_footprint_ = std::max(most_footprint_, std::get<Bytes>(point));
    const Nanoseconds usual = median(times);
    if (usual <= Nanoseconds(0)) continue;
    // Of a normal distribution the middle half is 1.349 standard deviations wide.
    spreads.push_back(seconds(quantile(times, 0.75) - quantile(times, 0.25)) / 1.349 / seconds(usual));
  }
  if (!spreads.empty()) spread_ = median(std::move(spreads));
  for (const auto& [point, times] : samples) {  // ascending by footprint within a curve
    const auto& [signature, form, width, neighbours, among_teams, footprint, state] = point;
    OpTimes::Timing& timing = ops_[signature].timing(form, width);
    auto& curves = !is_in_place(state)                             ? timing.by_neighbours
                   : state == ProfileState::kInModel && width == 1 ? timing.in_model
                                                                   : timing.in_plan;
    OpTimes::Curve& curve = among_teams ? timing.among_teams : curves[neighbours];
    curve.points.emplace_back(footprint, static_cast<double>(median(times).count()));
    // Each thread keeps its part of the weights in the cache of its own core, and each neighbour its own weights.
    const double caches = std::get<int>(form) * (neighbours + 1);
    curve.cached = scaled(core_cache, kCachedPart * caches);
    curve.uncached = scaled(core_cache, kUncachedPart * caches);
  }
  std::map<int, std::vector<double>> beside, fused, between;
  std::vector<double> slower_among_teams;
  for (auto& [signature, op] : ops_) {
    if (signature.starts_with(kCopyPrefix)) copies_.emplace(signature, parse_copy(signature));
    for (const double ratio : op.among_teams_ratios()) slower_among_teams.push_back(ratio);
    op.correct();
    for (const auto& [neighbours, ratio] : op.slowdowns_in_model()) beside[neighbours].push_back(ratio);
  }
  for (auto& [neighbours, ratios] : beside) usual_.beside[neighbours] = median(std::move(ratios));
  if (!slower_among_teams.empty()) usual_.among_teams = median(std::move(slower_among_teams));
  for (const auto& [signature, op] : ops_) {
    for (const auto& [neighbours, ratio] : op.fused_ratios(usual_)) fused[neighbours].push_back(ratio);
    for (const auto& [neighbours, ratio] : op.between_ratios(usual_)) between[neighbours].push_back(ratio);
  }
  for (auto& [neighbours, ratios] : fused) usual_.fused[neighbours] = median(std::move(ratios));
  for (auto& [neighbours, ratios] : between) usual_.between[neighbours] = median(std::move(ratios));
}

namespace {

/// A GPU tells how long an op takes by events around it, which take time themselves; of a kernel of a microsecond most.
void take_off_events(std::span<ProfileRecord> profile) {
  constexpr int kLeastPart = 4;  // of what was recorded remains, however disturbed either was
  std::vector<Nanoseconds> events;
  for (const ProfileRecord& record : profile) {
    if (record.signature == kEventOverheadRecord) events.push_back(record.time);
  }
  if (events.empty()) return;
  const Nanoseconds typical = median(std::move(events));
  for (ProfileRecord& record : profile) {
    const bool is_op = !record.algorithm.empty();
    if (is_op) record.time = std::max(record.time - typical, record.time / kLeastPart);
  }
}

/// Neither end counts for a few samples that were disturbed. The short end is what ops were timed with: samples taken
/// while cores were apart are left out of profiles where there are others.
std::optional<CostTable::RoundTrip> round_trip_of(std::span<const ProfileRecord> profile) {
  constexpr double kFew = 0.1;
  std::vector<Nanoseconds> times;
  for (const ProfileRecord& record : profile) {
    if (record.signature == kRoundTripRecord && record.time > Nanoseconds(0)) times.push_back(record.time);
  }
  if (times.empty()) return std::nullopt;
  return CostTable::RoundTrip{quantile(times, kFew), quantile(times, 1 - kFew)};
}

/// Of a normal distribution the middle 80% is 2.563 standard deviations wide. The samples come from a few passes that
/// lie seconds apart, so that they hold what makes a machine slower for a while.
double variation_of(const std::vector<Nanoseconds>& samples) {
  constexpr std::size_t kEnough = 4;
  if (samples.size() < kEnough || median(samples) <= Nanoseconds(0)) return 0;
  return seconds(quantile(samples, 0.9) - quantile(samples, 0.1)) / 2.563 / seconds(median(samples));
}

}  // namespace

Result<CostTable> CostTable::from(std::span<const Trace* const> profiles) {
  COHORT_CHECK(device_name_of(profiles));
  std::vector<ProfileRecord> records;
  std::optional<RoundTrip> slowest;
  for (std::size_t i = 0; i < profiles.size(); ++i) {
    const std::size_t before = records.size();
    for (const Slice& slice : profiles[i]->slices) {
      std::optional<ProfileRecord> record = profile_record_of(*profiles[i], slice);
      const bool counts = record && record->state != ProfileState::kFlushed && record->state != ProfileState::kFirst;
      if (counts) records.push_back(*std::move(record));
    }
    take_off_events(std::span(records).subspan(before));
    if (records.size() == before) return fail(ErrorCode::kInvalidInput, "profile {} holds no profile record", i + 1);
    const auto own = round_trip_of(std::span(records).subspan(before));
    if (own && (!slowest || own->longest > slowest->longest)) slowest = own;
  }
  CostTable table(records, Bytes{number_setting(profiles[0]->info.device, kCoreCacheSetting).value_or(0)});
  table.round_trip_ = slowest;
  for (const Trace* profile : profiles) {
    if (const auto lacking = profile->info.settings.find(std::string(kLacking));
        lacking != profile->info.settings.end())
      table.lacking_ += (table.lacking_.empty() ? "" : ", ") + lacking->second;
    const auto& device = profile->info.device.settings;
    if (const auto from = device.find(std::string(kEstimatedFrom)); from != device.end()) {
      const auto within = device.find(std::string(kEstimatedWithin));
      const auto known = within == device.end() ? std::nullopt : csv_number(within->second);
      const double off = std::clamp(known.value_or(1), 0.0, 1.0);
      if (table.estimated_from_.empty() || off > table.estimated_within_) {
        table.estimated_from_ = from->second;
        table.estimated_within_ = off;
      }
    }
    const WallTimes* const whole = profile->info.wall(kWallInTurn);
    const WallTimes* const ops = profile->info.wall(kWallOpsInTurn);
    if (whole == nullptr || ops == nullptr || whole->samples.empty() || ops->samples.empty()) continue;
    const Nanoseconds step = median(whole->samples);
    if (step <= Nanoseconds(0)) continue;
    const double ratio = seconds(median(ops->samples)) / seconds(step);
    table.unexplained_ = std::max(table.unexplained_, std::abs(1 - ratio));
    table.variation_ = std::max(table.variation_, variation_of(whole->samples));
  }
  return table;
}

const OpTimes* CostTable::find(std::string_view signature) const {
  const auto found = ops_.find(signature);
  return found == ops_.end() ? nullptr : &found->second;
}

OpTimes::WidthCosts CostTable::width_costs(const OpTimes& op, const CostKey& key, const CostContext& context) const {
  return op.width_costs({std::string(to_string(key.strategy)), key.threads, key.algorithm}, context, usual_);
}

/// One launch of several ops as it was recorded; where no mix of them was, of each op's own launch of as many members
/// as much as it is of the mix; where those were not recorded either, one after another.
Result<Cost> CostTable::group_cost(const CostKey& key, const CostContext& context) const {
  const auto launch_of = [&](std::string signature) {
    return CostKey{std::move(signature), Strategy::kGroupedGemm, key.width, key.threads, key.algorithm};
  };
  std::string whole = recorded_signature(key.signature);
  if (has_group(whole, key.threads)) return recorded_cost(launch_of(std::move(whole)), context);
  const std::map<std::string, int> ops = ops_of(key.signature);
  const bool each =
      std::all_of(ops.begin(), ops.end(), [&](const auto& op) { return has_group(op.first, key.threads); });
  Nanoseconds sum{};
  for (const auto& [signature, number] : ops) {
    COHORT_TRY(const Cost one, each
                                   ? recorded_cost(launch_of(signature), context)
                                   : recorded_cost({signature, Strategy::kSerial, 1, key.threads, key.alone}, context));
    sum += one.time * number;
  }
  return each ? Cost{sum / key.width, CostOrigin::kInterpolated} : Cost{sum, CostOrigin::kAnalytic};
}

Result<Cost> CostTable::cost(const CostKey& key, const CostContext& context) const {
  if (std::string_view(key.signature).starts_with(kGroupPrefix)) return group_cost(key, context);
  if (std::string_view(key.signature).starts_with(kCopyPrefix)) return copy_cost(key, context);
  if (const std::string copy = copy_of_reshape(key.signature); !copy.empty() && find(key.signature) == nullptr) {
    CostKey moved = key;
    moved.signature = copy;
    return copy_cost(moved, context);
  }
  const std::string_view for_all = for_all_multiprocessors(key.signature);
  if (for_all.size() == key.signature.size() || has_form(key.signature, key.strategy, key.threads))
    return recorded_cost(key, context);
  CostKey whole = key;
  whole.signature = for_all;
  return recorded_cost(whole, context);
}

Result<Cost> CostTable::recorded_cost(const CostKey& key, const CostContext& context) const {
  const OpTimes* const op = find(key.signature);
  const auto unknown = [&] {
    return fail(ErrorCode::kInvalidInput, "no recorded time of op \"{}\" on {} thread{}; {}", key.signature,
                key.threads, key.threads == 1 ? "" : "s",
                op == nullptr ? "profile a model that has it (cohort profile) and give that trace, too"
                              : "it was timed in other ways: profile its model again (cohort profile)");
  };
  if (op == nullptr) return unknown();
  OpTimes::WidthCosts costs = width_costs(*op, key, context);
  if (const auto exact = costs.find(key.width); exact != costs.end()) {
    const bool this_way = key.algorithm.empty() || has(key);  // else the fastest stands in for it
    return Cost{rounded(exact->second), this_way ? CostOrigin::kProfiled : CostOrigin::kInterpolated};
  }
  if (key.strategy == Strategy::kSerial) return unknown();

  const bool recorded = !costs.empty();
  if (costs.size() < 2) {
    const CostKey single{key.signature, Strategy::kSerial, 1, key.threads, ""};
    const OpTimes::WidthCosts alone = width_costs(*op, single, {context.footprint, context.neighbours});
    if (alone.empty() && !recorded) return unknown();
    if (!recorded) return Cost{rounded(alone.begin()->second * key.width), CostOrigin::kAnalytic};
    if (!alone.empty()) costs.emplace(1, alone.begin()->second);
  }
  const auto& [first_width, first_time] = *costs.begin();
  if (costs.size() == 1) return Cost{rounded(first_time * key.width / first_width), CostOrigin::kInterpolated};
  return Cost{rounded(*between_widths(costs, key.width)), CostOrigin::kInterpolated};
}

/// As copies of its kind do; where none was recorded, as any.
Result<Cost> CostTable::copy_cost(const CostKey& key, const CostContext& context) const {
  if (copies_.empty())
    return fail(ErrorCode::kInvalidInput, "no recorded time of a copy (\"{}\"); profile again with this version",
                key.signature);
  const auto time_of = [&](const std::string& signature) -> std::optional<double> {
    CostKey recorded = key;
    OpTimes::WidthCosts costs = width_costs(*find(signature), recorded, context);
    for (int threads = 1; costs.empty() && threads < key.threads; ++threads) {
      recorded.threads = threads;
      costs = width_costs(*find(signature), recorded, context);
    }
    return costs.empty() ? std::nullopt : std::optional(costs.begin()->second);
  };
  if (find(key.signature) != nullptr) {
    if (const auto time = time_of(key.signature)) return Cost{rounded(*time), CostOrigin::kProfiled};
  }
  const CopySignature asked = parse_copy(key.signature);
  CopyTimes of_kind, of_all;
  for (const auto& [signature, copy] : copies_) {
    const auto time = time_of(signature);
    if (!time) continue;
    of_all.add(copy, *time);
    if (copy.kind == asked.kind) of_kind.add(copy, *time);
  }
  std::optional<double> time = of_kind.time(asked);
  if (!time) time = of_all.time(asked);
  if (!time)
    return fail(ErrorCode::kInvalidInput, "no recorded time of a copy (\"{}\") on {} threads; profile again",
                key.signature, key.threads);
  return Cost{rounded(*time), CostOrigin::kInterpolated};
}

bool CostTable::splits(const Shape& shape) const {
  return std::any_of(copies_.begin(), copies_.end(), [text = to_string(shape)](const auto& copy) {
    return copy.second.shape == text && copy.second.kind.starts_with(" out of");
  });
}

bool CostTable::has(const CostKey& key) const {
  const auto recorded = [&](std::string_view signature) {
    const OpTimes* const op = find(signature);
    return op != nullptr && op->forms().contains({std::string(to_string(key.strategy)), key.threads, key.algorithm});
  };
  if (recorded(recorded_signature(key.signature))) return true;
  const std::map<std::string, int> ops = ops_of(key.signature);
  return std::all_of(ops.begin(), ops.end(), [&](const auto& op) { return recorded(op.first); });
}

const OpTimes::Timing* CostTable::timing_of(const CostKey& key) const {
  const OpTimes* const op = find(key.signature);
  if (op == nullptr) return nullptr;
  const auto form = op->forms().find({std::string(to_string(key.strategy)), key.threads, key.algorithm});
  if (form == op->forms().end()) return nullptr;
  const auto timing = form->second.find(key.width);
  return timing == form->second.end() ? nullptr : &timing->second;
}

bool CostTable::in_model(const CostKey& key) const {
  const OpTimes::Timing* const timing = timing_of(key);
  if (timing == nullptr) return false;
  return key.width > 1 ? !timing->in_plan.empty() : !timing->in_model.empty();
}

bool CostTable::among_teams(const CostKey& key, Bytes footprint) const {
  const OpTimes::Timing* const timing = timing_of(key);
  if (timing == nullptr || timing->among_teams.points.empty()) return false;
  return timing->among_teams.points.back().first >= std::min(footprint, most_footprint_);
}

bool CostTable::has_form(std::string_view signature, Strategy strategy, int threads) const {
  const OpTimes* const op = find(signature);
  return op != nullptr && op->has_form(to_string(strategy), threads);
}

bool CostTable::has_group(std::string_view signature, int threads) const {
  return has_form(signature, Strategy::kGroupedGemm, threads);
}

std::vector<Alternative> CostTable::listed(const OpTimes& op, Strategy strategy, int width, int threads) {
  std::vector<std::pair<std::size_t, Alternative>> found;
  for (const auto& [form, widths] : op.forms()) {
    if (std::get<0>(form) != to_string(strategy) || std::get<1>(form) != threads) continue;
    const auto& [recorded, timing] = *nearest_width(widths, width);
    const double factor = static_cast<double>(width) / recorded;
    found.push_back(
        {timing.first_seen,
         {std::get<2>(form), threads, scaled(timing.workspace, factor), scaled(timing.packed_weights, factor)}});
  }
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Alternative> alternatives;
  for (auto& [seen, alternative] : found) alternatives.push_back(std::move(alternative));
  return alternatives;
}

/// The ways that were recorded for all ops of the group; where there are none, each op by its first recorded way, empty
/// where one was not recorded.
std::vector<Alternative> CostTable::group_alternatives(const CostKey& key) const {
  const auto launches_of = [&](std::string_view signature) {
    const OpTimes* const op = find(signature);
    return op == nullptr ? std::vector<Alternative>{} : listed(*op, Strategy::kGroupedGemm, key.width, key.threads);
  };
  const std::map<std::string, int> ops = ops_of(key.signature);
  std::vector<Alternative> ways = launches_of(recorded_signature(key.signature));
  if (ways.empty()) ways = launches_of(ops.begin()->first);
  std::erase_if(ways, [&](const Alternative& way) {
    return !has({key.signature, Strategy::kGroupedGemm, key.width, key.threads, way.algorithm});
  });
  if (!ways.empty()) return ways;
  Alternative all{"grouped", key.threads, {}, {}};
  for (const auto& [signature, number] : ops) {
    const auto list = alternatives({signature, Strategy::kSerial, 1, key.threads, ""});
    if (list.empty()) return {};
    all.workspace = std::max(all.workspace, list.front().workspace);
    all.packed_weights += list.front().packed_weights * number;
  }
  return {all};
}

std::vector<Alternative> CostTable::alternatives(const CostKey& key) const {
  if (std::string_view(key.signature).starts_with(kGroupPrefix)) return group_alternatives(key);
  const auto of = [&](const OpTimes& op) {
    std::vector<Alternative> alternatives;
    for (int threads = key.threads; threads >= 1 && alternatives.empty(); --threads) {
      alternatives = listed(op, key.strategy, key.width, threads);
      if (alternatives.empty()) alternatives = listed(op, Strategy::kSerial, key.width, threads);
    }
    return alternatives;
  };
  if (const OpTimes* const op = find(key.signature)) {
    if (auto alternatives = of(*op); !alternatives.empty()) return alternatives;
  }
  const bool is_copy = std::string_view(key.signature).starts_with(kCopyPrefix);
  if (!is_copy && copy_of_reshape(key.signature).empty()) return {};
  for (const auto& [signature, copy] : copies_) {  // any copy is run as any other
    if (auto alternatives = of(*find(signature)); !alternatives.empty()) return alternatives;
  }
  return {};
}

std::optional<Nanoseconds> CostTable::stage(std::string_view signature) const {
  const OpTimes* const op = find(signature);
  if (op == nullptr) return std::nullopt;
  std::vector<double> times;
  for (const auto& [form, widths] : op->forms()) {
    for (const auto& [width, timing] : widths) {
      for (const auto& [neighbours, curve] : timing.by_neighbours) {
        for (const auto& [footprint, time] : curve.points) times.push_back(time);
      }
    }
  }
  if (times.empty()) return std::nullopt;  // timed in a model, where it is no op of one
  return rounded(median(std::move(times)));
}

Result<DeviceProfile> device_profile_of(std::span<const Trace* const> profiles) {
  COHORT_TRY(const std::string name, device_name_of(profiles));
  COHORT_TRY(const CostTable table, CostTable::from(profiles));
  DeviceProfile profile;
  profile.device = name;
  profile.cores = std::max(1, profiles.front()->info.device.cores);
  profile.step_overhead = table.stage(kStepOverheadRecord).value_or(Nanoseconds(0));
  profile.launch_overhead = table.stage(kLaunchOverheadRecord).value_or(Nanoseconds(0));
  profile.handoff_latency = table.stage(kHandoffRecord).value_or(Nanoseconds(0));
  if (profile.cores > 1) profile.oversubscription_penalty = kUsualOversubscriptionPenalty;
  profile.spin_time = table.stage(kSpinTimeRecord).value_or(Nanoseconds(0));
  if (table.round_trip()) profile.core_round_trip = table.round_trip()->usual;
  return profile;
}

}  // namespace cohort
