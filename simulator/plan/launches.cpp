#include "simulator/plan/launches.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <queue>
#include <set>
#include <tuple>
#include <unordered_map>

namespace cohort {
namespace {

constexpr std::uint32_t kNoGroup = UINT32_MAX;

/// Group of each op of each member.
using Assignment = std::vector<std::vector<std::uint32_t>>;

/// Finds ops by name, which large groups of large models do for each of them.
class OpNames {
 public:
  explicit OpNames(std::span<const Model* const> models) : models_(models) {}

  std::optional<OpId> find(std::size_t member, std::string_view name) {
    const Model& model = *models_[member];
    const auto [known, is_new] = ops_.try_emplace(&model);
    if (is_new) {
      for (std::size_t i = 0; i < model.ops.size(); ++i) known->second.emplace(model.ops[i].name, static_cast<OpId>(i));
    }
    const auto found = known->second.find(name);
    return found == known->second.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  std::span<const Model* const> models_;
  std::map<const Model*, std::unordered_map<std::string_view, OpId>> ops_;
};

Result<void> assign_named(const Plan& plan, std::span<const Model* const> models, std::uint32_t group_index,
                          OpNames& names, Assignment& assignment) {
  const Group& group = plan.groups[group_index];
  for (const std::uint32_t member : group.members) {
    for (const std::string& name : group.ops) {
      const auto op = names.find(member, name);
      if (!op)
        return fail(ErrorCode::kInvalidInput, "groups[{}].ops: member {} ({}) has no op {}", group_index,
                    plan.members[member].name, models[member]->name, name);
      std::uint32_t& owner = assignment[member][to_index(*op)];
      if (owner != kNoGroup)
        return fail(ErrorCode::kInvalidInput, "groups[{}].ops: op {} of member {} is in group {} already", group_index,
                    name, plan.members[member].name, plan.groups[owner].name);
      owner = group_index;
    }
  }
  return {};
}

Result<Assignment> assign_groups(const Plan& plan, std::span<const Model* const> models, OpNames& names) {
  Assignment assignment;
  for (const Model* model : models) assignment.emplace_back(model->ops.size(), kNoGroup);
  for (std::uint32_t g = 0; g < plan.groups.size(); ++g) COHORT_CHECK(assign_named(plan, models, g, names, assignment));

  std::vector<std::uint32_t> rest(models.size(), kNoGroup);
  for (std::uint32_t g = 0; g < plan.groups.size(); ++g) {
    if (!plan.groups[g].ops.empty()) continue;
    for (const std::uint32_t member : plan.groups[g].members) {
      if (rest[member] != kNoGroup)
        return fail(ErrorCode::kInvalidInput, "groups[{}] and group {} both ask for all remaining ops of member {}", g,
                    plan.groups[rest[member]].name, plan.members[member].name);
      rest[member] = g;
    }
  }
  for (std::size_t m = 0; m < models.size(); ++m) {
    for (std::size_t op = 0; op < assignment[m].size(); ++op) {
      std::uint32_t& owner = assignment[m][op];
      if (owner == kNoGroup) owner = rest[m];
      if (owner == kNoGroup)
        return fail(ErrorCode::kInvalidInput, "groups: op {} of member {} is in no group", models[m]->ops[op].name,
                    plan.members[m].name);
    }
  }
  return assignment;
}

/// The launches of a fused group: its first member's ops, each with its namesakes in the others.
Result<void> add_fused(const Plan& plan, std::span<const Model* const> models, std::uint32_t group_index,
                       const Assignment& assignment, OpNames& names, std::vector<Launch>& launches) {
  const Group& group = plan.groups[group_index];
  const Model& first = *models[group.members.front()];
  for (std::size_t i = 0; i < first.ops.size(); ++i) {
    if (assignment[group.members.front()][i] != group_index) continue;
    Launch launch{group_index, {}, {}};
    const std::string signature = signature_of(first, first.ops[i]);
    for (const std::uint32_t member : group.members) {
      const Model& model = *models[member];
      const auto op = &model == &first ? std::optional(static_cast<OpId>(i)) : names.find(member, first.ops[i].name);
      const bool same = op && assignment[member][to_index(*op)] == group_index &&
                        (&model == &first || signature_of(model, model.op(*op)) == signature);
      if (!same)
        return fail(ErrorCode::kInvalidInput,
                    "groups[{}]: {} fuses equal ops, but op {} is not the same in members {} and {}; give them groups "
                    "of their own",
                    group_index, to_string(group.strategy), first.ops[i].name, plan.members[group.members.front()].name,
                    plan.members[member].name);
      launch.members.push_back(static_cast<MemberId>(member));
      launch.ops.push_back(*op);
    }
    launches.push_back(std::move(launch));
  }
  return {};
}

/// The launches of a grouped_gemm: ops of one name and kind, of all members that have one.
void add_grouped(const Group& group, std::span<const Model* const> models, std::uint32_t group_index,
                 const Assignment& assignment, std::vector<Launch>& launches) {
  std::map<std::pair<std::string, std::size_t>, std::size_t> known;  // by name and kind: position in `launches`
  for (const std::uint32_t member : group.members) {
    const std::vector<Op>& ops = models[member]->ops;
    for (std::size_t i = 0; i < ops.size(); ++i) {
      if (assignment[member][i] != group_index) continue;
      const auto [found, is_new] = known.try_emplace({ops[i].name, ops[i].attributes.index()}, launches.size());
      if (is_new) launches.push_back({group_index, {}, {}});
      launches[found->second].members.push_back(static_cast<MemberId>(member));
      launches[found->second].ops.push_back(static_cast<OpId>(i));
    }
  }
}

/// The ops of one member in the order in which its group lists them; `launch` says whose.
void add_listed(const Group& group, Launch launch, OpNames& names, std::vector<Launch>& launches) {
  for (std::size_t i = 0; i < group.ops.size(); ++i) {
    launch.ops = {*names.find(to_index(launch.members[0]), group.ops[i])};  // assign_named() found them all
    launch.position = i;
    launches.push_back(launch);
  }
}

Result<std::vector<Launch>> make_launches(const Plan& plan, std::span<const Model* const> models,
                                          const Assignment& assignment, OpNames& names) {
  std::vector<Launch> launches;
  for (std::uint32_t g = 0; g < plan.groups.size(); ++g) {
    const Group& group = plan.groups[g];
    if (group.strategy == Strategy::kGroupedGemm) {
      add_grouped(group, models, g, assignment, launches);
      continue;
    }
    if (is_fused(group.strategy) && group.members.size() > 1) {
      COHORT_CHECK(add_fused(plan, models, g, assignment, names, launches));
      continue;
    }
    for (const std::uint32_t member : group.members) {
      if (!group.op_streams.empty()) {
        add_listed(group, {g, {static_cast<MemberId>(member)}, {}}, names, launches);
        continue;
      }
      for (std::size_t op = 0; op < models[member]->ops.size(); ++op) {
        if (assignment[member][op] == g)
          launches.push_back({g, {static_cast<MemberId>(member)}, {static_cast<OpId>(op)}});
      }
    }
  }
  // A fused group takes the ops its first member has; one that only another member has is left over.
  std::vector<std::vector<bool>> launched;
  for (const Model* model : models) launched.emplace_back(model->ops.size(), false);
  for (const Launch& launch : launches) {
    for (std::size_t i = 0; i < launch.members.size(); ++i)
      launched[to_index(launch.members[i])][to_index(launch.ops[i])] = true;
  }
  for (std::size_t m = 0; m < models.size(); ++m) {
    for (std::size_t op = 0; op < launched[m].size(); ++op) {
      if (!launched[m][op])
        return fail(ErrorCode::kInvalidInput,
                    "groups[{}]: op {} of member {} has no equal in the group's other members", assignment[m][op],
                    models[m]->ops[op].name, plan.members[m].name);
    }
  }
  return launches;
}

/// Kahn's algorithm with a priority, so that the order follows the plan as far as data lets it.
class Ordering {
 public:
  Ordering(const Plan& plan, std::span<const Model* const> models, std::vector<Launch> launches)
      : plan_(plan),
        models_(models),
        launches_(std::move(launches)),
        needs_(launches_.size()),
        users_(launches_.size()) {
    link_data();
    link_updates();
    link_after();
    for (const Group& group : plan.groups) rounds_.push_back(rounds_of(group));
  }

  Result<std::vector<Launch>> run() {
    std::vector<std::size_t> open(launches_.size());
    std::priority_queue<Priority, std::vector<Priority>, std::greater<>> ready;
    for (std::size_t i = 0; i < launches_.size(); ++i) {
      open[i] = needs_[i].size();
      if (open[i] == 0) ready.push(priority(i));
    }
    std::vector<Launch> ordered;
    ordered.reserve(launches_.size());
    std::vector<bool> done(launches_.size(), false);
    while (!ready.empty()) {
      const std::size_t next = std::get<4>(ready.top());
      ready.pop();
      done[next] = true;
      ordered.push_back(std::move(launches_[next]));
      for (const std::size_t user : users_[next]) {
        if (--open[user] == 0) ready.push(priority(user));
      }
    }
    if (ordered.size() < launches_.size())
      return fail(ErrorCode::kInvalidInput, "groups: the order asked for is a cycle: {}", cycle(done));
    return ordered;
  }

 private:
  using Priority = std::tuple<std::uint32_t, std::size_t, std::size_t, std::size_t, std::size_t>;

  /// By member: how many of its concurrent group come before it on its stream.
  std::map<std::size_t, std::size_t> rounds_of(const Group& group) const {
    std::map<std::uint32_t, std::size_t> on_stream;
    std::map<std::size_t, std::size_t> rounds;
    if (group.strategy != Strategy::kConcurrent) return rounds;
    for (std::size_t i = 0; i < group.members.size(); ++i) {
      std::uint32_t stream = 0;
      if (!group.streams.empty()) {
        stream = group.streams[i];
      } else if (group.op_streams.empty()) {
        stream = stream_in_blocks(i, group.members.size(), plan_.streams);
      }
      rounds[group.members[i]] = on_stream[stream]++;
    }
    return rounds;
  }

  void link(std::size_t from, std::size_t to) {
    needs_[to].push_back(from);
    users_[from].push_back(to);
  }

  void link_data() {
    constexpr std::size_t kNone = SIZE_MAX;
    std::vector<std::vector<std::size_t>> producer;  // by member and tensor
    producer.reserve(models_.size());
    for (const Model* model : models_) producer.emplace_back(model->tensors.size(), kNone);
    for (std::size_t i = 0; i < launches_.size(); ++i) {
      for (std::size_t k = 0; k < launches_[i].members.size(); ++k) {
        const std::size_t member = to_index(launches_[i].members[k]);
        for (const TensorId out : models_[member]->op(launches_[i].ops[k]).outputs) producer[member][to_index(out)] = i;
      }
    }
    std::vector<std::size_t> from;
    for (std::size_t i = 0; i < launches_.size(); ++i) {
      from.clear();
      for (std::size_t k = 0; k < launches_[i].members.size(); ++k) {
        const std::size_t member = to_index(launches_[i].members[k]);
        for (const TensorId in : models_[member]->op(launches_[i].ops[k]).inputs) {
          if (const std::size_t source = producer[member][to_index(in)]; source != kNone) from.push_back(source);
        }
      }
      std::sort(from.begin(), from.end());
      from.erase(std::unique(from.begin(), from.end()), from.end());
      for (const std::size_t source : from) link(source, i);
    }
  }

  /// Whoever reads a state, or what is a view of it, does so before it is updated.
  void link_updates() {
    std::map<std::pair<std::size_t, TensorId>, std::size_t> updates;  // by member and state or view of it
    for (std::size_t i = 0; i < launches_.size(); ++i) {
      for (std::size_t k = 0; k < launches_[i].members.size(); ++k) {
        const std::size_t member = to_index(launches_[i].members[k]);
        const Op& op = models_[member]->op(launches_[i].ops[k]);
        if (!updates_state(op)) continue;
        updates[{member, op.inputs[0]}] = i;
        for (const Op& other : models_[member]->ops) {
          if (is_view(other) && updates.contains({member, other.inputs[0]})) updates[{member, other.outputs[0]}] = i;
        }
      }
    }
    for (std::size_t i = 0; !updates.empty() && i < launches_.size(); ++i) {
      std::set<std::size_t> behind;
      for (std::size_t k = 0; k < launches_[i].members.size(); ++k) {
        const std::size_t member = to_index(launches_[i].members[k]);
        for (const TensorId in : models_[member]->op(launches_[i].ops[k]).inputs) {
          const auto found = updates.find({member, in});
          if (found != updates.end() && found->second != i) behind.insert(found->second);
        }
      }
      for (const std::size_t update : behind) link(i, update);
    }
  }
  static bool is_view(const Op& op) {
    return std::holds_alternative<Unpack>(op.attributes) || std::holds_alternative<Reshape>(op.attributes) ||
           std::holds_alternative<Transpose>(op.attributes);
  }

  void link_after() {
    std::map<std::string, std::vector<std::size_t>> by_group;
    for (std::size_t i = 0; i < launches_.size(); ++i) by_group[plan_.groups[launches_[i].group].name].push_back(i);
    for (std::size_t i = 0; i < launches_.size(); ++i) {
      for (const std::string& name : plan_.groups[launches_[i].group].after) {
        for (const std::size_t source : by_group[name]) link(source, i);
      }
    }
  }

  [[nodiscard]] Priority priority(std::size_t i) const {
    const Launch& launch = launches_[i];
    const std::size_t member = to_index(launch.members.front());
    const Group& group = plan_.groups[launch.group];
    const std::size_t op = group.op_streams.empty() ? to_index(launch.ops.front()) : launch.position;
    if (group.strategy != Strategy::kConcurrent) return {launch.group, member, op, 0, i};
    // Streams in turn, op by op; on each a member is done before the next one begins, so that it finds its activations
    // in the caches, and members of a stream share the arena.
    return {launch.group, rounds_[launch.group].at(member), op, member, i};
  }

  [[nodiscard]] std::string name(std::size_t i) const {
    const Launch& launch = launches_[i];
    return fmt::format("{}/{} (group {})", member_ranges(launch.members),
                       models_[to_index(launch.members.front())]->op(launch.ops.front()).name,
                       plan_.groups[launch.group].name);
  }

  [[nodiscard]] std::string cycle(const std::vector<bool>& done) const {
    std::size_t at = static_cast<std::size_t>(std::find(done.begin(), done.end(), false) - done.begin());
    std::vector<std::size_t> path;
    while (std::find(path.begin(), path.end(), at) == path.end()) {
      path.push_back(at);
      at = *std::find_if(needs_[at].begin(), needs_[at].end(), [&](std::size_t need) { return !done[need]; });
    }
    std::string text = name(at);
    for (auto it = std::find(path.begin(), path.end(), at) + 1; it != path.end(); ++it)
      text += " waits for " + name(*it);
    return text + " waits for " + name(at);
  }

  const Plan& plan_;
  std::span<const Model* const> models_;
  std::vector<Launch> launches_;
  std::vector<std::vector<std::size_t>> needs_, users_;
  std::vector<std::map<std::size_t, std::size_t>> rounds_;  ///< by group
};

}  // namespace

Result<std::vector<Launch>> order_launches(const Plan& plan, std::span<const Model* const> models) {
  OpNames names(models);
  COHORT_TRY(const Assignment assignment, assign_groups(plan, models, names));
  COHORT_TRY(auto launches, make_launches(plan, models, assignment, names));
  return Ordering(plan, models, std::move(launches)).run();
}

}  // namespace cohort
