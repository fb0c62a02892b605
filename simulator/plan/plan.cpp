#include "simulator/plan/plan.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <set>
#include <string_view>
#include <utility>

namespace cohort {
namespace {

constexpr std::array<std::pair<Strategy, std::string_view>, 6> kStrategies = {{
    {Strategy::kSerial, "serial"},
    {Strategy::kConcurrent, "concurrent"},
    {Strategy::kDenseConvolution, "dense_convolution"},
    {Strategy::kGroupedConvolution, "grouped_convolution"},
    {Strategy::kStridedBatch, "strided_batch"},
    {Strategy::kGroupedGemm, "grouped_gemm"},
}};

/// Follows `after` from `first`; returns the cycle as "a -> b -> a" if there is one. A file may hold chains that are
/// too long for recursion.
std::optional<std::string> cycle_from(const std::map<std::string, std::vector<std::string>>& after,
                                      const std::string& first, std::set<std::string>& done) {
  if (done.contains(first)) return std::nullopt;
  std::vector<std::pair<const std::string*, std::size_t>> path{{&first, 0}};  // and which of those before it is next
  std::set<std::string_view> on_path{first};
  while (!path.empty()) {
    auto& [name, next] = path.back();
    const std::vector<std::string>& before = after.at(*name);
    if (next == before.size()) {
      on_path.erase(*name);
      done.insert(*name);
      path.pop_back();
      continue;
    }
    const std::string& following = before[next++];
    if (done.contains(following)) continue;
    if (on_path.insert(following).second) {
      path.emplace_back(&following, 0);
      continue;
    }
    std::string text;
    for (auto it = std::find_if(path.begin(), path.end(), [&](const auto& on) { return *on.first == following; });
         it != path.end(); ++it)
      text += *it->first + " -> ";
    return text + following;
  }
  return std::nullopt;
}

Result<void> validate_members(const Plan& plan) {
  if (plan.members.empty()) return fail(ErrorCode::kInvalidInput, "members is empty: a plan runs at least one model");
  std::set<std::string> names;
  for (std::size_t i = 0; i < plan.members.size(); ++i) {
    const Member& member = plan.members[i];
    if (member.name.empty()) return fail(ErrorCode::kInvalidInput, "members[{}].name is empty", i);
    if (member.name.find('/') != std::string::npos || member.name.starts_with('.'))
      return fail(ErrorCode::kInvalidInput, "members[{}].name: {} cannot name a folder of results", i, member.name);
    if (!names.insert(member.name).second)
      return fail(ErrorCode::kInvalidInput, "members[{}].name: {} is there twice", i, member.name);
    if (member.source.minibatch < 1)
      return fail(ErrorCode::kInvalidInput, "members[{}].minibatch must be at least 1, not {}", i,
                  member.source.minibatch);
  }
  return {};
}

Result<void> validate_op_streams(const Plan& plan, std::size_t position) {
  const Group& group = plan.groups[position];
  const auto at = [&](std::string_view field) { return fmt::format("groups[{}].{}", position, field); };
  if (group.op_streams.empty()) return {};
  if (group.strategy != Strategy::kConcurrent)
    return fail(ErrorCode::kInvalidInput, "{} is only for strategy concurrent, not {}", at("op_streams"),
                to_string(group.strategy));
  if (group.op_streams.size() != group.ops.size())
    return fail(ErrorCode::kInvalidInput, "{} must have {} entries, one for each entry of ops, not {}",
                at("op_streams"), group.ops.size(), group.op_streams.size());
  const std::uint64_t first = group.streams.empty() ? 0 : *std::max_element(group.streams.begin(), group.streams.end());
  const std::uint64_t last = first + *std::max_element(group.op_streams.begin(), group.op_streams.end());
  if (last >= static_cast<std::uint64_t>(plan.streams))
    return fail(ErrorCode::kInvalidInput, "{}: there is no stream {}; the plan has {}", at("op_streams"), last,
                plan.streams);
  return {};
}

Result<void> validate_group(const Plan& plan, std::size_t position) {
  const Group& group = plan.groups[position];
  const auto at = [&](std::string_view field) { return fmt::format("groups[{}].{}", position, field); };
  if (group.members.empty()) return fail(ErrorCode::kInvalidInput, "{} is empty", at("members"));
  for (std::size_t i = 0; i < group.members.size(); ++i) {
    if (group.members[i] >= plan.members.size())
      return fail(ErrorCode::kInvalidInput, "{}: there is no member {}; the last is {}", at("members"),
                  group.members[i], plan.members.size() - 1);
    if (i > 0 && group.members[i] <= group.members[i - 1])
      return fail(ErrorCode::kInvalidInput, "{} must be ascending without repeats", at("members"));
  }
  if (group.threads < 0)
    return fail(ErrorCode::kInvalidInput, "{} must be 0 or more, not {}", at("threads"), group.threads);
  if (group.multiprocessors < 0)
    return fail(ErrorCode::kInvalidInput, "{} must be 0 or more, not {}", at("multiprocessors"), group.multiprocessors);
  const std::size_t streams = group.streams.size();
  if (streams > 0 && group.strategy == Strategy::kSerial)
    return fail(ErrorCode::kInvalidInput, "{} is not for strategy serial, which has stream 0", at("streams"));
  const std::size_t wanted = group.strategy == Strategy::kConcurrent ? group.members.size() : 1;
  if (streams > 0 && streams != wanted)
    return fail(ErrorCode::kInvalidInput, "{} must have {} entries, one for each {}, not {}", at("streams"), wanted,
                wanted == 1 ? "group that is fused" : "member", streams);
  for (const std::uint32_t stream : group.streams) {
    if (stream >= static_cast<std::uint32_t>(plan.streams))
      return fail(ErrorCode::kInvalidInput, "{}: there is no stream {}; the plan has {}", at("streams"), stream,
                  plan.streams);
  }
  return validate_op_streams(plan, position);
}

Result<void> validate_launch_threads(const Plan& plan) {
  if (plan.launch_threads < 1 || plan.launch_threads > plan.streams)
    return fail(ErrorCode::kInvalidInput, "launch_threads must be 1 to the number of streams, {}, not {}", plan.streams,
                plan.launch_threads);
  if (plan.launch_threads > 1 && plan.launch == LaunchMode::kGraph)
    return fail(ErrorCode::kInvalidInput,
                "launch_threads must be 1, not {}, where launch is \"graph\": a graph is one launch; or make launch "
                "\"single\"",
                plan.launch_threads);
  return {};
}

Result<void> validate_baselines(const Plan& plan) {
  std::map<std::uint32_t, std::size_t> known;  // by member: its baseline
  for (std::size_t i = 0; i < plan.baselines.size(); ++i) {
    if (plan.baselines[i].members.empty()) return fail(ErrorCode::kInvalidInput, "baselines[{}].members is empty", i);
    for (const std::uint32_t member : plan.baselines[i].members) {
      if (member >= plan.members.size())
        return fail(ErrorCode::kInvalidInput, "baselines[{}].members: there is no member {}; the last is {}", i, member,
                    plan.members.size() - 1);
      const auto [first, is_new] = known.emplace(member, i);
      if (!is_new)
        return fail(ErrorCode::kInvalidInput, "baselines[{}].members: member {} is in baselines[{}] already", i, member,
                    first->second);
    }
    const Baseline& baseline = plan.baselines[i];
    if (!baseline.fingerprint.empty() && baseline.fingerprint != baseline_fingerprint(plan, baseline.members))
      return fail(ErrorCode::kInvalidInput,
                  "baselines[{}] was made for other models than its members have now, or for another layout or "
                  "precision; delete baselines to have them made anew",
                  i);
  }
  return {};
}

Result<void> validate_images(const InputPlan& input) {
  COHORT_CHECK(validate(input.images, "input."));
  const std::string_view field = unusual_field(input.images);
  if (input.source == InputSource::kFolder || field.empty()) return {};
  return fail(ErrorCode::kInvalidInput, "input.{} is of images: only for source folder, not {}", field,
              input.source == InputSource::kArrays ? "arrays" : "generated");
}

Result<void> validate_order(const Plan& plan) {
  std::map<std::string, std::vector<std::string>> after;
  for (std::size_t i = 0; i < plan.groups.size(); ++i) {
    const Group& group = plan.groups[i];
    if (group.name.empty()) return fail(ErrorCode::kInvalidInput, "groups[{}].name is empty", i);
    if (!after.emplace(group.name, group.after).second)
      return fail(ErrorCode::kInvalidInput, "groups[{}].name: {} is there twice", i, group.name);
  }
  for (std::size_t i = 0; i < plan.groups.size(); ++i) {
    for (const std::string& name : plan.groups[i].after) {
      if (!after.contains(name))
        return fail(ErrorCode::kInvalidInput, "groups[{}].after: there is no group {}", i, name);
    }
  }
  std::set<std::string> done;
  for (std::size_t i = 0; i < plan.groups.size(); ++i) {
    if (const auto cycle = cycle_from(after, plan.groups[i].name, done))
      return fail(ErrorCode::kInvalidInput, "groups[{}].after makes a cycle: {}", i, *cycle);
  }
  return {};
}

}  // namespace

std::string_view to_string(Strategy strategy) {
  return std::find_if(kStrategies.begin(), kStrategies.end(),
                      [&](const auto& entry) { return entry.first == strategy; })
      ->second;
}

Result<Strategy> strategy_from(std::string_view text) {
  std::string known;
  for (const auto& [strategy, name] : kStrategies) {
    if (name == text) return strategy;
    known += known.empty() ? "" : ", ";
    known += name;
  }
  return fail(ErrorCode::kInvalidInput, "there is no strategy {}; known are {}", text, known);
}

std::vector<std::string> strategy_names() {
  std::vector<std::string> names;
  for (const auto& [strategy, name] : kStrategies) names.emplace_back(name);
  return names;
}

std::string_view to_string(Layout layout) { return layout == Layout::kNchw ? "nchw" : "nhwc"; }

Result<Layout> layout_from(std::string_view text) {
  for (const Layout layout : {Layout::kNhwc, Layout::kNchw}) {
    if (to_string(layout) == text) return layout;
  }
  return fail(ErrorCode::kInvalidInput, "there is no layout {}; known are nhwc, nchw", text);
}

Result<void> validate(const Plan& plan) {
  COHORT_CHECK(validate_members(plan));
  if (plan.streams < 1) return fail(ErrorCode::kInvalidInput, "streams must be at least 1, not {}", plan.streams);
  COHORT_CHECK(validate_launch_threads(plan));
  if (plan.input.buffers < 1)
    return fail(ErrorCode::kInvalidInput, "input.buffers must be at least 1, not {}", plan.input.buffers);
  if (plan.input.decode_workers < 1)
    return fail(ErrorCode::kInvalidInput, "input.decode_workers must be at least 1, not {}", plan.input.decode_workers);
  COHORT_CHECK(validate_images(plan.input));
  if (plan.groups.empty()) return fail(ErrorCode::kInvalidInput, "groups is empty: every op belongs to one group");
  for (std::size_t i = 0; i < plan.groups.size(); ++i) COHORT_CHECK(validate_group(plan, i));
  COHORT_CHECK(validate_baselines(plan));
  return validate_order(plan);
}

std::string fingerprint(const Plan& plan) {
  Plan bare = plan;
  bare.resolved.reset();
  std::uint64_t hash = 0xcbf29ce484222325ULL;  // FNV-1a
  for (const char c : write_plan(bare)) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return fmt::format("{:016x}", hash);
}

std::string baseline_fingerprint(const Plan& plan, const std::vector<std::uint32_t>& members) {
  Plan bare;
  bare.layout = plan.layout;
  bare.precision = plan.precision;
  const ModelSource* last = nullptr;
  for (const std::uint32_t member : members) {
    const ModelSource& source = plan.members[member].source;
    if (last != nullptr && *last == source) continue;
    last = &source;
    Member& model = bare.members.emplace_back();
    model.source = source;
    model.source.model = std::filesystem::path(source.model).filename();  // wherever it lies
  }
  return fingerprint(bare);
}

std::uint32_t stream_in_blocks(std::size_t position, std::size_t count, int streams) {
  return static_cast<std::uint32_t>(position * static_cast<std::size_t>(streams) / count);
}

void set_input_setting(const InputSetting& setting, Plan& plan) {
  plan.input.decode_workers = setting.decode_workers;
  plan.input.buffers = setting.buffers;
}

Plan baseline_plan(const Plan& plan, std::uint32_t member) {
  Plan alone = uniform_plan({plan.members[member]}, Strategy::kSerial, 1);
  alone.device = plan.device;
  alone.input = plan.input;
  alone.layout = plan.layout;
  alone.precision = plan.precision;
  alone.launch = plan.launch;
  alone.limits.workspace = plan.limits.workspace;
  for (const Baseline& baseline : plan.baselines) {
    if (std::find(baseline.members.begin(), baseline.members.end(), member) == baseline.members.end()) continue;
    if (baseline.input) set_input_setting(*baseline.input, alone);
    alone.launch = baseline.launch.value_or(plan.launch);
    alone.resolved = Resolved{"", fingerprint(alone), {}, {}, {}, {}, baseline.steps};
  }
  return alone;
}

Plan in_turn_plan(const Plan& plan) {
  Plan in_turn = uniform_plan(plan.members, Strategy::kSerial, 1);
  in_turn.groups.front().name = "in turn";
  in_turn.device = plan.device;
  in_turn.input = plan.input;
  in_turn.input.sharing = InputSharing::kSeparate;
  in_turn.layout = plan.layout;
  in_turn.precision = plan.precision;
  in_turn.launch = plan.launch;
  in_turn.limits.workspace = plan.limits.workspace;
  if (plan.baselines.empty()) return in_turn;
  in_turn.launch = plan.baselines.front().launch.value_or(plan.launch);
  Resolved resolved{"", fingerprint(in_turn), {}, {}, {}, {}, {}};
  for (const Baseline& baseline : plan.baselines) {
    for (const std::uint32_t member : baseline.members) {
      for (ResolvedStep step : baseline.steps) {
        step.task = fmt::format("{}{}", member, step.task.substr(step.task.find('/')));
        resolved.steps.push_back(std::move(step));
      }
    }
  }
  in_turn.resolved = std::move(resolved);
  return in_turn;
}

Plan uniform_plan(std::vector<Member> members, Strategy strategy, int streams) {
  Plan plan;
  Group group{.name = "all", .members = {}, .ops = {}, .strategy = strategy, .threads = 0, .streams = {}, .after = {}};
  for (std::uint32_t i = 0; i < members.size(); ++i) group.members.push_back(i);
  plan.members = std::move(members);
  plan.groups.push_back(std::move(group));
  plan.streams = streams;
  return plan;
}

}  // namespace cohort
