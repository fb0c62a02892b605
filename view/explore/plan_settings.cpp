#include "view/explore/plan_settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

namespace cohort {
namespace {

std::vector<std::uint32_t> all_members(std::size_t count) {
  std::vector<std::uint32_t> members(count);
  std::iota(members.begin(), members.end(), 0U);
  return members;
}

Group group_of(const ExploreGroup& group, std::vector<std::uint32_t> members) {
  return {.name = group.name,
          .members = std::move(members),
          .ops = group.ops,
          .strategy = group.strategy,
          .threads = group.threads,
          .streams = group.streams,
          .after = group.after,
          .op_streams = group.op_streams,
          .multiprocessors = group.multiprocessors};
}

/// One group for each stream that has any of the members.
void add_by_stream(const ExploreSettings& settings, const ExploreGroup& group,
                   const std::vector<std::uint32_t>& members, std::vector<Group>& groups) {
  const std::vector<std::uint32_t>& placed = settings.member_streams;
  for (std::uint32_t stream = 0; stream < static_cast<std::uint32_t>(settings.streams); ++stream) {
    std::vector<std::uint32_t> there;
    for (std::size_t i = 0; i < members.size(); ++i) {
      const std::uint32_t of_member =
          members[i] < placed.size() ? placed[members[i]] : stream_in_blocks(i, members.size(), settings.streams);
      if (of_member == stream) there.push_back(members[i]);
    }
    if (there.empty()) continue;
    Group& added = groups.emplace_back(group_of(group, std::move(there)));
    added.name += fmt::format("-{}", stream);
    added.streams = {stream};
  }
}

ExploreGroup exactly(const Group& group, std::size_t members) {
  ExploreGroup exact;
  exact.name = group.name;
  exact.strategy = group.strategy;
  exact.ops = group.ops;
  if (group.members.size() != members) exact.members = group.members;
  exact.by_stream = false;
  exact.threads = group.threads;
  exact.streams = group.streams;
  exact.after = group.after;
  exact.op_streams = group.op_streams;
  exact.multiprocessors = group.multiprocessors;
  return exact;
}

/// Whether `group` does on its stream what those that `family` stands for do on theirs.
bool continues(const ExploreGroup& family, const Group& group) {
  return is_fused(group.strategy) && family.strategy == group.strategy && family.ops == group.ops &&
         family.threads == group.threads && family.after == group.after &&
         family.multiprocessors == group.multiprocessors && group.streams.size() == 1 &&
         group.name == fmt::format("{}-{}", family.name, group.streams.front());
}

/// "fc1" of the group "fc1-0" on stream 0.
std::optional<std::string> family_name(const Group& group) {
  if (!is_fused(group.strategy) || group.streams.size() != 1) return std::nullopt;
  const std::string suffix = fmt::format("-{}", group.streams.front());
  if (group.name.size() <= suffix.size() || !group.name.ends_with(suffix)) return std::nullopt;
  return group.name.substr(0, group.name.size() - suffix.size());
}

/// Where members are, as far as groups on streams say; nothing where they contradict each other.
class Placement {
 public:
  explicit Placement(std::size_t members) : streams_(members) {}

  void add(std::uint32_t member, std::uint32_t stream) {
    if (streams_[member].value_or(stream) != stream) contradicts_ = true;
    streams_[member] = stream;
  }
  [[nodiscard]] std::vector<std::uint32_t> streams() const {
    std::vector<std::uint32_t> streams;
    for (const auto& stream : streams_) streams.push_back(stream.value_or(0));
    return contradicts_ ? std::vector<std::uint32_t>() : streams;
  }

 private:
  std::vector<std::optional<std::uint32_t>> streams_;
  bool contradicts_ = false;
};

struct Merged {
  std::vector<ExploreGroup> groups;
  std::vector<std::uint32_t> placed;  ///< by member, as groups on streams say
};

/// Groups that are alike on each stream as one.
Merged merged(const Plan& plan) {
  const std::size_t members = plan.members.size();
  Merged result;
  Placement placement(members);
  bool open = false;
  for (const Group& group : plan.groups) {
    if (open && continues(result.groups.back(), group)) {
      std::vector<std::uint32_t>& of_family = result.groups.back().members;
      of_family.insert(of_family.end(), group.members.begin(), group.members.end());
    } else {
      const auto name = plan.streams > 1 ? family_name(group) : std::nullopt;
      open = name.has_value();
      ExploreGroup& added = result.groups.emplace_back(exactly(group, members));
      if (open) {
        added.name = *name;
        added.by_stream = true;
        added.members = group.members;
        added.streams.clear();
      }
    }
    for (std::size_t i = 0; i < group.members.size() && group.op_streams.empty(); ++i) {
      if (group.strategy == Strategy::kConcurrent && !group.streams.empty())
        placement.add(group.members[i], group.streams[i]);
      if (open) placement.add(group.members[i], group.streams.front());
    }
  }
  for (ExploreGroup& group : result.groups) {
    std::sort(group.members.begin(), group.members.end());
    if (group.members == all_members(members)) group.members.clear();
  }
  result.placed = placement.streams();
  return result;
}

/// Concurrent members' streams follow from where members are.
std::vector<ExploreGroup> without_streams(std::vector<ExploreGroup> groups) {
  for (ExploreGroup& group : groups) {
    if (group.strategy == Strategy::kConcurrent && group.op_streams.empty()) group.streams.clear();
  }
  return groups;
}

/// Where members are that were before.
class Moves {
 public:
  Moves(std::span<const Member> before, std::span<const Member> after)
      : to_(before.size()), is_new_(after.size(), true) {
    std::map<std::pair<ModelSource, std::uint64_t>, std::uint32_t> places;
    for (std::uint32_t i = 0; i < after.size(); ++i) places[{after[i].source, after[i].seed}] = i;
    for (std::size_t i = 0; i < before.size(); ++i) {
      const auto place = places.find({before[i].source, before[i].seed});
      if (place == places.end()) continue;
      to_[i] = place->second;
      is_new_[place->second] = false;
    }
  }

  [[nodiscard]] std::optional<std::uint32_t> to(std::uint32_t before) const { return to_[before]; }
  [[nodiscard]] bool is_new(std::uint32_t after) const { return is_new_[after]; }
  [[nodiscard]] std::size_t before() const { return to_.size(); }
  [[nodiscard]] std::uint32_t after() const { return static_cast<std::uint32_t>(is_new_.size()); }

 private:
  std::vector<std::optional<std::uint32_t>> to_;
  std::vector<bool> is_new_;
};

/// How many members streams have.
class StreamLoad {
 public:
  explicit StreamLoad(int streams) : members_(static_cast<std::size_t>(std::max(streams, 1))) {}

  void add(std::uint32_t stream) { ++members_[std::min<std::size_t>(stream, members_.size() - 1)]; }
  std::uint32_t add_to_emptiest() {
    const auto least = std::min_element(members_.begin(), members_.end());
    ++*least;
    return static_cast<std::uint32_t>(least - members_.begin());
  }

 private:
  std::vector<std::size_t> members_;
};

/// A group that names its members or their streams. New members go into it where it takes whatever no other names; its
/// name is empty once nothing is left of it.
void move_group(ExploreGroup& group, const Moves& moves, int streams) {
  const bool is_placed = group.strategy == Strategy::kConcurrent && !group.streams.empty();
  if (group.members.empty()) group.members = all_members(moves.before());
  StreamLoad load(streams);
  std::map<std::uint32_t, std::uint32_t> placed;  // stream by member
  for (std::size_t i = 0; i < group.members.size(); ++i) {
    const auto place = moves.to(group.members[i]);
    if (!place) continue;
    const std::uint32_t stream = is_placed ? group.streams[i] : 0;
    load.add(stream);
    placed[*place] = stream;
  }
  for (std::uint32_t i = 0; i < moves.after() && group.ops.empty(); ++i) {
    if (moves.is_new(i)) placed[i] = load.add_to_emptiest();
  }
  group.members.clear();
  if (is_placed) group.streams.clear();
  for (const auto& [member, stream] : placed) {
    group.members.push_back(member);
    if (is_placed) group.streams.push_back(stream);
  }
  if (group.members.empty()) group.name.clear();
  if (group.members.size() == moves.after()) group.members.clear();
}

}  // namespace

ExploreGroup all_ops(Strategy strategy) { return {.name = "all", .strategy = strategy}; }

std::vector<Group> groups_of(const ExploreSettings& settings, std::size_t members) {
  std::vector<Group> groups;
  for (const ExploreGroup& group : settings.groups) {
    std::vector<std::uint32_t> of_group = group.members.empty() ? all_members(members) : group.members;
    if (is_fused(group.strategy) && group.by_stream && settings.streams > 1 && group.streams.empty()) {
      add_by_stream(settings, group, of_group, groups);
      continue;
    }
    Group& added = groups.emplace_back(group_of(group, std::move(of_group)));
    const bool places = group.strategy == Strategy::kConcurrent && group.streams.empty() && group.op_streams.empty();
    if (!places || settings.member_streams.empty()) continue;
    for (const std::uint32_t member : added.members) added.streams.push_back(settings.member_streams[member]);
  }
  return groups;
}

Plan plan_from(const ExploreSettings& settings, Plan base) {
  base.input = settings.other_input;
  if (!settings.data.empty()) {
    base.input.source = InputSource::kFolder;
    base.input.path = settings.data;
  }
  base.input.sharing = settings.shared_input ? InputSharing::kShared : InputSharing::kSeparate;
  base.input.buffers = settings.buffers.value_or(InputPlan{}.buffers);
  base.input.decode_workers = settings.decode_workers;
  base.streams = settings.streams;
  base.launch = settings.graphs ? LaunchMode::kGraph : LaunchMode::kSingle;
  base.launch_threads = settings.launch_threads;
  base.limits = settings.limits;
  base.groups = groups_of(settings, base.members.size());
  if (!settings.resolved) return base;
  Plan found = base;
  found.baselines = settings.baselines;
  found.resolved = settings.resolved;
  return fingerprint(found) == settings.resolved->fingerprint ? found : base;
}

ExploreSettings settings_from(const Plan& plan) {
  ExploreSettings settings;
  settings.streams = plan.streams;
  settings.graphs = plan.launch == LaunchMode::kGraph;
  settings.launch_threads = plan.launch_threads;
  settings.shared_input = plan.input.sharing == InputSharing::kShared;
  settings.buffers = plan.input.buffers;
  settings.limits = plan.limits;
  settings.baselines = plan.baselines;
  settings.resolved = plan.resolved;
  settings.decode_workers = plan.input.decode_workers;
  settings.other_input = plan.input;
  if (plan.input.source == InputSource::kFolder) {
    settings.data = plan.input.path;
    settings.other_input.source = InputSource::kGenerated;
    settings.other_input.path.clear();
  }
  // Said above; two settings that make one plan are equal.
  settings.other_input.sharing = {};
  settings.other_input.buffers = InputPlan{}.buffers;
  settings.other_input.decode_workers = InputPlan{}.decode_workers;

  const std::size_t members = plan.members.size();
  const Merged whole = merged(plan);
  const auto makes_it = [&] { return groups_of(settings, members) == plan.groups; };
  settings.groups = without_streams(whole.groups);
  if (makes_it()) return settings;
  settings.member_streams = whole.placed;
  if (!whole.placed.empty() && makes_it()) return settings;
  settings.member_streams.clear();
  settings.groups = whole.groups;
  if (makes_it()) return settings;
  settings.groups.clear();
  for (const Group& group : plan.groups) settings.groups.push_back(exactly(group, members));
  return settings;
}

void move_members(ExploreSettings& settings, std::span<const Member> before, std::span<const Member> after) {
  const Moves moves(before, after);
  if (!settings.member_streams.empty()) {
    std::vector<std::optional<std::uint32_t>> kept(after.size());
    StreamLoad load(settings.streams);
    for (std::uint32_t i = 0; i < before.size() && i < settings.member_streams.size(); ++i) {
      const auto place = moves.to(i);
      if (place) load.add(*(kept[*place] = settings.member_streams[i]));
    }
    settings.member_streams.clear();
    for (const auto& stream : kept) settings.member_streams.push_back(stream ? *stream : load.add_to_emptiest());
  }
  for (ExploreGroup& group : settings.groups) {
    const bool is_placed = group.strategy == Strategy::kConcurrent && !group.streams.empty();
    if (!group.members.empty() || is_placed) move_group(group, moves, settings.streams);
  }
  std::erase_if(settings.groups, [](const ExploreGroup& group) { return group.name.empty(); });
}

}  // namespace cohort
