// Writing plan files.

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "simulator/plan/plan_json.hpp"

namespace cohort {
namespace {

using namespace plan_json;
using nlohmann::ordered_json;

/// Objects and lists short enough for one line stay on one, so that people can read the file.
void print(const ordered_json& value, int indent, std::string& out) {
  const std::string flat = value.dump();
  constexpr std::size_t kLine = 110;
  if (!value.is_structured() || flat.size() + static_cast<std::size_t>(indent) <= kLine) {
    out += flat;
    return;
  }
  const std::string pad(static_cast<std::size_t>(indent) + 2, ' ');
  out += value.is_object() ? "{\n" : "[\n";
  std::size_t count = 0;
  for (const auto& [key, item] : value.items()) {
    out += pad;
    if (value.is_object()) out += ordered_json(key).dump() + ": ";
    print(item, indent + 2, out);
    out += ++count < value.size() ? ",\n" : "\n";
  }
  out += std::string(static_cast<std::size_t>(indent), ' ') + (value.is_object() ? "}" : "]");
}

/// How many members from `first` on are "<prefix>-<seed>" with consecutive seeds and equal sources.
std::size_t run_length(const std::vector<Member>& members, std::size_t first, std::string& prefix) {
  const Member& head = members[first];
  const std::string suffix = fmt::format("-{}", head.seed);
  if (!head.name.ends_with(suffix) || head.name.size() == suffix.size()) return 1;
  prefix = head.name.substr(0, head.name.size() - suffix.size());
  std::size_t length = 1;
  while (first + length < members.size()) {
    const Member& next = members[first + length];
    if (next.source != head.source || next.seed != head.seed + length ||
        next.name != fmt::format("{}-{}", prefix, next.seed))
      break;
    ++length;
  }
  return length;
}

ordered_json write_training(const TrainingSpec& training) {
  ordered_json entry{{"loss", to_string(training.loss)}, {"optimizer", optimizer_name(training.update)}};
  if (training.update.clip) entry["clip"] = true;
  if (training.dropout_from_settings) entry["dropout_from_settings"] = true;
  if (training.recompute) entry["recompute"] = true;
  return entry;
}

ordered_json write_members(const std::vector<Member>& members) {
  ordered_json list = ordered_json::array();
  for (std::size_t i = 0; i < members.size();) {
    std::string prefix;
    const std::size_t count = run_length(members, i, prefix);
    const Member& member = members[i];
    ordered_json entry;
    entry["name"] = count > 1 ? prefix : member.name;
    entry["model"] = member.source.model;
    if (!member.source.arguments.empty()) entry["arguments"] = member.source.arguments;
    entry["minibatch"] = member.source.minibatch;
    if (member.source.training) entry["training"] = write_training(*member.source.training);
    if (member.source.strict_nan) entry["strict_nan"] = true;
    entry["seed"] = member.seed;
    if (count > 1) entry["count"] = count;
    list.push_back(std::move(entry));
    i += count;
  }
  return list;
}

/// Positions as ranges: "0-15,17".
std::string write_ranges(const std::vector<std::uint32_t>& positions) {
  std::string text;
  for (std::size_t i = 0; i < positions.size();) {
    std::size_t last = i;
    while (last + 1 < positions.size() && positions[last + 1] == positions[last] + 1) ++last;
    text += fmt::format("{}{}", text.empty() ? "" : ",", positions[i]);
    if (last > i) text += fmt::format("-{}", positions[last]);
    i = last + 1;
  }
  return text;
}

ordered_json write_groups(const std::vector<Group>& groups) {
  ordered_json list = ordered_json::array();
  for (const Group& group : groups) {
    ordered_json entry{
        {"name", group.name}, {"members", write_ranges(group.members)}, {"strategy", to_string(group.strategy)}};
    if (!group.ops.empty()) entry["ops"] = group.ops;
    if (group.threads != 0) entry["threads"] = group.threads;
    if (group.multiprocessors != 0) entry["multiprocessors"] = group.multiprocessors;
    if (!group.streams.empty()) entry["streams"] = group.streams;
    if (!group.op_streams.empty()) entry["op_streams"] = group.op_streams;
    if (!group.after.empty()) entry["after"] = group.after;
    list.push_back(std::move(entry));
  }
  return list;
}

/// Splits "3/conv1" into member and op; absent for tasks of several members.
std::optional<std::pair<std::uint32_t, std::string>> single_member(const std::string& task) {
  std::uint32_t member = 0;
  const char* const end = task.data() + task.size();
  const auto number = std::from_chars(task.data(), end, member);
  if (number.ec != std::errc() || number.ptr == end || *number.ptr != '/') return std::nullopt;
  return std::pair(member, std::string(number.ptr + 1, end));
}

/// Steps that differ only in their member.
struct EqualSteps {
  std::size_t entry = 0;  ///< of the first of them
  std::string op;
  std::vector<std::uint32_t> members;
};

/// Steps that differ only in their member become one entry: "each 0-15/conv1".
ordered_json write_steps(const std::vector<ResolvedStep>& steps) {
  std::vector<ordered_json> entries;
  std::unordered_map<std::string, EqualSteps> alike;  // by all but the member
  const auto entry_of = [](const ResolvedStep& step) {
    return ordered_json{{"task", step.task},
                        {"algorithm", step.algorithm},
                        {"threads", step.threads},
                        {"workspace_bytes", step.workspace.value}};
  };
  for (const ResolvedStep& step : steps) {
    const auto parts = single_member(step.task);
    if (!parts) {
      entries.push_back(entry_of(step));
      continue;
    }
    auto key = fmt::format("{}\n{}\n{}\n{}", parts->second, step.algorithm, step.threads, step.workspace.value);
    EqualSteps& equal = alike[std::move(key)];
    if (equal.members.empty()) {
      equal.entry = entries.size();
      equal.op = parts->second;
      entries.push_back(entry_of(step));
    }
    equal.members.push_back(parts->first);
  }
  for (auto& [key, equal] : alike) {
    if (equal.members.size() == 1) continue;
    std::sort(equal.members.begin(), equal.members.end());
    entries[equal.entry]["task"] = fmt::format("each {}/{}", write_ranges(equal.members), equal.op);
  }
  return entries;
}

ordered_json write_resolved(const Resolved& resolved) {
  ordered_json json = {{"device", resolved.device},
                       {"fingerprint", resolved.fingerprint},
                       {"weights_bytes", resolved.weights.value},
                       {"activations_bytes", resolved.activations.value},
                       {"workspace_bytes", resolved.workspace.value},
                       {"input_bytes", resolved.input.value},
                       {"steps", write_steps(resolved.steps)}};
  if (resolved.core_round_trip > Nanoseconds(0)) json["core_round_trip_ns"] = resolved.core_round_trip.count();
  return json;
}

ordered_json write_baselines(const std::vector<Baseline>& baselines) {
  ordered_json list = ordered_json::array();
  for (const Baseline& baseline : baselines) {
    ordered_json entry{{"members", write_ranges(baseline.members)}};
    if (baseline.input)
      entry["input"] = {{"decode_workers", baseline.input->decode_workers}, {"buffers", baseline.input->buffers}};
    if (baseline.launch) entry["launch"] = kLaunchModes.of(*baseline.launch);
    if (!baseline.fingerprint.empty()) entry["fingerprint"] = baseline.fingerprint;
    entry["steps"] = write_steps(baseline.steps);
    list.push_back(std::move(entry));
  }
  return list;
}

/// As with other fields that came later, what is as usual is not written.
void add_images(const ImagePreparation& images, ordered_json& input) {
  const ImagePreparation usual;
  if (images.resize) input["resize"] = *images.resize;
  if (images.random_crop) input["random_crop"] = true;
  if (images.random_flip) input["random_flip"] = true;
  if (images.mean != usual.mean) input["mean"] = images.mean;
  if (images.std != usual.std) input["std"] = images.std;
}

}  // namespace

std::string write_plan(const Plan& plan) {
  ordered_json document{{"format", kFormat}, {"version", kVersion}, {"device", plan.device}};
  document["members"] = write_members(plan.members);
  ordered_json input{{"source", kSources.of(plan.input.source)}, {"sharing", kSharings.of(plan.input.sharing)}};
  if (!plan.input.path.empty()) input["path"] = plan.input.path;
  input["decode_workers"] = plan.input.decode_workers;
  input["buffers"] = plan.input.buffers;
  input["seed"] = plan.input.seed;
  input["bad_images"] = kBadImages.of(plan.input.bad_images);
  add_images(plan.input.images, input);
  document["input"] = std::move(input);
  document["streams"] = plan.streams;
  if (plan.launch_threads != 1) document["launch_threads"] = plan.launch_threads;
  document["layout"] = kLayouts.of(plan.layout);
  if (plan.precision != Precision::kFloat32) document["precision"] = kPrecisions.of(plan.precision);
  document["launch"] = kLaunchModes.of(plan.launch);
  document["groups"] = write_groups(plan.groups);
  ordered_json limits = ordered_json::object();
  if (plan.limits.memory) limits["memory_bytes"] = plan.limits.memory->value;
  if (plan.limits.workspace) limits["workspace_bytes"] = plan.limits.workspace->value;
  if (!limits.empty()) document["limits"] = std::move(limits);
  if (!plan.baselines.empty()) document["baselines"] = write_baselines(plan.baselines);
  if (plan.resolved) document["resolved"] = write_resolved(*plan.resolved);
  std::string out;
  print(document, 0, out);
  return out + "\n";
}

}  // namespace cohort
