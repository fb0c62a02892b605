#include "simulator/costs/cost_table.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <span>
#include <utility>

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

double count(Nanoseconds time) { return static_cast<double>(time.count()); }

/// The line through two points, at `x`.
double line(std::pair<double, double> a, std::pair<double, double> b, double x) {
  return a.second + (b.second - a.second) * (x - a.first) / (b.first - a.first);
}

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
                  "trace {} is a {} trace; a profile is needed (make one with cohort profile)", i,
                  to_string(profiles[i]->info.kind));
    }
    if (profiles[i]->info.device.name != name) {
      return fail(ErrorCode::kInvalidInput, "profile {} was made on \"{}\", the first one on \"{}\"", i,
                  profiles[i]->info.device.name, name);
    }
  }
  return name;
}

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
  using Point = std::tuple<std::string, Form, int, int, Bytes, bool>;
  std::map<Point, std::vector<Nanoseconds>> samples;
  for (std::size_t i = 0; i < records.size(); ++i) {
    const ProfileRecord& record = records[i];
    const Form form{record.strategy, record.threads, record.algorithm};
    const std::string signature = recorded_signature(record.signature);
    const bool in_model = record.state == ProfileState::kInModel;
    in_model_ = in_model_ || in_model;
    samples[{signature, form, record.width, record.neighbours, record.footprint, in_model}].push_back(record.time);
    const auto [place, is_new] = entries_[signature].forms[form].try_emplace(record.width);
    if (is_new) place->second.first_seen = i;
    place->second.workspace = std::max(place->second.workspace, record.workspace);
    place->second.packed_weights = std::max(place->second.packed_weights, record.packed_weights);
  }
  std::vector<double> spreads;
  for (const auto& [point, times] : samples) {
    constexpr std::size_t kEnough = 5;
    if (!std::get<5>(point) || times.size() < kEnough) continue;
    // Of a normal distribution the middle half is 1.349 standard deviations wide.
    spreads.push_back(seconds(quantile(times, 0.75) - quantile(times, 0.25)) / 1.349 / seconds(median(times)));
    most_footprint_ = std::max(most_footprint_, std::get<4>(point));
  }
  if (!spreads.empty()) spread_ = median(std::move(spreads));
  for (const auto& [point, times] : samples) {  // ascending by footprint within a curve
    const auto& [signature, form, width, neighbours, footprint, in_model] = point;
    Timing& timing = entries_[signature].forms[form][width];
    Curve& curve = in_model ? timing.in_model[neighbours] : timing.by_neighbours[neighbours];
    curve.points.emplace_back(footprint, median(times));
    // Each thread keeps its part of the weights in the cache of its own core, and each neighbour its own weights.
    const double caches = std::get<int>(form) * (neighbours + 1);
    curve.cached = scaled(core_cache, kCachedPart * caches);
    curve.uncached = scaled(core_cache, kUncachedPart * caches);
  }
  for (auto& [signature, entry] : entries_) {
    if (signature.starts_with(kCopyPrefix)) copies_.emplace(signature, parse_copy(signature));
    for (auto& [form, widths] : entry.forms) {
      for (auto& [width, timing] : widths) correct(timing);
    }
  }
  std::map<int, std::vector<double>> slowdowns;
  for (const auto& [signature, entry] : entries_) {
    for (const auto& [form, widths] : entry.forms) {
      const auto single = widths.find(1);
      if (std::get<1>(form) != 1 || single == widths.end() || !single->second.in_model.contains(0)) continue;
      for (const auto& [neighbours, curve] : single->second.in_model) {
        const double alone = curve_time(single->second.in_model.at(0), curve.points.back().first);
        if (neighbours > 0 && alone > 0) slowdowns[neighbours].push_back(count(curve.points.back().second) / alone);
      }
    }
  }
  for (auto& [neighbours, of_ops] : slowdowns) usual_slowdown_[neighbours] = median(std::move(of_ops));
}

/// Nothing is faster with less of its data in caches or beside more neighbours. Where records say so, the machine was
/// slower while the easier case was timed, and the harder one tells how long that takes at most.
void CostTable::correct(Timing& timing) {
  for (auto& [neighbours, curve] : timing.by_neighbours) {
    for (auto& [footprint, time] : curve.points) {
      for (auto busier = timing.by_neighbours.find(neighbours); busier != timing.by_neighbours.end(); ++busier) {
        for (const auto& [colder, harder] : busier->second.points) {
          if (colder >= footprint) time = std::min(time, harder);
        }
      }
    }
  }
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

}  // namespace

Result<CostTable> CostTable::from(std::span<const Trace* const> profiles) {
  COHORT_CHECK(device_name_of(profiles));
  std::vector<ProfileRecord> records;
  for (std::size_t i = 0; i < profiles.size(); ++i) {
    const std::size_t before = records.size();
    for (const Slice& slice : profiles[i]->slices) {
      std::optional<ProfileRecord> record = profile_record_of(*profiles[i], slice);
      if (record && (record->state == ProfileState::kWarm || record->state == ProfileState::kInModel))
        records.push_back(*std::move(record));
    }
    take_off_events(std::span(records).subspan(before));
    if (records.size() == before) return fail(ErrorCode::kInvalidInput, "profile {} holds no profile record", i);
  }
  CostTable table(records, Bytes{number_setting(profiles[0]->info.device, kCoreCacheSetting).value_or(0)});
  for (const Trace* profile : profiles) {
    if (const auto lacking = profile->info.settings.find(std::string(kLacking));
        lacking != profile->info.settings.end())
      table.lacking_ += (table.lacking_.empty() ? "" : ", ") + lacking->second;
    const WallTimes* const whole = profile->info.wall(kWallInTurn);
    const WallTimes* const ops = profile->info.wall(kWallOpsInTurn);
    if (whole == nullptr || ops == nullptr || whole->samples.empty() || ops->samples.empty()) continue;
    const double ratio = seconds(median(ops->samples)) / seconds(median(whole->samples));
    table.unexplained_ = std::max(table.unexplained_, std::abs(1 - ratio));
  }
  return table;
}

const CostTable::Entry* CostTable::find(std::string_view signature) const {
  const auto found = entries_.find(signature);
  return found == entries_.end() ? nullptr : &found->second;
}

double CostTable::curve_time(const Curve& curve, Bytes footprint) {
  const auto above = std::lower_bound(curve.points.begin(), curve.points.end(), footprint,
                                      [](const auto& point, Bytes value) { return point.first < value; });
  if (above == curve.points.end()) return count(curve.points.back().second);
  if (above == curve.points.begin()) return count(above->second);
  const auto below = above - 1;
  const bool leaves_cache = below->first < curve.uncached && curve.cached < above->first;
  const Bytes warm = leaves_cache ? std::max(curve.cached, below->first) : below->first;
  const Bytes cold = leaves_cache ? std::min(curve.uncached, above->first) : above->first;
  if (footprint <= warm) return count(below->second);
  if (footprint >= cold) return count(above->second);
  const auto log_of = [](Bytes bytes) { return std::log(static_cast<double>(std::max<std::int64_t>(bytes.value, 1))); };
  return line({log_of(warm), count(below->second)}, {log_of(cold), count(above->second)}, log_of(footprint));
}

/// Time with neighbours: between recorded counts along a line, beyond them the nearest. Where the
/// neighbours were recorded at one footprint only, the slowdown there is taken to hold at all.
double CostTable::timing_at(const Timing& timing, const CostContext& context) {
  const auto& [base_count, base] = *timing.by_neighbours.begin();
  const auto with = [&, &base_curve = base](const Curve& curve) {
    if (&curve == &base_curve || curve.points.size() > 1 || base_curve.points.size() == 1) {
      return curve_time(curve, context.footprint);
    }
    const double alone = curve_time(base_curve, curve.points.front().first);
    const double slowdown = alone > 0 ? count(curve.points.front().second) / alone : 1;
    return curve_time(base_curve, context.footprint) * slowdown;
  };
  const auto above = timing.by_neighbours.lower_bound(context.neighbours);
  if (above == timing.by_neighbours.end()) return with(timing.by_neighbours.rbegin()->second);
  if (above == timing.by_neighbours.begin() || above->first == context.neighbours) return with(above->second);
  const auto below = std::prev(above);
  return line({below->first, with(below->second)}, {above->first, with(above->second)}, context.neighbours);
}

/// How much longer the calls of a form take in `context` than warm and alone, as its most fully recorded
/// algorithm tells.
double CostTable::slowdown(const Entry& entry, std::string_view strategy, int threads, int width,
                           const CostContext& context) {
  const Timing* fullest = nullptr;
  for (const auto& [form, widths] : entry.forms) {
    const auto found = widths.find(width);
    if (std::get<0>(form) != strategy || std::get<1>(form) != threads || found == widths.end()) continue;
    if (found->second.by_neighbours.empty()) continue;  // timed in its model alone
    if (fullest == nullptr || points_of(found->second) > points_of(*fullest)) fullest = &found->second;
  }
  if (fullest == nullptr) return 1;
  const double warm = timing_at(*fullest, {Bytes{0}, 0});
  return warm > 0 ? timing_at(*fullest, context) / warm : 1;
}

std::size_t CostTable::points_of(const Timing& timing) {
  std::size_t points = 0;
  for (const auto& [neighbours, curve] : timing.by_neighbours) points += curve.points.size();
  return points;
}

/// timing_at(), but what was recorded in fewer places than another algorithm of its form, or a fused
/// call that was never recorded beside others, is taken to slow down as those do that were.
double CostTable::alone_in_context(const Entry& entry, const Form& form, int width, const Timing& timing,
                                   const CostContext& context) {
  const auto& [strategy, threads, algorithm] = form;
  double time = timing_at(timing, context);
  if (points_of(timing) == 1)
    time = std::max(time, timing_at(timing, {Bytes{0}, 0}) * slowdown(entry, strategy, threads, width, context));
  if (context.neighbours == 0 || timing.by_neighbours.size() > 1 || width == 1) return time;
  const std::string_view serial = to_string(Strategy::kSerial);
  const double alone = slowdown(entry, serial, threads, 1, {context.footprint, 0});
  return time * std::max(1.0, slowdown(entry, serial, threads, 1, context) / alone);
}

/// Where a way was timed with fewer members in turn than the one that was timed with most, colder weights cost it as
/// much as they cost that one.
double CostTable::in_model_time(const Entry& entry, const Form& form, const Timing& timing, int neighbours,
                                Bytes footprint) {
  const Curve& own = timing.in_model.at(neighbours);
  const double time = curve_time(own, footprint);
  if (own.points.size() > 1) return time;
  const Curve* fullest = &own;
  for (const auto& [other, widths] : entry.forms) {
    const auto found = widths.find(1);
    if (std::get<1>(other) != std::get<1>(form) || found == widths.end()) continue;
    const auto curve = found->second.in_model.find(neighbours);
    if (curve != found->second.in_model.end() && curve->second.points.size() > fullest->points.size())
      fullest = &curve->second;
  }
  const double more = curve_time(*fullest, footprint) - curve_time(*fullest, own.points.front().first);
  return time + std::max(0.0, more);
}

/// How much longer a call takes in its model while other cores run theirs, as it, another algorithm of its op, or ops
/// as a whole were recorded to.
double CostTable::beside_others(const Entry& entry, const Form& form, const CostContext& context) const {
  const auto ratio_of = [&](const Form& recorded, const Timing& timing) -> std::optional<double> {
    if (!timing.in_model.contains(context.neighbours) || !timing.in_model.contains(0)) return std::nullopt;
    const double alone = in_model_time(entry, recorded, timing, 0, context.footprint);
    const double beside = in_model_time(entry, recorded, timing, context.neighbours, context.footprint);
    return alone > 0 ? std::optional(std::max(1.0, beside / alone)) : std::nullopt;
  };
  for (const auto& [other, widths] : entry.forms) {
    const auto single = widths.find(1);
    if (std::get<1>(other) != std::get<1>(form) || single == widths.end()) continue;
    if (const auto ratio = ratio_of(other, single->second)) return *ratio;
  }
  const auto usual = usual_slowdown_.lower_bound(context.neighbours);
  if (usual != usual_slowdown_.end()) return std::max(1.0, usual->second);
  return usual_slowdown_.empty() ? 1 : std::max(1.0, usual_slowdown_.rbegin()->second);
}

/// What an op takes in its model beyond what it takes alone, in the way that was timed in both; nothing where none was.
double CostTable::more_in_model(const Entry& entry, int threads, const CostContext& context) {
  for (const auto& [form, widths] : entry.forms) {
    const auto single = widths.find(1);
    if (std::get<1>(form) != threads || single == widths.end()) continue;
    const Timing& timing = single->second;
    if (!timing.in_model.contains(0) || !timing.by_neighbours.contains(0)) continue;
    const double in_model = in_model_time(entry, form, timing, 0, context.footprint);
    return std::max(0.0, in_model - curve_time(timing.by_neighbours.at(0), context.footprint));
  }
  return 0;
}

/// In its model where it was timed there; what was timed alone takes as much more as the op does there.
double CostTable::time_in_context(const Entry& entry, const Form& form, int width, const Timing& timing,
                                  const CostContext& context) const {
  const int threads = std::get<1>(form);
  const int neighbours = threads > 1 ? 0 : context.neighbours;
  if (timing.in_model.contains(neighbours)) return in_model_time(entry, form, timing, neighbours, context.footprint);
  if (timing.in_model.contains(0))
    return in_model_time(entry, form, timing, 0, context.footprint) * beside_others(entry, form, context);
  double time = alone_in_context(entry, form, width, timing, {context.footprint, in_model_ ? 0 : context.neighbours});
  if (!in_model_) return time;
  time += more_in_model(entry, threads, context);
  return neighbours > 0 ? time * beside_others(entry, form, context) : time;
}

/// The time at each recorded width of the form asked for; of the fastest algorithm where the one
/// asked for does not tell.
CostTable::WidthCosts CostTable::width_costs(const Entry& entry, const CostKey& key, const CostContext& context) const {
  const std::string strategy(to_string(key.strategy));
  const Form asked{strategy, key.threads, key.algorithm};
  if (const auto exact = entry.forms.find(asked); exact != entry.forms.end()) {
    if (exact->second.size() > 1 || exact->second.contains(key.width)) {
      WidthCosts costs;
      for (const auto& [width, timing] : exact->second)
        costs.emplace(width, time_in_context(entry, asked, width, timing, context));
      return costs;
    }
  }
  WidthCosts costs;
  for (const auto& [form, widths] : entry.forms) {
    if (std::get<0>(form) != strategy || std::get<1>(form) != key.threads) continue;
    for (const auto& [width, timing] : widths) {
      const double time = time_in_context(entry, form, width, timing, context);
      const auto [place, is_new] = costs.emplace(width, time);
      if (!is_new) place->second = std::min(place->second, time);
    }
  }
  return costs;
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
  const std::string_view for_all = for_all_multiprocessors(key.signature);
  if (for_all.size() == key.signature.size() || has_form(key.signature, key.strategy, key.threads))
    return recorded_cost(key, context);
  CostKey whole = key;
  whole.signature = for_all;
  return recorded_cost(whole, context);
}

Result<Cost> CostTable::recorded_cost(const CostKey& key, const CostContext& context) const {
  const auto unknown = [&] {
    return fail(ErrorCode::kInvalidInput,
                "no recorded time of op \"{}\" on {} thread{}; profile a model that has it (cohort profile) and give "
                "that trace, too",
                key.signature, key.threads, key.threads == 1 ? "" : "s");
  };
  const Entry* entry = find(key.signature);
  if (entry == nullptr) return unknown();
  WidthCosts costs = width_costs(*entry, key, context);
  if (const auto exact = costs.find(key.width); exact != costs.end()) {
    const bool this_way = key.algorithm.empty() || has(key);  // else the fastest stands in for it
    return Cost{rounded(exact->second), this_way ? CostOrigin::kProfiled : CostOrigin::kInterpolated};
  }
  if (key.strategy == Strategy::kSerial) return unknown();

  const bool recorded = !costs.empty();
  if (costs.size() < 2) {
    const CostKey single{key.signature, Strategy::kSerial, 1, key.threads, ""};
    const WidthCosts alone = width_costs(*entry, single, context);
    if (alone.empty() && !recorded) return unknown();
    if (!recorded) return Cost{rounded(alone.begin()->second * key.width), CostOrigin::kAnalytic};
    if (!alone.empty()) costs.emplace(1, alone.begin()->second);
  }
  const auto& [first_width, first_time] = *costs.begin();
  if (costs.size() == 1) return Cost{rounded(first_time * key.width / first_width), CostOrigin::kInterpolated};
  auto above = costs.lower_bound(key.width);
  if (above == costs.begin()) ++above;
  if (above == costs.end()) --above;
  const auto below = std::prev(above);
  const double time = line({below->first, below->second}, {above->first, above->second}, key.width);
  // A noisy pair of widths must not promise that more members take less time than one of them.
  const double least = key.width < first_width ? first_time * key.width / first_width : first_time;
  return Cost{rounded(std::max(time, least)), CostOrigin::kInterpolated};
}

/// As copies of its kind do; where none was recorded, as any.
Result<Cost> CostTable::copy_cost(const CostKey& key, const CostContext& context) const {
  if (copies_.empty())
    return fail(ErrorCode::kInvalidInput, "no recorded time of a copy (\"{}\"); profile again with this version",
                key.signature);
  const auto time_of = [&](const std::string& signature) -> std::optional<double> {
    CostKey recorded = key;
    WidthCosts costs = width_costs(*find(signature), recorded, context);
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
    const Entry* const entry = find(signature);
    return entry != nullptr &&
           entry->forms.contains({std::string(to_string(key.strategy)), key.threads, key.algorithm});
  };
  if (recorded(recorded_signature(key.signature))) return true;
  const std::map<std::string, int> ops = ops_of(key.signature);
  return std::all_of(ops.begin(), ops.end(), [&](const auto& op) { return recorded(op.first); });
}

bool CostTable::in_model(const CostKey& key) const {
  const Entry* const entry = find(key.signature);
  if (entry == nullptr || key.width != 1) return false;
  const auto form = entry->forms.find({std::string(to_string(key.strategy)), key.threads, key.algorithm});
  return form != entry->forms.end() && form->second.contains(1) && !form->second.at(1).in_model.empty();
}

bool CostTable::has_form(std::string_view signature, Strategy strategy, int threads) const {
  const Entry* const entry = find(signature);
  return entry != nullptr && std::any_of(entry->forms.begin(), entry->forms.end(), [&](const auto& form) {
           return std::get<0>(form.first) == to_string(strategy) && std::get<1>(form.first) == threads;
         });
}

bool CostTable::has_group(std::string_view signature, int threads) const {
  return has_form(signature, Strategy::kGroupedGemm, threads);
}

std::vector<Alternative> CostTable::listed(const Entry& entry, Strategy strategy, int width, int threads) {
  std::vector<std::pair<std::size_t, Alternative>> found;
  for (const auto& [form, widths] : entry.forms) {
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
    const Entry* const entry = find(signature);
    return entry == nullptr ? std::vector<Alternative>{}
                            : listed(*entry, Strategy::kGroupedGemm, key.width, key.threads);
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
  const auto of = [&](const Entry& entry) {
    std::vector<Alternative> alternatives;
    for (int threads = key.threads; threads >= 1 && alternatives.empty(); --threads) {
      alternatives = listed(entry, key.strategy, key.width, threads);
      if (alternatives.empty()) alternatives = listed(entry, Strategy::kSerial, key.width, threads);
    }
    return alternatives;
  };
  if (const Entry* const entry = find(key.signature)) {
    if (auto alternatives = of(*entry); !alternatives.empty()) return alternatives;
  }
  if (!std::string_view(key.signature).starts_with(kCopyPrefix)) return {};
  for (const auto& [signature, copy] : copies_) {  // any copy is run as any other
    if (auto alternatives = of(*find(signature)); !alternatives.empty()) return alternatives;
  }
  return {};
}

std::optional<Nanoseconds> CostTable::stage(std::string_view signature) const {
  const Entry* entry = find(signature);
  if (entry == nullptr) return std::nullopt;
  std::vector<Nanoseconds> times;
  for (const auto& [form, widths] : entry->forms) {
    for (const auto& [width, timing] : widths) {
      for (const auto& [neighbours, curve] : timing.by_neighbours) {
        for (const auto& [footprint, time] : curve.points) times.push_back(time);
      }
    }
  }
  return median(std::move(times));
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
  return profile;
}

}  // namespace cohort
