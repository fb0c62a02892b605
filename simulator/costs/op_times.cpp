#include "simulator/costs/op_times.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iterator>

#include "simulator/plan/plan.hpp"

namespace cohort {
namespace {

using Curve = OpTimes::Curve;
using Timing = OpTimes::Timing;

/// The line through two points, at `x`.
double line(std::pair<double, double> a, std::pair<double, double> b, double x) {
  return a.second + (b.second - a.second) * (x - a.first) / (b.first - a.first);
}

std::size_t points_of(const Timing& timing) {
  std::size_t points = 0;
  for (const auto& [neighbours, curve] : timing.by_neighbours) points += curve.points.size();
  return points;
}

/// Time alone with neighbours: between recorded counts along a line, beyond them the nearest. Where the
/// neighbours were recorded at one footprint only, the slowdown there is taken to hold at all.
double timing_at(const Timing& timing, const CostContext& context) {
  const auto& [base_count, base] = *timing.by_neighbours.begin();
  const auto with = [&, &base_curve = base](const Curve& curve) {
    if (&curve == &base_curve || curve.points.size() > 1 || base_curve.points.size() == 1)
      return curve.time(context.footprint);
    const double alone = base_curve.time(curve.points.front().first);
    const double slowdown = alone > 0 ? curve.points.front().second / alone : 1;
    return base_curve.time(context.footprint) * slowdown;
  };
  const auto above = timing.by_neighbours.lower_bound(context.neighbours);
  if (above == timing.by_neighbours.end()) return with(timing.by_neighbours.rbegin()->second);
  if (above == timing.by_neighbours.begin() || above->first == context.neighbours) return with(above->second);
  const auto below = std::prev(above);
  return line({below->first, with(below->second)}, {above->first, with(above->second)}, context.neighbours);
}

/// Of ratios by neighbours the one for as many or, where there are fewer, for most; 1 where there are none.
double usual_ratio(const std::map<int, double>& ratios, int neighbours) {
  const auto found = ratios.lower_bound(neighbours);
  if (found != ratios.end()) return std::max(1.0, found->second);
  return ratios.empty() ? 1 : std::max(1.0, ratios.rbegin()->second);
}

}  // namespace

double OpTimes::Curve::time(Bytes footprint) const {
  const auto above = std::lower_bound(points.begin(), points.end(), footprint,
                                      [](const auto& point, Bytes value) { return point.first < value; });
  if (above == points.end()) return points.back().second;
  if (above == points.begin()) return above->second;
  const auto below = above - 1;
  const bool leaves_cache = below->first < uncached && cached < above->first;
  const Bytes warm = leaves_cache ? std::max(cached, below->first) : below->first;
  const Bytes cold = leaves_cache ? std::min(uncached, above->first) : above->first;
  if (footprint <= warm) return below->second;
  if (footprint >= cold) return above->second;
  const auto log_of = [](Bytes bytes) { return std::log(static_cast<double>(std::max<std::int64_t>(bytes.value, 1))); };
  return line({log_of(warm), below->second}, {log_of(cold), above->second}, log_of(footprint));
}

void OpTimes::correct() {
  const auto correct = [](Timing& timing) {
    for (auto& [neighbours, curve] : timing.by_neighbours) {
      for (auto& [footprint, time] : curve.points) {
        for (auto busier = timing.by_neighbours.find(neighbours); busier != timing.by_neighbours.end(); ++busier) {
          for (const auto& [colder, harder] : busier->second.points) {
            if (colder >= footprint) time = std::min(time, harder);
          }
        }
      }
    }
  };
  for (auto& [form, widths] : forms_) {
    for (auto& [width, timing] : widths) {
      if (!timing.in_model.contains(0) && !timing.among_teams.points.empty()) timing.in_model[0] = timing.among_teams;
      correct(timing);
    }
  }
}

bool OpTimes::has_form(std::string_view strategy, int threads) const {
  return std::any_of(forms_.begin(), forms_.end(), [&](const auto& form) {
    return std::get<0>(form.first) == strategy && std::get<1>(form.first) == threads;
  });
}

/// How much longer the calls of a form take in `context` than warm and alone, as its most fully recorded
/// algorithm tells.
double OpTimes::slowdown(std::string_view strategy, int threads, int width, const CostContext& context) const {
  const Timing* fullest = nullptr;
  for (const auto& [form, widths] : forms_) {
    const auto found = widths.find(width);
    if (std::get<0>(form) != strategy || std::get<1>(form) != threads || found == widths.end()) continue;
    if (found->second.by_neighbours.empty()) continue;  // timed in its place alone
    if (fullest == nullptr || points_of(found->second) > points_of(*fullest)) fullest = &found->second;
  }
  if (fullest == nullptr) return 1;
  const double warm = timing_at(*fullest, {Bytes{0}, 0});
  return warm > 0 ? timing_at(*fullest, context) / warm : 1;
}

/// timing_at(), but what was recorded in fewer places than another algorithm of its form, or a fused
/// call that was never recorded beside others, is taken to slow down as those do that were.
double OpTimes::alone_in_context(const Form& form, int width, const Timing& timing, const CostContext& context) const {
  const auto& [strategy, threads, algorithm] = form;
  double time = timing_at(timing, context);
  if (points_of(timing) == 1)
    time = std::max(time, timing_at(timing, {Bytes{0}, 0}) * slowdown(strategy, threads, width, context));
  if (context.neighbours == 0 || timing.by_neighbours.size() > 1 || width == 1) return time;
  const std::string_view serial = to_string(Strategy::kSerial);
  const double alone = slowdown(serial, threads, 1, {context.footprint, 0});
  return time * std::max(1.0, slowdown(serial, threads, 1, context) / alone);
}

/// Where a way was timed with fewer members in turn than the one that was timed with most, colder weights cost it as
/// much as they cost that one.
double OpTimes::in_model_time(const Form& form, const Timing& timing, int neighbours, Bytes footprint) const {
  const Curve& own = timing.in_model.at(neighbours);
  const double time = own.time(footprint);
  if (own.points.size() > 1) return time;
  const Curve* fullest = &own;
  for (const auto& [other, widths] : forms_) {
    const auto found = widths.find(1);
    if (std::get<1>(other) != std::get<1>(form) || found == widths.end()) continue;
    const auto curve = found->second.in_model.find(neighbours);
    if (curve != found->second.in_model.end() && curve->second.points.size() > fullest->points.size())
      fullest = &curve->second;
  }
  const double more = fullest->time(footprint) - fullest->time(own.points.front().first);
  return time + std::max(0.0, more);
}

/// How much longer a call takes in its model while other cores run theirs, as it, another algorithm of its op, or ops
/// as a whole were recorded to.
double OpTimes::beside_others(const Form& form, const CostContext& context, const UsualRatios& usual) const {
  const auto ratio_of = [&](const Form& recorded, const Timing& timing) -> std::optional<double> {
    if (!timing.in_model.contains(context.neighbours) || !timing.in_model.contains(0)) return std::nullopt;
    const double alone = in_model_time(recorded, timing, 0, context.footprint);
    const double beside = in_model_time(recorded, timing, context.neighbours, context.footprint);
    return alone > 0 ? std::optional(std::max(1.0, beside / alone)) : std::nullopt;
  };
  for (const auto& [other, widths] : forms_) {
    const auto single = widths.find(1);
    if (std::get<1>(other) != std::get<1>(form) || single == widths.end()) continue;
    if (const auto ratio = ratio_of(other, single->second)) return *ratio;
  }
  return usual_ratio(usual.beside, context.neighbours);
}

/// One member's way, on that many cores, that was timed both in its model and alone: the same algorithm where it was,
/// else the one that packs least; null where none was.
const OpTimes::Timing* OpTimes::timed_in_both(const Form& form) const {
  const Timing* best = nullptr;
  for (const auto& [other, widths] : forms_) {
    const auto single = widths.find(1);
    if (std::get<1>(other) != std::get<1>(form) || single == widths.end()) continue;
    const Timing& timing = single->second;
    if (!timing.in_model.contains(0) || !timing.by_neighbours.contains(0)) continue;
    const bool is_same = std::get<2>(other) == std::get<2>(form);
    if (best != nullptr && !is_same && timing.packed_weights >= best->packed_weights) continue;
    best = &timing;
    if (is_same) break;
  }
  return best;
}

/// How much longer a call takes in its model than alone, as one member's tells that was timed in both; zero where none
/// was. Most of it goes to data that other calls have driven out of the caches, so that it grows with the weights that
/// several members bring.
double OpTimes::more_in_model(const Form& form, int width, const Timing& timing, const CostContext& context) const {
  const Timing* const single = timed_in_both(form);
  if (single == nullptr) return 0;
  const Curve& alone = single->by_neighbours.at(0);
  const double more = in_model_time(form, *single, 0, context.footprint) - alone.time(context.footprint);
  const auto touched = static_cast<double>(alone.points.front().first.value);
  if (width == 1 || touched <= 0) return std::max(0.0, more);
  const auto more_weights = static_cast<double>((timing.packed_weights - single->packed_weights).value);
  return std::max(0.0, more) * (1 + std::max(0.0, more_weights / touched));
}

/// What a call that was timed alone would take in its place if it differed there by as much as its op does.
double OpTimes::from_alone(const Form& form, int width, const Timing& timing, const CostContext& context,
                           const UsualRatios& usual) const {
  const int neighbours = usual.in_model ? 0 : context.neighbours;
  double time = alone_in_context(form, width, timing, {context.footprint, neighbours});
  if (!usual.in_model) return time;
  time += more_in_model(form, width, timing, context);
  return context.neighbours > 0 ? time * beside_others(form, context, usual) : time;
}

/// The same at any width, from those that were timed alone.
std::optional<double> OpTimes::from_alone_at(const Form& form, int width, const CostContext& context,
                                             const UsualRatios& usual) const {
  WidthCosts costs;
  for (const auto& [recorded, timing] : forms_.at(form)) {
    if (!timing.by_neighbours.empty()) costs.emplace(recorded, from_alone(form, recorded, timing, context, usual));
  }
  if (costs.size() == 1) return costs.begin()->second * width / costs.begin()->first;
  return between_widths(costs, width);
}

/// Where a call was timed in plans, beside as many others; else as much slower or faster as those make it.
double OpTimes::in_plan_time(const Form& form, const Timing& timing, const CostContext& context,
                             const UsualRatios& usual) const {
  const auto exact = timing.in_plan.find(context.neighbours);
  if (exact != timing.in_plan.end()) return exact->second.time(context.footprint);
  const auto& [recorded, curve] = *timing.in_plan.begin();
  const auto slower_beside = [&](int neighbours) {
    return neighbours > 0 ? beside_others(form, {context.footprint, neighbours}, usual) : 1;
  };
  return curve.time(context.footprint) / slower_beside(recorded) * slower_beside(context.neighbours);
}

/// What a call of several members took in a plan by from_alone(); absent where it was not timed alone.
std::optional<double> OpTimes::ratio_to_alone(const Form& form, int width, int neighbours, const Curve& in_plan,
                                              const UsualRatios& usual) const {
  const auto& [footprint, time] = in_plan.points.back();
  const auto alone = from_alone_at(form, width, {footprint, neighbours}, usual);
  return alone && *alone > 0 ? std::optional(time / *alone) : std::nullopt;
}

/// What calls of several members take in plans by from_alone(): as this form does at the nearest width that was timed
/// there, else another algorithm of its strategy, else as usual.
double OpTimes::fused_ratio(const Form& form, int width, int neighbours, const UsualRatios& usual) const {
  std::optional<std::pair<std::pair<bool, int>, double>> nearest;
  for (const auto& [other, widths] : forms_) {
    if (std::get<0>(other) != std::get<0>(form) || std::get<1>(other) != std::get<1>(form)) continue;
    for (const auto& [recorded, timing] : widths) {
      const auto curve = timing.in_plan.find(neighbours);
      if (recorded == 1 || curve == timing.in_plan.end()) continue;
      const auto ratio = ratio_to_alone(other, recorded, neighbours, curve->second, usual);
      const std::pair distance(other != form, std::abs(recorded - width));
      if (ratio && (!nearest || distance < nearest->first)) nearest = {distance, *ratio};
    }
  }
  return nearest ? nearest->second : usual_ratio(usual.fused, neighbours);
}

/// What a single member's call took between fused ones by what it takes in its model; absent where it was not timed in
/// both. Where the plan of the fused ones has calls on several cores, so has the model.
std::optional<double> OpTimes::between_ratio_of(const Form& form, const Timing& timing, int neighbours,
                                                const UsualRatios& usual) const {
  const auto curve = timing.in_plan.find(neighbours);
  if (curve == timing.in_plan.end() || !timing.in_model.contains(neighbours)) return std::nullopt;
  const auto& [footprint, time] = curve->second.points.back();
  double in_model = in_model_time(form, timing, neighbours, footprint);
  if (timing.in_plan_of_teams && neighbours == 0) in_model = among_teams_time(form, timing, footprint, in_model, usual);
  return in_model > 0 ? std::optional(time / in_model) : std::nullopt;
}

/// As this op was timed, in whatever way, else as usual.
double OpTimes::between_ratio(const Form& form, int neighbours, const UsualRatios& usual) const {
  for (const auto& [other, widths] : forms_) {
    const auto single = widths.find(1);
    if (std::get<1>(other) != std::get<1>(form) || single == widths.end()) continue;
    if (const auto ratio = between_ratio_of(other, single->second, neighbours, usual)) return std::max(1.0, *ratio);
  }
  return usual_ratio(usual.between, neighbours);
}

/// In its model where it was timed there; what was timed alone takes as much more as the op does there.
double OpTimes::single_time(const Form& form, const Timing& timing, const CostContext& context,
                            const UsualRatios& usual) const {
  if (timing.in_model.contains(context.neighbours))
    return in_model_time(form, timing, context.neighbours, context.footprint);
  if (timing.in_model.contains(0))
    return in_model_time(form, timing, 0, context.footprint) * beside_others(form, context, usual);
  if (!timing.by_neighbours.empty()) return from_alone(form, 1, timing, context, usual);
  if (!timing.in_plan.empty()) return in_plan_time(form, timing, context, usual);
  return in_model_time(form, timing, timing.in_model.begin()->first, context.footprint);
}

/// What is written on several cores lies in the caches of each, and a call on one core fetches the others' parts; a
/// tiny one takes several times as long so. What was not timed so takes as much longer as another way of its op, else
/// as calls do as a whole. Nothing is faster for it.
double OpTimes::among_teams_time(const Form& form, const Timing& timing, Bytes footprint, double in_model,
                                 const UsualRatios& usual) const {
  if (!timing.among_teams.points.empty()) return std::max(in_model, timing.among_teams.time(footprint));
  for (const auto& [other, widths] : forms_) {
    const auto single = widths.find(1);
    if (std::get<1>(other) != std::get<1>(form) || single == widths.end()) continue;
    if (const auto ratio = among_teams_ratio(other, single->second)) return in_model * std::max(1.0, *ratio);
  }
  return in_model * std::max(1.0, usual.among_teams);
}

std::optional<double> OpTimes::among_teams_ratio(const Form& form, const Timing& timing) const {
  if (timing.among_teams.points.empty() || !timing.in_model.contains(0)) return std::nullopt;
  const auto& [footprint, time] = timing.among_teams.points.back();
  const double in_model = in_model_time(form, timing, 0, footprint);
  return in_model > 0 ? std::optional(time / in_model) : std::nullopt;
}

double OpTimes::fused_time(const Form& form, int width, const Timing& timing, const CostContext& context,
                           const UsualRatios& usual) const {
  if (!timing.in_plan.empty()) return in_plan_time(form, timing, context, usual);
  return from_alone(form, width, timing, context, usual) * fused_ratio(form, width, context.neighbours, usual);
}

double OpTimes::time_in_context(const Form& form, int width, const Timing& timing, const CostContext& context,
                                const UsualRatios& usual) const {
  if (!usual.in_model) return from_alone(form, width, timing, context, usual);
  CostContext own = context;
  if (std::get<1>(form) > 1) own.neighbours = 0;
  if (width > 1) return fused_time(form, width, timing, own, usual);
  const double single = single_time(form, timing, own, usual);
  const bool among_teams = own.among_teams && std::get<1>(form) == 1 && own.neighbours == 0;
  const double in_model = among_teams ? among_teams_time(form, timing, own.footprint, single, usual) : single;
  if (!own.among_fused) return in_model;
  // Nothing is faster because others are fused.
  if (!timing.in_plan.empty()) return std::max(single, in_plan_time(form, timing, own, usual));
  return in_model * between_ratio(form, own.neighbours, usual);
}

OpTimes::WidthCosts OpTimes::width_costs(const Form& form, const CostContext& context, const UsualRatios& usual) const {
  WidthCosts costs;
  if (const auto exact = forms_.find(form); exact != forms_.end()) {
    for (const auto& [recorded, timing] : exact->second)
      costs.emplace(recorded, time_in_context(form, recorded, timing, context, usual));
    return costs;
  }
  for (const auto& [other, widths] : forms_) {
    if (std::get<0>(other) != std::get<0>(form) || std::get<1>(other) != std::get<1>(form)) continue;
    for (const auto& [recorded, timing] : widths) {
      const double time = time_in_context(other, recorded, timing, context, usual);
      const auto [place, is_new] = costs.emplace(recorded, time);
      if (!is_new) place->second = std::min(place->second, time);
    }
  }
  return costs;
}

std::vector<std::pair<int, double>> OpTimes::slowdowns_in_model() const {
  std::vector<std::pair<int, double>> slowdowns;
  for (const auto& [form, widths] : forms_) {
    const auto single = widths.find(1);
    if (std::get<1>(form) != 1 || single == widths.end() || !single->second.in_model.contains(0)) continue;
    for (const auto& [neighbours, curve] : single->second.in_model) {
      const double alone = single->second.in_model.at(0).time(curve.points.back().first);
      if (neighbours > 0 && alone > 0) slowdowns.emplace_back(neighbours, curve.points.back().second / alone);
    }
  }
  return slowdowns;
}

std::vector<double> OpTimes::among_teams_ratios() const {
  std::vector<double> ratios;
  for (const auto& [form, widths] : forms_) {
    const auto single = widths.find(1);
    if (single == widths.end()) continue;
    if (const auto ratio = among_teams_ratio(form, single->second)) ratios.push_back(*ratio);
  }
  return ratios;
}

std::vector<std::pair<int, double>> OpTimes::fused_ratios(const UsualRatios& usual) const {
  std::vector<std::pair<int, double>> ratios;
  for (const auto& [form, widths] : forms_) {
    for (const auto& [width, timing] : widths) {
      if (width == 1) continue;
      for (const auto& [neighbours, curve] : timing.in_plan) {
        if (const auto ratio = ratio_to_alone(form, width, neighbours, curve, usual))
          ratios.emplace_back(neighbours, *ratio);
      }
    }
  }
  return ratios;
}

std::vector<std::pair<int, double>> OpTimes::between_ratios(const UsualRatios& usual) const {
  std::vector<std::pair<int, double>> ratios;
  for (const auto& [form, widths] : forms_) {
    const auto single = widths.find(1);
    if (single == widths.end()) continue;
    for (const auto& [neighbours, curve] : single->second.in_plan) {
      if (const auto ratio = between_ratio_of(form, single->second, neighbours, usual))
        ratios.emplace_back(neighbours, *ratio);
    }
  }
  return ratios;
}

std::optional<double> between_widths(const OpTimes::WidthCosts& costs, int width) {
  if (const auto exact = costs.find(width); exact != costs.end()) return exact->second;
  if (costs.size() < 2) return std::nullopt;
  auto above = costs.lower_bound(width);
  if (above == costs.begin()) ++above;
  if (above == costs.end()) --above;
  const auto below = std::prev(above);
  const double time = line({below->first, below->second}, {above->first, above->second}, width);
  // A noisy pair of widths must not promise that more members take less time than one of them.
  const auto& [first_width, first_time] = *costs.begin();
  return std::max(time, width < first_width ? first_time * width / first_width : first_time);
}

}  // namespace cohort
