#include "simulator/variants.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <set>

#include "simulator/plan/fuse.hpp"

namespace cohort {
namespace {

constexpr std::array kFusedStrategies = {Strategy::kDenseConvolution, Strategy::kStridedBatch,
                                         Strategy::kGroupedConvolution};
constexpr int kFewCores = 8;  // up to here every number of streams is tried

std::string_view words(Strategy strategy) {
  switch (strategy) {
    case Strategy::kDenseConvolution:
      return "dense convolution";
    case Strategy::kGroupedConvolution:
      return "grouped convolution";
    case Strategy::kStridedBatch:
      return "strided batch";
    default:
      return to_string(strategy);
  }
}

std::string words(const Variant& variant) {
  switch (variant.rest) {
    case RestKind::kSerialBest:
      return "serial";
    case RestKind::kSerialOneThread:
      return "serial on one thread";
    case RestKind::kSerialAllCores:
      return "serial on all cores";
    case RestKind::kConcurrent:
      return fmt::format("concurrent x{}", variant.streams);
  }
  return "";
}

}  // namespace

VariantMaker::VariantMaker(const PlanningCase& planning_case, CallTimes& times, Bytes footprint)
    : case_(planning_case), times_(times), footprint_(footprint), classes_(member_classes(planning_case.models)) {}

bool VariantMaker::can_fuse(std::size_t member_class, std::size_t op, Strategy strategy) const {
  const MemberClass& members = classes_[member_class];
  const Op& what = members.model->ops[op];
  const bool reads_input = !what.inputs.empty() && members.model->tensor(what.inputs[0]).role == TensorRole::kInput;
  const bool shared = reads_input && case_.base->input.sharing == InputSharing::kShared;
  return fuse(*members.model, what, strategy, static_cast<int>(members.members.size()), shared).has_value();
}

/// Whether the op is what the strategy is for; other ops only go along with such ones.
bool VariantMaker::is_core(std::size_t member_class, std::size_t op, Strategy strategy) const {
  const OpAttributes& attributes = classes_[member_class].model->ops[op].attributes;
  if (strategy == Strategy::kStridedBatch) return std::holds_alternative<Gemm>(attributes);
  return std::holds_alternative<Convolution>(attributes);
}

/// Runs of neighbouring ops with the same wish, from the first that the strategy is for.
VariantMaker::Runs VariantMaker::runs_of(const std::vector<std::vector<std::optional<Strategy>>>& wish) const {
  Runs runs;
  for (std::size_t c = 0; c < classes_.size(); ++c) {
    std::optional<Strategy> open;
    for (std::size_t op = 0; op < wish[c].size(); ++op) {
      const std::optional<Strategy> wanted = wish[c][op];
      if (wanted && wanted == open) {
        runs.back().ops.push_back(op);
        continue;
      }
      open.reset();
      if (!wanted || !is_core(c, op, *wanted)) continue;
      open = wanted;
      runs.push_back({c, *wanted, {op}});
    }
  }
  return runs;
}

VariantMaker::Runs VariantMaker::runs_for(const std::vector<Strategy>& strategies) const {
  std::vector<std::vector<std::optional<Strategy>>> wish;
  for (std::size_t c = 0; c < classes_.size(); ++c) {
    auto& mine = wish.emplace_back(classes_[c].signatures.size());
    if (classes_[c].members.size() < 2) continue;
    for (std::size_t op = 0; op < mine.size(); ++op) {
      for (const Strategy strategy : strategies) {
        const bool goes_along = strategy != Strategy::kDenseConvolution;
        if (mine[op] || !(goes_along || is_core(c, op, strategy))) continue;
        if (can_fuse(c, op, strategy)) mine[op] = strategy;
      }
    }
  }
  return runs_of(wish);
}

/// Op by op whatever its recorded times say is faster.
VariantMaker::Runs VariantMaker::greedy_runs(RestKind rest, int streams) {
  std::vector<std::vector<std::optional<Strategy>>> wish;
  for (std::size_t c = 0; c < classes_.size(); ++c) {
    auto& mine = wish.emplace_back(classes_[c].signatures.size());
    const auto width = static_cast<std::int64_t>(classes_[c].members.size());
    if (width < 2) continue;
    for (std::size_t op = 0; op < mine.size(); ++op) {
      Nanoseconds best = op_time(c, op, rest, streams) * width / (rest == RestKind::kConcurrent ? streams : 1);
      for (const Strategy strategy : kFusedStrategies) {
        if (strategy == Strategy::kDenseConvolution && !is_core(c, op, strategy)) continue;
        if (!can_fuse(c, op, strategy)) continue;
        const Nanoseconds fused = fused_time(c, op, strategy, rest == RestKind::kConcurrent ? streams : 1);
        if (fused >= best || fused == Nanoseconds(0)) continue;
        best = fused;
        mine[op] = strategy;
      }
    }
  }
  return runs_of(wish);
}

std::vector<int> VariantMaker::stream_counts() const {
  const int most = std::min(case_.device.cores, static_cast<int>(case_.models.size()));
  std::set<int> counts;
  for (int streams = 2; streams <= most; ++streams) {
    const bool power = (streams & (streams - 1)) == 0;
    const bool divides = static_cast<int>(case_.models.size()) % streams == 0;
    if (streams <= kFewCores || streams == most || power || divides) counts.insert(streams);
  }
  return {counts.begin(), counts.end()};
}

bool VariantMaker::covers_all(const Runs& runs) const {
  std::size_t fused = 0;
  std::size_t all = 0;
  for (const FusedRun& run : runs) fused += run.ops.size();
  for (const MemberClass& members : classes_) all += members.signatures.size();
  return fused == all;
}

std::vector<Variant> VariantMaker::variants(std::vector<RefusedCandidate>& refused) {
  std::set<Strategy> usable;
  for (const Strategy strategy : kFusedStrategies) {
    if (!runs_for({strategy}).empty()) {
      usable.insert(strategy);
    } else if (case_.models.size() > 1) {
      const bool needs_shared = strategy == Strategy::kDenseConvolution;
      refused.push_back(
          {std::string(words(strategy)), needs_shared ? "no equal members with a convolution that reads a shared input"
                                                      : "no equal members with an op that it can compute together"});
    }
  }
  std::vector<Runs> modes{{}};
  for (unsigned set = 1; set < 1U << kFusedStrategies.size(); ++set) {
    std::vector<Strategy> strategies;
    for (std::size_t i = 0; i < kFusedStrategies.size(); ++i) {
      if ((set >> i & 1U) != 0) strategies.push_back(kFusedStrategies[i]);
    }
    if (std::all_of(strategies.begin(), strategies.end(), [&](Strategy s) { return usable.contains(s); })) {
      modes.push_back(runs_for(strategies));
    }
  }
  std::vector<Variant> rests{{{}, RestKind::kSerialBest, 1, case_.base->input.sharing}};
  if (case_.device.cores > 1) {
    rests.push_back({{}, RestKind::kSerialOneThread, 1, case_.base->input.sharing});
    rests.push_back({{}, RestKind::kSerialAllCores, 1, case_.base->input.sharing});
  }
  for (const int streams : stream_counts()) {
    rests.push_back({{}, RestKind::kConcurrent, streams, case_.base->input.sharing});
  }
  std::vector<Variant> found;
  const auto add = [&](const Variant& variant) {
    if (std::find(found.begin(), found.end(), variant) == found.end()) found.push_back(variant);
  };
  for (const Variant& rest : rests) {
    for (const Runs& runs : modes) {
      const bool serial = rest.rest == RestKind::kSerialOneThread || rest.rest == RestKind::kSerialAllCores;
      if (covers_all(runs) && serial) continue;
      add({runs, rest.rest, rest.streams, rest.sharing});
    }
    add({greedy_runs(rest.rest, rest.streams), rest.rest, rest.streams, rest.sharing});
    // Made-up input costs nothing to make, shared or not.
    const bool may_separate = case_.base->input.source != InputSource::kGenerated && case_.models.size() > 1;
    if (may_separate && rest.sharing == InputSharing::kShared) {
      add({{}, rest.rest, rest.streams, InputSharing::kSeparate});
    }
  }
  return found;
}

Nanoseconds VariantMaker::op_time(std::size_t member_class, std::size_t op, RestKind rest, int streams) {
  const CostKey key{classes_[member_class].signatures[op], Strategy::kSerial, 1, 1, ""};
  const int neighbours = rest == RestKind::kConcurrent ? streams - 1 : 0;
  const auto one = times_.time(key, {footprint_, neighbours});
  CostKey wide = key;
  wide.threads = case_.device.cores;
  const auto all = times_.time(wide, {footprint_, 0});
  const Nanoseconds none{};  // reshapes in place take no time and are never recorded
  if (rest == RestKind::kSerialAllCores) return all.value_or(one.value_or(none));
  if (rest == RestKind::kSerialBest && one && all) return std::min(*one, *all);
  return one.value_or(all.value_or(none));
}

/// On several streams each stream fuses its own members, on one core.
Nanoseconds VariantMaker::fused_time(std::size_t member_class, std::size_t op, Strategy strategy, int streams) {
  const MemberClass& members = classes_[member_class];
  const int width = static_cast<int>(members.members.size());
  CostKey key{members.signatures[op], strategy, (width + streams - 1) / streams, 1, ""};
  const auto one = times_.time(key, {footprint_, 0});
  if (streams > 1) return one.value_or(Nanoseconds(0));
  key.threads = case_.device.cores;
  const auto all = times_.time(key, {footprint_, 0});
  if (one && all) return std::min(*one, *all);
  return one.value_or(all.value_or(Nanoseconds(0)));
}

/// What is left of each member when the fused runs are taken out.
std::vector<Nanoseconds> VariantMaker::rest_times(const Variant& variant) {
  std::vector<Nanoseconds> times(case_.models.size());
  for (std::size_t c = 0; c < classes_.size(); ++c) {
    std::set<std::size_t> fused;
    for (const FusedRun& run : variant.fused) {
      if (run.member_class == c) fused.insert(run.ops.begin(), run.ops.end());
    }
    Nanoseconds time{};
    for (std::size_t op = 0; op < classes_[c].signatures.size(); ++op) {
      if (!fused.contains(op)) time += op_time(c, op, variant.rest, variant.streams);
    }
    for (const std::uint32_t member : classes_[c].members) times[member] = time;
  }
  return times;
}

Nanoseconds VariantMaker::estimate(const Variant& variant) {
  Nanoseconds fused{};
  for (const FusedRun& run : variant.fused) {
    for (const std::size_t op : run.ops) fused += fused_time(run.member_class, op, run.strategy, variant.streams);
  }
  const std::vector<Nanoseconds> rest = rest_times(variant);
  const Nanoseconds sum = std::accumulate(rest.begin(), rest.end(), Nanoseconds(0));
  return fused + (variant.rest == RestKind::kConcurrent ? sum / variant.streams : sum);
}

/// Longest first onto the stream with the least to do (Graham 1969); equal members run in blocks.
std::vector<std::uint32_t> VariantMaker::balanced_streams(const Variant& variant,
                                                          const std::vector<std::uint32_t>& members) {
  const std::vector<Nanoseconds> times = rest_times(variant);
  const auto same = [&](std::uint32_t m) { return times[m] == times[members.front()]; };
  if (std::all_of(members.begin(), members.end(), same)) return {};
  std::vector<std::size_t> order(members.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return times[members[a]] > times[members[b]]; });
  std::vector<Nanoseconds> load(static_cast<std::size_t>(variant.streams));
  std::vector<std::uint32_t> streams(members.size());
  for (const std::size_t place : order) {
    const auto least = std::min_element(load.begin(), load.end());
    *least += times[members[place]];
    streams[place] = static_cast<std::uint32_t>(least - load.begin());
  }
  return streams;
}

/// One group, or on several streams one per stream, each with the members that run there.
void VariantMaker::add_fused_groups(const FusedRun& run, Plan& plan) const {
  const MemberClass& members = classes_[run.member_class];
  const auto streams = static_cast<std::uint32_t>(plan.streams);
  for (std::uint32_t stream = 0; stream < streams; ++stream) {
    Group group;
    group.strategy = run.strategy;
    for (std::size_t i = 0; i < members.members.size(); ++i) {
      if (stream_in_blocks(i, members.members.size(), plan.streams) == stream)
        group.members.push_back(members.members[i]);
    }
    if (group.members.empty()) continue;
    for (const std::size_t op : run.ops) group.ops.push_back(members.model->ops[op].name);
    group.name =
        classes_.size() == 1 ? group.ops.front() : fmt::format("{}-{}", members.members.front(), group.ops.front());
    if (streams > 1) {
      group.name += fmt::format("-{}", stream);
      group.streams = {stream};
    }
    plan.groups.push_back(std::move(group));
  }
}

Plan VariantMaker::plan_of(const Variant& variant) {
  Plan plan = *case_.base;
  plan.groups.clear();
  plan.baselines.clear();
  plan.resolved.reset();
  plan.input.sharing = variant.sharing;
  plan.streams = variant.rest == RestKind::kConcurrent ? variant.streams : 1;

  std::vector<std::size_t> fused_ops(classes_.size(), 0);
  for (const FusedRun& run : variant.fused) {
    fused_ops[run.member_class] += run.ops.size();
    add_fused_groups(run, plan);
  }
  Group rest;
  rest.name = "rest";
  for (std::size_t c = 0; c < classes_.size(); ++c) {
    if (fused_ops[c] == classes_[c].signatures.size()) continue;
    rest.members.insert(rest.members.end(), classes_[c].members.begin(), classes_[c].members.end());
  }
  if (rest.members.empty()) return plan;
  std::sort(rest.members.begin(), rest.members.end());
  const auto taken = [&](const Group& group) { return group.name == rest.name; };
  while (std::any_of(plan.groups.begin(), plan.groups.end(), taken)) rest.name += "_";
  if (variant.rest == RestKind::kConcurrent) {
    rest.strategy = Strategy::kConcurrent;
    rest.streams = balanced_streams(variant, rest.members);
  } else {
    rest.threads = variant.rest == RestKind::kSerialOneThread  ? 1
                   : variant.rest == RestKind::kSerialAllCores ? case_.device.cores
                                                               : 0;
  }
  plan.groups.push_back(std::move(rest));
  return plan;
}

std::string VariantMaker::name_of(const Variant& variant) const {
  const bool says_nothing = covers_all(variant.fused) && variant.rest != RestKind::kConcurrent;
  std::string name = says_nothing ? "" : words(variant);
  for (const FusedRun& run : variant.fused) {
    const std::vector<Op>& ops = classes_[run.member_class].model->ops;
    std::vector<std::string> names;
    for (const std::size_t op : run.ops) names.push_back(ops[op].name);
    if (!name.empty()) name += " + ";
    const std::string list = names.size() > 3 ? fmt::format("{} ... {}", names.front(), names.back())
                                              : fmt::format("{}", fmt::join(names, ", "));
    name += fmt::format("{} ({})", words(run.strategy), list);
  }
  if (variant.sharing != case_.base->input.sharing) name += ", separate input";
  return name;
}

}  // namespace cohort
