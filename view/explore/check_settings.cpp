#include "view/explore/check_settings.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "simulator/colocation/colocate.hpp"

namespace cohort {
namespace {

constexpr int kMostBuffers = 1024;
constexpr int kMostDecodeWorkers = 1024;

using Problems = std::vector<SettingsProblem>;

void check_range(const std::string& field, int value, int least, int most, Problems& problems) {
  if (value >= least && value <= most) return;
  problems.push_back({field, fmt::format("must be from {} to {}, not {}", least, most, value)});
}

void check_minibatch(const ExploreSettings& settings, const ExploreFacts& facts, Problems& problems) {
  if (!settings.minibatch || facts.any_minibatch) {
    if (settings.minibatch.value_or(1) < 1)
      problems.push_back({"minibatch", fmt::format("must be at least 1, not {}", *settings.minibatch)});
    return;
  }
  const auto& known = facts.minibatches;
  if (std::find(known.begin(), known.end(), *settings.minibatch) != known.end()) return;
  problems.push_back({"minibatch", known.empty()
                                       ? "nothing here says what another minibatch would take"
                                       : fmt::format("{} was not profiled; {} {}", *settings.minibatch,
                                                     fmt::join(known, ", "), known.size() == 1 ? "was" : "were")});
}

void check_launches(const ExploreSettings& settings, const ExploreFacts& facts, Problems& problems) {
  if (!facts.launches) {
    if (settings.launch_threads != 1)
      problems.push_back(
          {"launch_threads", fmt::format("{} launches nothing; only a GPU's steps are launched", facts.device.id)});
    return;
  }
  check_range("launch_threads", settings.launch_threads, 1, facts.most_launch_threads, problems);
  if (settings.launch_threads > 1 && settings.graphs && settings.processes == Processes::kOne)
    problems.push_back({"launch_threads", "a graph is one launch; take one thread, or launch one by one"});
  if (facts.kind == ExploreFacts::Kind::kProfiles && settings.launch_threads > settings.streams)
    problems.push_back({"launch_threads", fmt::format("each launches one stream or more; there {} {}",
                                                      settings.streams == 1 ? "is" : "are", settings.streams)});
}

void check_speeds(const ExploreSettings& settings, Problems& problems) {
  const auto check = [&](const std::string& field, double times) {
    if (!(times > 0)) problems.push_back({field, fmt::format("must be more than 0, not {}", times)});
  };
  check("copy_speed", settings.copy_speed);
  check("interconnect_speed", settings.interconnect_speed);
  for (const auto& [pattern, times] : settings.scale) {
    check("scale", times);
    if (pattern.empty()) problems.push_back({"scale", "an empty pattern"});
  }
  if (settings.fuse == FuseChoice::kNamed && settings.fused.empty())
    problems.push_back({"fused", "no kernel, op or layer is named"});
  for (const std::string& name : settings.fused) {
    if (name.empty()) problems.push_back({"fused", "an empty name"});
  }
}

/// What processes of their own cannot share.
void check_processes(const ExploreSettings& settings, const ExploreFacts& facts, Problems& problems) {
  if (settings.processes == Processes::kOne) return;
  if (!facts.launches) problems.push_back({"processes", fmt::format("{} is not a GPU", facts.device.id)});
  std::size_t members = 0;
  for (std::size_t i = 0; i < facts.models.size(); ++i)
    members += static_cast<std::size_t>(settings.models[std::min(i, settings.models.size() - 1)]);
  if (settings.processes == Processes::kMps && members > kMostMpsClients)
    problems.push_back({"processes", fmt::format("an MPS server has at most {} clients", kMostMpsClients)});
  if (settings.shared_input) problems.push_back({"processes", "processes do not share input; take one process"});
  if (settings.fuse != FuseChoice::kNone)
    problems.push_back({"processes", "kernels of several processes cannot be fused; take one process"});
}

/// Ops that a group names, and where.
void check_ops(const ExploreSettings& settings, const ExploreFacts& facts, Problems& problems) {
  std::set<std::string_view> known;
  for (const ExploredOp& op : facts.ops) known.insert(op.name);
  for (const ExploreGroup& group : settings.groups) {
    for (const std::string& op : group.ops) {
      if (!known.contains(op)) problems.push_back({"groups", fmt::format("{}: no model has an op {}", group.name, op)});
    }
  }
}

}  // namespace

Problems check_counts(const std::vector<int>& models, const ExploreFacts& facts) {
  Problems problems;
  if (models.size() != 1 && models.size() != facts.models.size()) {
    problems.push_back({"models", fmt::format("{} numbers for {} models; one for all, or one for each", models.size(),
                                              facts.models.size())});
  }
  for (const int count : models) check_range("models", count, 1, facts.most_models, problems);
  return problems;
}

Problems check_settings(const ExploreSettings& settings, const ExploreFacts& facts) {
  Problems problems = check_counts(settings.models, facts);
  check_minibatch(settings, facts, problems);
  check_range("streams", settings.streams, 1, facts.most_streams, problems);
  if (settings.buffers) check_range("buffers", *settings.buffers, 1, kMostBuffers, problems);
  check_range("decode_workers", settings.decode_workers, 0, kMostDecodeWorkers, problems);
  check_launches(settings, facts, problems);
  for (const auto& [field, limit] :
       {std::pair("memory limit", settings.limits.memory), std::pair("workspace limit", settings.limits.workspace)}) {
    if (limit && limit->value < 0) problems.push_back({field, "must not be negative"});
  }
  if (!settings.data.empty() && !facts.reads_input)
    problems.push_back({"data", "the profile did not time how input is read; cohort profile --data FOLDER does"});
  if (facts.kind == ExploreFacts::Kind::kTraces) {
    check_processes(settings, facts, problems);
    check_speeds(settings, problems);
  }
  return problems;
}

Problems check_groups(const ExploreSettings& settings, const ExploreFacts& facts, std::size_t members) {
  Problems problems;
  std::set<std::string_view> names;
  for (const ExploreGroup& group : settings.groups) {
    if (group.name.empty()) problems.push_back({"groups", "a group has no name"});
    if (!names.insert(group.name).second)
      problems.push_back({"groups", fmt::format("{} is the name of two groups", group.name)});
    if (std::any_of(group.members.begin(), group.members.end(), [&](auto member) { return member >= members; }))
      problems.push_back(
          {"groups", fmt::format("{}: there are {} members, the last is {}", group.name, members, members - 1)});
  }
  if (settings.groups.empty()) problems.push_back({"groups", "there is no group: every op is in one"});
  check_ops(settings, facts, problems);
  if (settings.member_streams.empty()) return problems;
  if (settings.member_streams.size() != members)
    problems.push_back(
        {"member_streams", fmt::format("{} streams for {} members", settings.member_streams.size(), members)});
  for (const std::uint32_t stream : settings.member_streams) {
    if (stream < static_cast<std::uint32_t>(settings.streams)) continue;
    problems.push_back(
        {"member_streams", fmt::format("there is no stream {}; the last is {}", stream, settings.streams - 1)});
    break;
  }
  return problems;
}

bool same_input_and_limits(const ExploreSettings& a, const ExploreSettings& b, const ExploreFacts& facts) {
  const auto minibatch = [&](const ExploreSettings& settings) {
    return settings.minibatch || facts.minibatches.empty() ? settings.minibatch : facts.minibatches.front();
  };
  constexpr int kUsualBuffers = 2;
  return a.shared_input == b.shared_input && a.buffers.value_or(kUsualBuffers) == b.buffers.value_or(kUsualBuffers) &&
         a.data == b.data && (a.data.empty() || a.decode_workers == b.decode_workers) && minibatch(a) == minibatch(b) &&
         a.recorded_minibatch == b.recorded_minibatch && a.limits == b.limits;
}

}  // namespace cohort
