#include "simulator/schedule/stages.hpp"

#include <algorithm>
#include <boost/container/small_vector.hpp>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

namespace cohort {
namespace {

/// Of a stage's groups. A search looks at millions of stages, so that few allocate.
template <class Value>
using OfGroups = boost::container::small_vector<Value, 8>;

Nanoseconds time_beside(const OpGraph& graph, const StageGroup& group) {
  Nanoseconds time{};
  for (const std::uint32_t op : group) time += graph.times[op].beside;
  return time;
}

/// The stream of each group, longest first onto the one with the least to do; ties by position.
struct Packing {
  std::vector<std::uint32_t> stream;  ///< by group
  Nanoseconds longest{};
};

Packing pack(const OpGraph& graph, std::span<const StageGroup* const> groups, std::uint32_t streams) {
  std::vector<Nanoseconds> times;
  for (const StageGroup* group : groups) times.push_back(time_beside(graph, *group));
  std::vector<std::size_t> order(groups.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return times[a] > times[b]; });
  std::vector<Nanoseconds> load(std::max<std::uint32_t>(1, streams));
  Packing packing{std::vector<std::uint32_t>(groups.size()), {}};
  for (const std::size_t group : order) {
    const auto least = std::min_element(load.begin(), load.end());
    *least += times[group];
    packing.stream[group] = static_cast<std::uint32_t>(least - load.begin());
  }
  packing.longest = *std::max_element(load.begin(), load.end());
  return packing;
}

/// Packing::longest.
Nanoseconds longest_stream(const OpGraph& graph, std::span<const StageGroup* const> groups, std::uint32_t streams) {
  if (groups.size() > streams) return pack(graph, groups, streams).longest;
  Nanoseconds longest{};
  for (const StageGroup* group : groups) longest = std::max(longest, time_beside(graph, *group));
  return longest;
}

/// Ops that are scheduled as one: a chain, or a single op.
struct Unit {
  StageGroup ops;                    ///< in order
  std::vector<std::uint32_t> needs;  ///< units of the same part
  std::vector<std::uint32_t> users;
  Nanoseconds alone{};  ///< sum of each op's best
};

/// What lies between two cuts, in units that stand in topological order.
std::vector<Unit> units_of(const OpGraph& graph, std::span<const std::uint32_t> part, bool keep_chains) {
  const std::set<std::uint32_t> inside(part.begin(), part.end());
  const auto within = [&](const std::vector<std::uint32_t>& list) {
    std::vector<std::uint32_t> kept;
    for (const std::uint32_t op : list) {
      if (inside.contains(op)) kept.push_back(op);
    }
    return kept;
  };
  std::vector<Unit> units;
  std::map<std::uint32_t, std::uint32_t> unit_of;
  for (const std::uint32_t op : part) {
    const auto needs = within(graph.needs[op]);
    const bool follows = keep_chains && needs.size() == 1 && within(graph.users[needs[0]]).size() == 1;
    const auto place = follows ? unit_of.at(needs[0]) : static_cast<std::uint32_t>(units.size());
    if (!follows) units.emplace_back();
    Unit& unit = units[place];
    unit.ops.push_back(op);
    unit.alone += best_alone(graph.times[op]);
    unit_of[op] = place;
    if (follows) continue;
    std::set<std::uint32_t> sources;
    for (const std::uint32_t need : needs) sources.insert(unit_of.at(need));
    unit.needs.assign(sources.begin(), sources.end());
    for (const std::uint32_t source : sources) units[source].users.push_back(place);
  }
  return units;
}

/// A set of units.
using Set = std::vector<std::uint64_t>;
bool contains(const Set& set, std::uint32_t unit) { return (set[unit / 64] >> (unit % 64) & 1U) != 0; }
void insert(Set& set, std::uint32_t unit) { set[unit / 64] |= std::uint64_t{1} << (unit % 64); }

class PartSearch {
 public:
  PartSearch(std::vector<Unit> units, const StreamSetting& setting, const StageCost& cost, StageOptions options)
      : units_(std::move(units)),
        streams_(std::max<std::uint32_t>(1, setting.streams)),
        cost_(cost),
        options_(options) {
    options_.most_ops = std::max<std::size_t>(1, options_.most_ops);
  }

  /// Stages of groups of ops.
  std::vector<std::vector<StageGroup>> run() {
    Layers layers(units_.size() + 1);
    Nanoseconds all{};
    for (const Unit& unit : units_) all += unit.alone;
    layers[0].emplace(Set((units_.size() + 63) / 64), State{{}, all, nullptr, {}});
    for (std::size_t layer = 0; layer < units_.size(); ++layer) {
      for (const auto* entry : best_of(layers[layer])) expand(*entry, layer, layers);
    }
    std::vector<std::vector<StageGroup>> stages;
    for (const Entry* at = &*layers.back().begin(); at->second.from != nullptr; at = at->second.from)
      stages.push_back(at->second.stage);
    std::reverse(stages.begin(), stages.end());
    return stages;
  }
  [[nodiscard]] bool exact() const { return exact_; }

 private:
  struct State {
    Nanoseconds time{};  ///< to get there
    Nanoseconds left{};  ///< what is left, one after another
    const std::pair<const Set, State>* from = nullptr;
    std::vector<StageGroup> stage;  ///< that led there
  };
  using Entry = std::pair<const Set, State>;
  using Layers = std::vector<std::map<Set, State>>;  ///< by number of units done

  struct Candidate {
    std::vector<std::uint32_t> units;  ///< ascending
    StageGroup ops;
    Nanoseconds alone{};
  };

  /// The least time to the end by way of a state.
  [[nodiscard]] Nanoseconds promise(Nanoseconds time, Nanoseconds left) const {
    return time + left / static_cast<std::int64_t>(streams_);
  }

  std::vector<const Entry*> best_of(const std::map<Set, State>& layer) {
    std::vector<const Entry*> kept;
    for (const Entry& entry : layer) kept.push_back(&entry);
    std::stable_sort(kept.begin(), kept.end(), [&](const Entry* a, const Entry* b) {
      return promise(a->second.time, a->second.left) < promise(b->second.time, b->second.left);
    });
    if (kept.size() > options_.most_states) {
      kept.resize(std::max<std::size_t>(1, options_.most_states));
      exact_ = false;
    }
    return kept;
  }

  /// Connected sets of at most `most_ops` units that need nothing but what is done and themselves. Each grows
  /// from a single unit by a user of one of its own, and whatever else that needs: overlapping closures merge.
  std::vector<Candidate> candidates(const Set& done) {
    std::set<std::vector<std::uint32_t>> known;
    std::vector<std::vector<std::uint32_t>> open;
    const auto reach = [&](std::vector<std::uint32_t> units, std::uint32_t unit) {
      if (close(done, unit, units) && known.insert(units).second) open.push_back(std::move(units));
    };
    for (std::uint32_t unit = 0; unit < units_.size(); ++unit) {
      const auto& needs = units_[unit].needs;
      const auto is_done = [&](std::uint32_t need) { return contains(done, need); };
      if (!contains(done, unit) && std::all_of(needs.begin(), needs.end(), is_done)) reach({}, unit);
    }
    while (!open.empty()) {
      const std::vector<std::uint32_t> units = std::move(open.back());
      open.pop_back();
      for (const std::uint32_t unit : units) {
        for (const std::uint32_t user : units_[unit].users) reach(units, user);
      }
    }
    std::vector<Candidate> found;
    for (const std::vector<std::uint32_t>& units : known) found.push_back(candidate(units));
    return found;
  }
  /// Adds `unit` and all it needs; false where there are too many.
  [[nodiscard]] bool close(const Set& done, std::uint32_t unit, std::vector<std::uint32_t>& units) const {
    const auto place = std::lower_bound(units.begin(), units.end(), unit);
    if (contains(done, unit) || (place != units.end() && *place == unit)) return true;
    if (units.size() == options_.most_ops) return false;
    units.insert(place, unit);
    const auto& needs = units_[unit].needs;
    return std::all_of(needs.begin(), needs.end(), [&](std::uint32_t need) { return close(done, need, units); });
  }
  [[nodiscard]] Candidate candidate(const std::vector<std::uint32_t>& units) const {
    Candidate made{units, {}, {}};
    for (const std::uint32_t unit : units) {
      made.ops.insert(made.ops.end(), units_[unit].ops.begin(), units_[unit].ops.end());
      made.alone += units_[unit].alone;
    }
    std::sort(made.ops.begin(), made.ops.end());
    return made;
  }
  [[nodiscard]] bool adjacent(std::uint32_t a, std::uint32_t b) const {
    const auto& users = units_[std::min(a, b)].users;
    return std::find(users.begin(), users.end(), std::max(a, b)) != users.end();
  }
  /// Whether two groups of a stage are apart: no unit in both, no edge between them.
  [[nodiscard]] bool apart(const Candidate& a, const Candidate& b) const {
    return std::none_of(a.units.begin(), a.units.end(), [&](std::uint32_t x) {
      return std::any_of(b.units.begin(), b.units.end(), [&](std::uint32_t y) { return x == y || adjacent(x, y); });
    });
  }

  /// A stage that could come next.
  struct Next {             // NOLINT(bugprone-exception-escape): small_vector's moves do not throw
    Nanoseconds promise{};  ///< of the state that it leads to
    Nanoseconds time{};     ///< that it takes
    OfGroups<const Candidate*> groups;
  };

  void expand(const Entry& from, std::size_t layer, Layers& layers) {
    const std::vector<Candidate> groups = candidates(from.first);
    std::vector<Next> stages;
    OfGroups<const Candidate*> stage;
    extend(from.second, groups, 0, stage, stages);
    std::stable_sort(stages.begin(), stages.end(), [](const Next& a, const Next& b) { return a.promise < b.promise; });
    if (stages.size() > options_.most_followed) {
      stages.resize(std::max<std::size_t>(1, options_.most_followed));
      exact_ = false;
    }
    for (const Next& next : stages) arrive(from, next, layer, layers);
  }

  /// All stages of `stage` and groups from `first` on.
  void extend(const State& from, const std::vector<Candidate>& groups, std::size_t first,
              OfGroups<const Candidate*>& stage, std::vector<Next>& stages) {
    for (std::size_t i = first; i < groups.size(); ++i) {
      if (stages.size() >= options_.most_stages) {
        exact_ = false;
        return;
      }
      if (std::any_of(stage.begin(), stage.end(), [&](const Candidate* other) { return !apart(*other, groups[i]); }))
        continue;
      stage.push_back(&groups[i]);
      // A lone group takes the sum of its units, so single units will do.
      if (stage.size() > 1 || groups[i].units.size() == 1) stages.push_back(next_of(from, stage));
      if (stage.size() < options_.most_groups) extend(from, groups, i + 1, stage, stages);
      stage.pop_back();
    }
  }

  [[nodiscard]] Next next_of(const State& from, const OfGroups<const Candidate*>& stage) const {
    Nanoseconds left = from.left;
    OfGroups<const StageGroup*> groups;
    for (const Candidate* group : stage) {
      left -= group->alone;
      groups.push_back(&group->ops);
    }
    const Nanoseconds time =
        stage.size() == 1 ? stage[0]->alone : cost_(std::span<const StageGroup* const>(groups.data(), groups.size()));
    return {promise(from.time + time, left), time, stage};
  }

  void arrive(const Entry& from, const Next& next, std::size_t layer, Layers& layers) {
    Set done = from.first;
    State state{from.second.time + next.time, from.second.left, &from, {}};
    for (const Candidate* group : next.groups) {
      for (const std::uint32_t unit : group->units) insert(done, unit);
      layer += group->units.size();
      state.left -= group->alone;
    }
    const auto found = layers[layer].find(done);
    if (found != layers[layer].end() && found->second.time <= state.time) return;
    for (const Candidate* group : next.groups) state.stage.push_back(group->ops);
    layers[layer].insert_or_assign(std::move(done), std::move(state));
  }

  std::vector<Unit> units_;
  std::uint32_t streams_;
  const StageCost& cost_;
  StageOptions options_;
  bool exact_ = true;
};

/// The ops between cuts, and each cut by itself, in order.
std::vector<std::vector<std::uint32_t>> parts_of(const OpGraph& graph) {
  const std::vector<std::uint32_t> cuts = OpOrder(graph).cuts();
  std::vector<std::vector<std::uint32_t>> parts;
  std::uint32_t next = 0;
  const auto between = [&](std::uint32_t end) {
    if (next == end) return;
    parts.emplace_back();
    for (; next < end; ++next) parts.back().push_back(next);
  };
  // In a topological order everything before a cut stands before it.
  for (const std::uint32_t cut : cuts) {
    between(cut);
    between(cut + 1);
  }
  between(static_cast<std::uint32_t>(graph.size()));
  return parts;
}

void append_stage(const OpGraph& graph, const std::vector<StageGroup>& stage, std::uint32_t streams,
                  const StageCost& cost, OpSchedule& schedule) {
  const std::uint32_t number = schedule.ops.empty() ? 0 : schedule.ops.back().stage + 1;
  if (stage.size() == 1) {
    for (const std::uint32_t op : stage[0]) {
      const OpTime& time = graph.times[op];
      schedule.ops.push_back({op, 0, time.wide && *time.wide < time.alone, number});
      schedule.expected += best_alone(time);
    }
    return;
  }
  std::vector<const StageGroup*> groups;
  for (const StageGroup& group : stage) groups.push_back(&group);
  const Packing packing = pack(graph, groups, streams);
  for (std::size_t i = 0; i < stage.size(); ++i) {
    for (const std::uint32_t op : stage[i]) schedule.ops.push_back({op, packing.stream[i], false, number});
  }
  schedule.expected += cost(groups);
}

}  // namespace

StageCost core_stage_cost(const OpGraph& graph, const StreamSetting& setting) {
  return [&graph, setting](std::span<const StageGroup* const> groups) {
    return longest_stream(graph, groups, setting.streams) + setting.handoff;
  };
}

StageCost shared_stage_cost(const OpGraph& graph, const StreamSetting& setting, std::vector<double> shares) {
  return [&graph, setting, shares = std::move(shares)](std::span<const StageGroup* const> groups) {
    double shared = 0;
    for (const StageGroup* group : groups) {
      for (const std::uint32_t op : *group) shared += static_cast<double>(graph.times[op].beside.count()) * shares[op];
    }
    const Nanoseconds device(static_cast<std::int64_t>(shared));
    return std::max(longest_stream(graph, groups, setting.streams), device) + setting.handoff;
  };
}

StageSchedule schedule_stages(const OpGraph& graph, const StreamSetting& setting, const StageCost& cost,
                              const StageOptions& options) {
  StageSchedule result;
  result.schedule.streams = std::max<std::uint32_t>(1, setting.streams);
  result.schedule.barriers = options.barriers;
  for (const auto& part : parts_of(graph)) {
    PartSearch search(units_of(graph, part, options.keep_chains), setting, cost, options);
    for (std::vector<StageGroup>& stage : search.run()) {
      append_stage(graph, stage, result.schedule.streams, cost, result.schedule);
      result.stages.push_back(std::move(stage));
    }
    result.exact = result.exact && search.exact();
  }
  return result;
}

}  // namespace cohort
