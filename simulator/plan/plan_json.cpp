#include <algorithm>
#include <charconv>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>

#include "base/json.hpp"
#include "simulator/plan/allowance.hpp"
#include "simulator/plan/plan.hpp"

namespace cohort {
namespace {

using nlohmann::ordered_json;

constexpr std::string_view kFormat = "cohort.plan";
constexpr std::int64_t kVersion = 1;
constexpr std::int64_t kMostMembers = 65536;

template <class E>
struct Names {
  std::vector<std::pair<E, std::string_view>> entries;

  [[nodiscard]] std::string_view of(E value) const {
    for (const auto& [known, name] : entries) {
      if (known == value) return name;
    }
    return entries.front().second;
  }
  [[nodiscard]] Result<E> read(JsonObject& object, std::string_view key) const {
    COHORT_TRY(const std::string text, object.string(key));
    std::string known;
    for (const auto& [value, name] : entries) {
      if (name == text) return value;
      known += fmt::format("{}{}", known.empty() ? "" : ", ", name);
    }
    return fail(ErrorCode::kInvalidInput, "{} must be one of {}, not {}", object.path_of(key), known, text);
  }
};

const Names<Layout> kLayouts{{{Layout::kNchw, "nchw"}, {Layout::kNhwc, "nhwc"}}};
const Names<Precision> kPrecisions{{{Precision::kFloat32, "float32"},
                                    {Precision::kTf32, "tf32"},
                                    {Precision::kBfloat16, "bfloat16"},
                                    {Precision::kFloat16, "float16"}}};
const Names<LaunchMode> kLaunchModes{{{LaunchMode::kSingle, "single"}, {LaunchMode::kGraph, "graph"}}};
const Names<InputSource> kSources{
    {{InputSource::kGenerated, "generated"}, {InputSource::kFolder, "folder"}, {InputSource::kArrays, "arrays"}}};
const Names<InputSharing> kSharings{{{InputSharing::kShared, "shared"}, {InputSharing::kSeparate, "separate"}}};
const Names<BadImages> kBadImages{{{BadImages::kSkip, "skip"}, {BadImages::kFatal, "fatal"}}};

// ---- Writing

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

/// Steps that differ only in their member become one entry: "each 0-15/conv1".
ordered_json write_steps(const std::vector<ResolvedStep>& steps) {
  std::vector<ordered_json> entries;
  std::map<std::string, std::pair<std::size_t, std::vector<std::uint32_t>>> alike;  // by all but the member
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
    const auto key = fmt::format("{}\n{}\n{}\n{}", parts->second, step.algorithm, step.threads, step.workspace.value);
    const auto [found, is_new] = alike.try_emplace(key, entries.size(), std::vector<std::uint32_t>());
    if (is_new) entries.push_back(entry_of(step));
    auto& members = found->second.second;
    members.push_back(parts->first);
    if (members.size() == 1) continue;
    std::sort(members.begin(), members.end());
    entries[found->second.first]["task"] = fmt::format("each {}/{}", write_ranges(members), parts->second);
  }
  return entries;
}

ordered_json write_resolved(const Resolved& resolved) {
  return {{"device", resolved.device},
          {"fingerprint", resolved.fingerprint},
          {"weights_bytes", resolved.weights.value},
          {"activations_bytes", resolved.activations.value},
          {"workspace_bytes", resolved.workspace.value},
          {"input_bytes", resolved.input.value},
          {"steps", write_steps(resolved.steps)}};
}

ordered_json write_baselines(const std::vector<Baseline>& baselines) {
  ordered_json list = ordered_json::array();
  for (const Baseline& baseline : baselines)
    list.push_back({{"members", write_ranges(baseline.members)}, {"steps", write_steps(baseline.steps)}});
  return list;
}

// ---- Reading

Result<std::vector<Member>> read_member(JsonObject& object, Allowance& allowance) {
  Member member;
  COHORT_TRY(member.name, object.string("name"));
  COHORT_TRY(member.source.model, object.string("model"));
  std::size_t text = member.name.size() + member.source.model.size();
  COHORT_TRY(member.source.minibatch, object.integer("minibatch", 1, 1 << 20));
  COHORT_TRY(const std::int64_t seed, object.integer("seed", 0, INT64_MAX - kMostMembers));
  member.seed = static_cast<std::uint64_t>(seed);
  if (object.has("arguments")) {
    COHORT_TRY(const nlohmann::json* arguments, object.value("arguments"));
    if (!arguments->is_object())
      return fail(ErrorCode::kInvalidInput, "{} must be an object of strings", object.path_of("arguments"));
    for (const auto& [name, value] : arguments->items()) {
      if (!value.is_string())
        return fail(ErrorCode::kInvalidInput, "{}.{} must be a string, not {}", object.path_of("arguments"), name,
                    value.dump());
      member.source.arguments[name] = value.get<std::string>();
      text += name.size() + member.source.arguments[name].size();
    }
  }
  if (!object.has("count")) {
    COHORT_CHECK(object.no_other_keys());
    return std::vector<Member>{member};
  }
  COHORT_TRY(const std::int64_t count, object.integer("count", 1, kMostMembers));
  COHORT_CHECK(object.no_other_keys());
  COHORT_CHECK(allowance.copy(static_cast<std::size_t>(count), text, object.path_of("count")));
  std::vector<Member> members;
  for (std::int64_t i = 0; i < count; ++i) {
    Member copy = member;
    copy.seed += static_cast<std::uint64_t>(i);
    copy.name = fmt::format("{}-{}", member.name, copy.seed);
    members.push_back(std::move(copy));
  }
  return members;
}

/// Absent where `text` is not positions and ranges such as 0-15,17.
std::optional<std::vector<std::uint32_t>> parse_ranges(std::string_view text) {
  std::vector<std::uint32_t> positions;
  const char* at = text.data();
  const char* const end = text.data() + text.size();
  while (at != end) {
    std::uint32_t first = 0;
    const auto number = std::from_chars(at, end, first);
    if (number.ec != std::errc()) return std::nullopt;
    at = number.ptr;
    std::uint32_t last = first;
    if (at != end && *at == '-') {
      const auto second = std::from_chars(at + 1, end, last);
      if (second.ec != std::errc() || last < first) return std::nullopt;
      at = second.ptr;
    }
    if (last - first >= kMostMembers || positions.size() > kMostMembers) return std::nullopt;
    for (std::uint32_t i = first; i < last; ++i) positions.push_back(i);
    positions.push_back(last);  // may be the largest number there is
    if (at != end && (*at != ',' || ++at == end)) return std::nullopt;
  }
  return positions;
}

Result<std::vector<std::uint32_t>> read_ranges(JsonObject& object, std::string_view key) {
  COHORT_TRY(const std::string text, object.string(key));
  auto positions = parse_ranges(text);
  if (!positions)
    return fail(ErrorCode::kInvalidInput, "{} must be positions and ranges such as 0-15,17, not \"{}\"",
                object.path_of(key), text);
  return std::move(*positions);
}

/// Empty where the key is not there.
Result<std::vector<std::uint32_t>> read_streams(JsonObject& object, std::string_view key) {
  if (!object.has(key)) return std::vector<std::uint32_t>();
  COHORT_TRY(const nlohmann::json* list, object.value(key));
  const auto is_stream = [](const nlohmann::json& item) {
    return item.is_number_unsigned() && item.get<std::uint64_t>() < 65536;
  };
  if (!list->is_array() || !std::all_of(list->begin(), list->end(), is_stream))
    return fail(ErrorCode::kInvalidInput, "{} must be a list of stream positions", object.path_of(key));
  return list->get<std::vector<std::uint32_t>>();
}

/// 0 where the key is not there.
Result<int> read_count(JsonObject& object, std::string_view key) {
  if (!object.has(key)) return 0;
  COHORT_TRY(const std::int64_t count, object.integer(key, 1, 4096));
  return static_cast<int>(count);
}

Result<Group> read_group(JsonObject& object) {
  Group group;
  COHORT_TRY(group.name, object.string("name"));
  COHORT_TRY(group.members, read_ranges(object, "members"));
  COHORT_TRY(const std::string strategy, object.string("strategy"));
  auto known = strategy_from(strategy);
  if (!known) return in_context(object.path_of("strategy"), known.error());
  group.strategy = *known;
  if (object.has("ops")) {
    COHORT_TRY(group.ops, object.strings("ops"));
    if (group.ops.empty())
      return fail(ErrorCode::kInvalidInput, "{} is empty: leave it out to mean all ops", object.path_of("ops"));
  }
  COHORT_TRY(group.threads, read_count(object, "threads"));
  COHORT_TRY(group.multiprocessors, read_count(object, "multiprocessors"));
  COHORT_TRY(group.streams, read_streams(object, "streams"));
  COHORT_TRY(group.op_streams, read_streams(object, "op_streams"));
  if (object.has("after")) {
    COHORT_TRY(group.after, object.strings("after"));
  }
  COHORT_CHECK(object.no_other_keys());
  return group;
}

Result<JsonObject> nested(JsonObject& object, std::string_view key) {
  COHORT_TRY(const nlohmann::json* value, object.value(key));
  return JsonObject::open(*value, object.path_of(key));
}

Result<InputPlan> read_input(JsonObject object) {
  InputPlan input;
  COHORT_TRY(input.source, kSources.read(object, "source"));
  COHORT_TRY(input.sharing, kSharings.read(object, "sharing"));
  if (object.has("path")) {
    COHORT_TRY(input.path, object.string("path"));
  }
  if (input.source != InputSource::kGenerated && input.path.empty())
    return fail(ErrorCode::kInvalidInput, "{} is missing: source {} reads from a folder", object.path_of("path"),
                kSources.of(input.source));
  COHORT_TRY(const std::int64_t workers, object.integer("decode_workers", 1, 1024));
  COHORT_TRY(const std::int64_t buffers, object.integer("buffers", 1, 1024));
  COHORT_TRY(const std::int64_t seed, object.integer("seed", 0, INT64_MAX));
  input.decode_workers = static_cast<int>(workers);
  input.buffers = static_cast<int>(buffers);
  input.seed = static_cast<std::uint64_t>(seed);
  COHORT_TRY(input.bad_images, kBadImages.read(object, "bad_images"));
  COHORT_CHECK(object.no_other_keys());
  return input;
}

Result<std::optional<Bytes>> read_limit(JsonObject& object, std::string_view key) {
  if (!object.has(key)) return std::optional<Bytes>();
  COHORT_TRY(const std::int64_t value, object.integer(key, 0, INT64_MAX));
  return std::optional<Bytes>(Bytes{value});
}

Result<Bytes> read_bytes(JsonObject& object, std::string_view key) {
  COHORT_TRY(const std::int64_t value, object.integer(key, 0, INT64_MAX));
  return Bytes{value};
}

Result<std::vector<ResolvedStep>> read_steps(JsonObject& object, Allowance& allowance) {
  constexpr std::string_view kEach = "each ";
  COHORT_TRY(auto entries, object.objects("steps"));
  std::vector<ResolvedStep> steps;
  for (JsonObject& entry : entries) {
    ResolvedStep step;
    COHORT_TRY(step.task, entry.string("task"));
    COHORT_TRY(step.algorithm, entry.string("algorithm"));
    COHORT_TRY(const std::int64_t threads, entry.integer("threads", 1, 4096));
    step.threads = static_cast<int>(threads);
    COHORT_TRY(step.workspace, read_bytes(entry, "workspace_bytes"));
    COHORT_CHECK(entry.no_other_keys());
    if (!step.task.starts_with(kEach)) {
      steps.push_back(std::move(step));
      continue;
    }
    const std::string task = step.task.substr(kEach.size());
    const std::size_t slash = task.find('/');
    const auto members =
        slash == std::string::npos ? std::nullopt : parse_ranges(std::string_view(task).substr(0, slash));
    if (!members)
      return fail(ErrorCode::kInvalidInput, "{} must be like \"each 0-15/conv1\", not \"{}\"", entry.path_of("task"),
                  step.task);
    COHORT_CHECK(allowance.copy(members->size(), task.size() + step.algorithm.size(), entry.path_of("task")));
    for (const std::uint32_t member : *members) {
      step.task = fmt::format("{}{}", member, task.substr(slash));
      steps.push_back(step);
    }
  }
  return steps;
}

Result<Baseline> read_baseline(JsonObject& object, Allowance& allowance) {
  Baseline baseline;
  COHORT_TRY(baseline.members, read_ranges(object, "members"));
  COHORT_TRY(baseline.steps, read_steps(object, allowance));
  COHORT_CHECK(object.no_other_keys());
  return baseline;
}

Result<Resolved> read_resolved(JsonObject object, Allowance& allowance) {
  Resolved resolved;
  COHORT_TRY(resolved.device, object.string("device"));
  COHORT_TRY(resolved.fingerprint, object.string("fingerprint"));
  COHORT_TRY(resolved.weights, read_bytes(object, "weights_bytes"));
  COHORT_TRY(resolved.activations, read_bytes(object, "activations_bytes"));
  COHORT_TRY(resolved.workspace, read_bytes(object, "workspace_bytes"));
  COHORT_TRY(resolved.input, read_bytes(object, "input_bytes"));
  COHORT_TRY(resolved.steps, read_steps(object, allowance));
  COHORT_CHECK(object.no_other_keys());
  return resolved;
}

Result<void> read_header(JsonObject& object) {
  if (object.has("traceEvents")) return fail(ErrorCode::kInvalidInput, "a trace, not a plan");
  COHORT_TRY(const std::string format, object.string("format"));
  if (format != kFormat) return fail(ErrorCode::kInvalidInput, "format must be {}, not {}", kFormat, format);
  COHORT_TRY(const std::int64_t version, object.integer("version", 1, INT64_MAX));
  if (version != kVersion)
    return fail(ErrorCode::kInvalidInput, "version {} is not known here; this program reads version {}", version,
                kVersion);
  return {};
}

Result<std::vector<Member>> read_members(JsonObject& object, Allowance& allowance) {
  std::vector<Member> members;
  COHORT_TRY(auto entries, object.objects("members"));
  for (JsonObject& entry : entries) {
    COHORT_TRY(auto read, read_member(entry, allowance));
    if (members.size() + read.size() > static_cast<std::size_t>(kMostMembers))
      return fail(ErrorCode::kInvalidInput, "members: more than {}", kMostMembers);
    members.insert(members.end(), std::make_move_iterator(read.begin()), std::make_move_iterator(read.end()));
  }
  return members;
}

Result<void> read_lists(JsonObject& object, Allowance& allowance, Plan& plan) {
  COHORT_TRY(plan.members, read_members(object, allowance));
  COHORT_TRY(auto groups, object.objects("groups"));
  for (JsonObject& entry : groups) {
    COHORT_TRY(auto group, read_group(entry));
    plan.groups.push_back(std::move(group));
  }
  if (!object.has("baselines")) return {};
  COHORT_TRY(auto baselines, object.objects("baselines"));
  for (JsonObject& entry : baselines) {
    COHORT_TRY(auto baseline, read_baseline(entry, allowance));
    plan.baselines.push_back(std::move(baseline));
  }
  return {};
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
  document["input"] = std::move(input);
  document["streams"] = plan.streams;
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

Result<std::vector<Member>> parse_members(std::string_view text) {
  COHORT_TRY(const nlohmann::json document, parse_json(text));
  COHORT_TRY(JsonObject object, JsonObject::open(document, ""));
  Allowance allowance;
  COHORT_TRY(auto members, read_members(object, allowance));
  COHORT_CHECK(object.no_other_keys());
  return members;
}

Result<Plan> parse_plan(std::string_view text) {
  COHORT_TRY(const nlohmann::json document, parse_json(text));
  COHORT_TRY(JsonObject object, JsonObject::open(document, ""));
  COHORT_CHECK(read_header(object));
  Plan plan;
  Allowance allowance;
  COHORT_TRY(plan.device, object.string("device"));
  COHORT_CHECK(read_lists(object, allowance, plan));
  COHORT_TRY(auto input, nested(object, "input"));
  COHORT_TRY(plan.input, read_input(std::move(input)));
  COHORT_TRY(const std::int64_t streams, object.integer("streams", 1, 1024));
  plan.streams = static_cast<int>(streams);
  COHORT_TRY(plan.layout, kLayouts.read(object, "layout"));
  if (object.has("precision")) {
    COHORT_TRY(plan.precision, kPrecisions.read(object, "precision"));
  }
  COHORT_TRY(plan.launch, kLaunchModes.read(object, "launch"));
  if (object.has("limits")) {
    COHORT_TRY(auto limits, nested(object, "limits"));
    COHORT_TRY(plan.limits.memory, read_limit(limits, "memory_bytes"));
    COHORT_TRY(plan.limits.workspace, read_limit(limits, "workspace_bytes"));
    COHORT_CHECK(limits.no_other_keys());
  }
  if (object.has("resolved")) {
    COHORT_TRY(auto resolved, nested(object, "resolved"));
    COHORT_TRY(plan.resolved, read_resolved(std::move(resolved), allowance));
  }
  COHORT_CHECK(object.no_other_keys());
  COHORT_CHECK(validate(plan));
  return plan;
}

}  // namespace cohort
