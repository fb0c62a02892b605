#include "simulator/planner/variants.hpp"

#include <algorithm>
#include <numeric>
#include <set>

#include "simulator/plan/fuse.hpp"

namespace cohort {
namespace {

constexpr int kFewCores = 8;  // up to here every number of streams is tried

/// Whether launches can be spread over threads: they are single, and of several streams.
bool launches_from_threads(const Variant& variant) {
  const bool on_streams = variant.rest == RestKind::kConcurrent || variant.rest == RestKind::kBranches;
  return variant.launch == LaunchMode::kSingle && on_streams && variant.streams > 1;
}

}  // namespace

VariantMaker::VariantMaker(const PlanningCase& planning_case, CallTimes& times, Bytes footprint)
    : case_(planning_case),
      times_(times),
      footprint_(footprint),
      classes_(member_classes(planning_case.models, planning_case.base->precision)),
      branches_(classes_, planning_case.device, times, footprint, planning_case.gpu) {}

bool VariantMaker::shares_input(std::size_t member_class, std::size_t op) const {
  const Model& model = *classes_[member_class].model;
  const std::vector<TensorId>& inputs = model.ops[op].inputs;
  const bool reads_input = !inputs.empty() && model.tensor(inputs[0]).role == TensorRole::kInput;
  return reads_input && case_.base->input.sharing == InputSharing::kShared;
}

bool VariantMaker::can_fuse(std::size_t member_class, std::size_t op, Strategy strategy) const {
  const MemberClass& members = classes_[member_class];
  const Op& what = members.model->ops[op];
  if (runs_as_group(what, strategy)) return can_group(member_class, op, strategy);
  const auto width = static_cast<int>(members.members.size());
  return fuse(*members.model, what, strategy, width, shares_input(member_class, op)).has_value();
}

/// Of a CPU what the strategy is for must have been timed fused: a profile leaves out what it cannot gain by, and the
/// library may have nothing but slow ways for it (two members' product with 150 MB of weights took 15 times as long).
bool VariantMaker::may_fuse(std::size_t member_class, std::size_t op, Strategy strategy) const {
  if (!can_fuse(member_class, op, strategy)) return false;
  const MemberClass& members = classes_[member_class];
  if (case_.gpu != nullptr || !is_core(member_class, op, strategy) || runs_as_group(members.model->ops[op], strategy))
    return true;
  const std::string& signature = members.signatures[op];
  return case_.costs->has_form(signature, strategy, 1) ||
         case_.costs->has_form(signature, strategy, case_.device.cores);
}

/// Of equal members: recurrent layers where a GPU's figures or a profile tell what one launch of several takes;
/// products where a profile does, since a strided batch does the same.
bool VariantMaker::can_group(std::size_t member_class, std::size_t op, Strategy strategy) const {
  const MemberClass& members = classes_[member_class];
  const bool recorded = case_.costs->has_group(members.signatures[op], 1);
  if (strategy == Strategy::kStridedBatch) return recorded || case_.gpu != nullptr;
  return recorded && std::holds_alternative<Gemm>(members.model->ops[op].attributes);
}

/// Whether the op is what the strategy is for; other ops only go along with such ones.
bool VariantMaker::is_core(std::size_t member_class, std::size_t op, Strategy strategy) const {
  const Op& what = classes_[member_class].model->ops[op];
  const bool backward = what.phase == Phase::kBackward;
  if (strategy == Strategy::kStridedBatch || strategy == Strategy::kGroupedGemm) {
    const bool trains = std::holds_alternative<GemmWeightGradient>(what.attributes) ||
                        std::holds_alternative<Pack>(what.attributes) ||
                        std::holds_alternative<Update>(what.attributes) ||
                        (backward && std::holds_alternative<MatMul>(what.attributes));
    return std::holds_alternative<Gemm>(what.attributes) || is_recurrent(what) ||
           (trains && strategy == Strategy::kStridedBatch);
  }
  return std::holds_alternative<Convolution>(what.attributes) ||
         std::holds_alternative<ConvolutionWeightGradient>(what.attributes) ||
         (backward && std::holds_alternative<ConvTranspose>(what.attributes));
}

/// Runs of neighbouring ops with the same wish, from the first that the strategy is for. What is only unpacked is a
/// view in any run, and belongs to the next or the last one.
VariantMaker::Runs VariantMaker::runs_of(const std::vector<Wish>& wish) const {
  Runs runs;
  for (std::size_t c = 0; c < classes_.size(); ++c) {
    std::optional<Strategy> open;
    std::vector<std::size_t> views;
    const auto add_views = [&] {
      if (runs.empty() || runs.back().member_class != c) return;
      std::vector<std::size_t>& ops = runs.back().ops;
      ops.insert(ops.end(), views.begin(), views.end());
      std::sort(ops.begin(), ops.end());
      views.clear();
    };
    for (std::size_t op = 0; op < wish[c].size(); ++op) {
      if (std::holds_alternative<Unpack>(classes_[c].model->ops[op].attributes)) {
        views.push_back(op);
        continue;
      }
      const std::optional<Strategy> wanted = wish[c][op];
      if (wanted && wanted == open) {
        runs.back().ops.push_back(op);
        continue;
      }
      open.reset();
      if (!wanted || !is_core(c, op, *wanted)) continue;
      open = wanted;
      runs.push_back({c, *wanted, {op}});
      add_views();
    }
    add_views();
  }
  return runs;
}

VariantMaker::Runs VariantMaker::runs_for(const std::vector<Strategy>& strategies) const {
  std::vector<Wish> wish;
  for (std::size_t c = 0; c < classes_.size(); ++c) {
    auto& mine = wish.emplace_back(classes_[c].signatures.size());
    if (classes_[c].members.size() < 2) continue;
    for (std::size_t op = 0; op < mine.size(); ++op) {
      for (const Strategy strategy : strategies) {
        const bool goes_along = strategy != Strategy::kDenseConvolution;
        if (mine[op] || !(goes_along || is_core(c, op, strategy))) continue;
        if (may_fuse(c, op, strategy)) mine[op] = strategy;
      }
    }
  }
  return runs_of(wish);
}

/// Nothing fused, then all that each set of strategies can take.
std::vector<VariantMaker::Runs> VariantMaker::maximal_runs() const {
  std::vector<Strategy> usable;
  for (const Strategy strategy : kFusedStrategies) {
    if (!runs_for({strategy}).empty()) usable.push_back(strategy);
  }
  std::vector<Runs> modes{{}};
  for (unsigned set = 1; set < 1U << usable.size(); ++set) {
    std::vector<Strategy> strategies;
    for (std::size_t i = 0; i < usable.size(); ++i) {
      if ((set >> i & 1U) != 0) strategies.push_back(usable[i]);
    }
    modes.push_back(runs_for(strategies));
  }
  return modes;
}

/// Op by op whatever its recorded times say is faster.
VariantMaker::Runs VariantMaker::greedy_runs(RestKind rest, int streams) {
  std::vector<Wish> wish;
  for (std::size_t c = 0; c < classes_.size(); ++c) {
    auto& mine = wish.emplace_back(classes_[c].signatures.size());
    const auto width = static_cast<std::int64_t>(classes_[c].members.size());
    if (width < 2) continue;
    for (std::size_t op = 0; op < mine.size(); ++op) {
      Nanoseconds best = op_time(c, op, rest, streams) * width / (rest == RestKind::kConcurrent ? streams : 1);
      for (const Strategy strategy : kFusedStrategies) {
        if (strategy == Strategy::kDenseConvolution && !is_core(c, op, strategy)) continue;
        if (!may_fuse(c, op, strategy)) continue;
        const Nanoseconds fused = fused_time(c, op, strategy, rest == RestKind::kConcurrent ? streams : 1);
        if (fused >= best || fused == Nanoseconds(0)) continue;
        best = fused;
        mine[op] = strategy;
      }
    }
  }
  return runs_of(wish);
}

/// On a CPU never more streams than cores. A GPU takes as many as there are; its connections and its room, which the
/// simulation knows, decide what they are good for.
std::vector<int> VariantMaker::stream_counts() const {
  const auto members = static_cast<int>(case_.models.size());
  if (case_.gpu != nullptr) {
    std::set<int> counts;
    for (const int streams : {2, 4, 8, 16, 32, members}) {
      if (streams > 1 && streams <= members) counts.insert(streams);
    }
    return {counts.begin(), counts.end()};
  }
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

/// As the base says, on a GPU whose figures tell what launches cost in both ways.
std::vector<LaunchMode> VariantMaker::launch_modes() const {
  if (case_.gpu == nullptr) return {case_.base->launch};
  return {LaunchMode::kGraph, LaunchMode::kSingle};
}

/// What becomes of ops that are not fused, and how everything is launched.
std::vector<Variant> VariantMaker::rests() const {
  const Plan& base = *case_.base;
  std::vector<Variant> rests;
  for (const LaunchMode launch : launch_modes()) {
    const auto add = [&](RestKind rest, int streams) {
      rests.push_back({{}, rest, streams, base.input.sharing, launch, input_setting(base)});
      rests.back().launch_threads = base.launch_threads;
    };
    add(RestKind::kSerialBest, 1);
    if (case_.device.cores > 1) {
      add(RestKind::kSerialOneThread, 1);
      add(RestKind::kSerialAllCores, 1);
    }
    for (const int streams : stream_counts()) add(RestKind::kConcurrent, streams);
  }
  return rests;
}

bool VariantMaker::is_split(const FusedRun& run, const Variant& variant) const {
  return variant.rest == RestKind::kConcurrent &&
         classes_[run.member_class].members.size() <= static_cast<std::size_t>(variant.streams);
}

bool VariantMaker::fuses_nothing(const Variant& variant) const {
  return !variant.fused.empty() && std::all_of(variant.fused.begin(), variant.fused.end(),
                                               [&](const FusedRun& run) { return is_split(run, variant); });
}

std::vector<Variant> VariantMaker::variants(std::vector<RefusedCandidate>& refused) {
  for (const Strategy strategy : kFusedStrategies) {
    if (std::optional<std::string> why = why_unused(strategy))
      refused.push_back({std::string(words(strategy)), *std::move(why)});
  }
  const std::vector<Runs> modes = maximal_runs();
  std::vector<Variant> found;
  const auto add = [&](const Variant& variant) {
    if (std::find(found.begin(), found.end(), variant) == found.end()) found.push_back(variant);
  };
  const std::vector<std::string> groupable = groupable_ops();
  for (const Variant& rest : rests()) {
    const auto with = [&](Runs runs) {
      std::erase_if(runs, [&](const FusedRun& run) { return is_split(run, rest); });
      Variant variant = rest;
      variant.fused = std::move(runs);
      return variant;
    };
    for (const Runs& runs : modes) {
      const bool serial = rest.rest == RestKind::kSerialOneThread || rest.rest == RestKind::kSerialAllCores;
      if (covers_all(runs) && serial) continue;
      add(with(runs));
    }
    add(with(greedy_runs(rest.rest, rest.streams)));
    if (!groupable.empty()) {
      Variant variant = rest;
      variant.grouped = groupable;
      add(variant);
    }
    // Made-up input costs nothing to make, shared or not.
    const bool may_separate = case_.base->input.source != InputSource::kGenerated && case_.models.size() > 1;
    if (may_separate && rest.sharing == InputSharing::kShared) {
      Variant separate = rest;
      separate.sharing = InputSharing::kSeparate;
      add(separate);
    }
  }
  add_branches(found);
  return found;
}

/// On a GPU members of several structures may have matrix products or recurrent layers of one name but other shapes;
/// those of equal members are fused runs.
std::vector<std::string> VariantMaker::groupable_ops() const {
  std::vector<std::string> names;
  if (case_.gpu == nullptr || classes_.size() < 2) return names;
  for (const Op& op : classes_.front().model->ops) {
    const auto has = [&](const MemberClass& members) {
      return std::any_of(members.model->ops.begin(), members.model->ops.end(), [&](const Op& other) {
        return other.name == op.name && other.attributes.index() == op.attributes.index();
      });
    };
    if (!std::holds_alternative<Gemm>(op.attributes) && !is_recurrent(op)) continue;
    if (std::all_of(classes_.begin(), classes_.end(), has)) names.push_back(op.name);
  }
  return names;
}

std::vector<Variant> VariantMaker::launch_threads_changed(const Variant& variant) const {
  std::vector<Variant> changed;
  if (case_.gpu == nullptr || !launches_from_threads(variant)) return changed;
  const LaunchCosts& costs = case_.gpu->profile().launch;
  if (costs.lock >= costs.call) return changed;
  for (const int threads : {1, 2, 4, 8}) {
    if (threads == variant.launch_threads || threads > variant.streams) continue;
    changed.push_back(variant);
    changed.back().launch_threads = threads;
  }
  return changed;
}

std::vector<Variant> VariantMaker::multiprocessors_changed(const Variant& variant) const {
  std::vector<Variant> changed;
  if (case_.gpu == nullptr || variant.rest != RestKind::kConcurrent || variant.streams < 2) return changed;
  std::set<int> counts{0};
  for (const int part : kMultiprocessorParts) counts.insert(case_.catalog->multiprocessors() / part);
  std::set<std::string> signatures;  // of what is not fused
  for (std::size_t c = 0; c < classes_.size(); ++c) {
    const std::set<std::size_t> together = ops_together(variant, c);
    for (std::size_t op = 0; op < classes_[c].signatures.size(); ++op) {
      if (!together.contains(op)) signatures.insert(classes_[c].signatures[op]);
    }
  }
  for (const int count : counts) {
    const bool timed = std::any_of(signatures.begin(), signatures.end(), [&](const std::string& signature) {
      return case_.costs->has_op(signature_for(count, signature));
    });
    if (count == variant.multiprocessors || !timed) continue;
    changed.push_back(variant);
    changed.back().multiprocessors = count;
  }
  return changed;
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
  set_input_setting(variant.input, plan);
  plan.launch = variant.launch;
  plan.launch_threads = launches_from_threads(variant) ? std::min(variant.launch_threads, variant.streams) : 1;
  if (variant.rest == RestKind::kBranches) {
    plan.streams = variant.streams * variant.branch_sets;
    plan.groups = branches_.groups(branch_request(variant));
    return plan;
  }
  plan.streams = variant.rest == RestKind::kConcurrent ? variant.streams : 1;

  std::vector<std::size_t> fused_ops(classes_.size(), variant.grouped.size());
  if (!variant.grouped.empty()) {
    Group group{.name = "grouped",
                .members = {},
                .ops = variant.grouped,
                .strategy = Strategy::kGroupedGemm,
                .streams = {},
                .after = {}};
    group.members.resize(case_.models.size());
    std::iota(group.members.begin(), group.members.end(), 0U);
    plan.groups.push_back(std::move(group));
  }
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
    rest.multiprocessors = variant.multiprocessors;
  } else {
    rest.threads = variant.rest == RestKind::kSerialOneThread  ? 1
                   : variant.rest == RestKind::kSerialAllCores ? case_.device.cores
                                                               : 0;
  }
  plan.groups.push_back(std::move(rest));
  return plan;
}

}  // namespace cohort
