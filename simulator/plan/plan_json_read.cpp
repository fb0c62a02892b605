// Reading plan files.

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <nlohmann/json.hpp>

#include "simulator/plan/allowance.hpp"
#include "simulator/plan/plan_json.hpp"

namespace cohort {
namespace {

using namespace plan_json;

constexpr std::int64_t kMostMembers = 65536;
constexpr std::int64_t kMostInFlight = 1024;  // decode workers, and minibatches of an input

/// "training": {"loss": "cross_entropy", "optimizer": "adam", "clip": true}
Result<TrainingSpec> read_training(const nlohmann::json& value, std::string path) {
  COHORT_TRY(JsonObject object, JsonObject::open(value, std::move(path)));
  const auto named = [&](std::string_view key, auto read) -> decltype(read(std::string_view())) {
    COHORT_TRY(const std::string text, object.string(key));
    auto known = read(text);
    if (!known) return in_context(object.path_of(key), known.error());
    return known;
  };
  TrainingSpec training;
  COHORT_TRY(training.update, named("optimizer", optimizer_from));
  if (object.has("loss")) {
    COHORT_TRY(training.loss, named("loss", loss_from));
  }
  if (object.has("clip")) {
    COHORT_TRY(training.update.clip, object.boolean("clip"));
  }
  if (object.has("dropout_from_settings")) {
    COHORT_TRY(training.dropout_from_settings, object.boolean("dropout_from_settings"));
  }
  if (object.has("recompute")) {
    COHORT_TRY(training.recompute, object.boolean("recompute"));
  }
  COHORT_CHECK(object.no_other_keys());
  return training;
}

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
  if (object.has("training")) {
    COHORT_TRY(const nlohmann::json* training, object.value("training"));
    COHORT_TRY(member.source.training, read_training(*training, object.path_of("training")));
  }
  if (object.has("strict_nan")) {
    COHORT_TRY(member.source.strict_nan, object.boolean("strict_nan"));
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

Result<std::vector<std::uint32_t>> read_ranges(JsonObject& object, std::string_view key, Allowance& allowance) {
  COHORT_TRY(const std::string text, object.string(key));
  auto positions = parse_ranges(text);
  if (!positions)
    return fail(ErrorCode::kInvalidInput, "{} must be positions and ranges such as 0-15,17, not \"{}\"",
                object.path_of(key), text);
  COHORT_CHECK(allowance.list(positions->size(), object.path_of(key)));
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

Result<Group> read_group(JsonObject& object, Allowance& allowance) {
  Group group;
  COHORT_TRY(group.name, object.string("name"));
  COHORT_TRY(group.members, read_ranges(object, "members", allowance));
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

Result<std::array<double, 3>> read_channels(JsonObject& object, std::string_view key) {
  COHORT_TRY(const nlohmann::json* list, object.value(key));
  const bool three = list->is_array() && list->size() == 3 &&
                     std::all_of(list->begin(), list->end(), [](const auto& item) { return item.is_number(); });
  if (!three)
    return fail(ErrorCode::kInvalidInput, "{} must be a list of 3 numbers, of red, green and blue, not {}",
                object.path_of(key), list->dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  return list->get<std::array<double, 3>>();
}

Result<ImagePreparation> read_images(JsonObject& object) {
  ImagePreparation images;
  if (object.has("resize")) {
    COHORT_TRY(const std::int64_t resize, object.integer("resize", 1, kMostResize));
    images.resize = static_cast<int>(resize);
  }
  if (object.has("random_crop")) {
    COHORT_TRY(images.random_crop, object.boolean("random_crop"));
  }
  if (object.has("random_flip")) {
    COHORT_TRY(images.random_flip, object.boolean("random_flip"));
  }
  if (object.has("mean")) {
    COHORT_TRY(images.mean, read_channels(object, "mean"));
  }
  if (object.has("std")) {
    COHORT_TRY(images.std, read_channels(object, "std"));
  }
  return images;
}

Result<InputSetting> read_input_setting(JsonObject& object) {
  COHORT_TRY(const std::int64_t workers, object.integer("decode_workers", 1, kMostInFlight));
  COHORT_TRY(const std::int64_t buffers, object.integer("buffers", 1, kMostInFlight));
  return InputSetting{static_cast<int>(workers), static_cast<int>(buffers)};
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
  COHORT_TRY(const InputSetting setting, read_input_setting(object));
  COHORT_TRY(const std::int64_t seed, object.integer("seed", 0, INT64_MAX));
  input.decode_workers = setting.decode_workers;
  input.buffers = setting.buffers;
  input.seed = static_cast<std::uint64_t>(seed);
  COHORT_TRY(input.bad_images, kBadImages.read(object, "bad_images"));
  COHORT_TRY(input.images, read_images(object));
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
      if (step.task.find('/') == std::string::npos)
        return fail(ErrorCode::kInvalidInput, "{} must be like \"0/conv1\", not \"{}\"", entry.path_of("task"),
                    step.task);
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
  COHORT_TRY(baseline.members, read_ranges(object, "members", allowance));
  COHORT_TRY(baseline.steps, read_steps(object, allowance));
  if (object.has("input")) {
    COHORT_TRY(JsonObject input, nested(object, "input"));
    COHORT_TRY(baseline.input, read_input_setting(input));
    COHORT_CHECK(input.no_other_keys());
  }
  if (object.has("launch")) {
    COHORT_TRY(baseline.launch, kLaunchModes.read(object, "launch"));
  }
  if (object.has("fingerprint")) {
    COHORT_TRY(baseline.fingerprint, object.string("fingerprint"));
  }
  COHORT_CHECK(object.no_other_keys());
  return baseline;
}

constexpr Nanoseconds kLongestRoundTrip = std::chrono::seconds(1);

Result<Resolved> read_resolved(JsonObject object, Allowance& allowance) {
  Resolved resolved;
  COHORT_TRY(resolved.device, object.string("device"));
  COHORT_TRY(resolved.fingerprint, object.string("fingerprint"));
  COHORT_TRY(resolved.weights, read_bytes(object, "weights_bytes"));
  COHORT_TRY(resolved.activations, read_bytes(object, "activations_bytes"));
  COHORT_TRY(resolved.workspace, read_bytes(object, "workspace_bytes"));
  COHORT_TRY(resolved.input, read_bytes(object, "input_bytes"));
  COHORT_TRY(resolved.steps, read_steps(object, allowance));
  if (object.has("core_round_trip_ns")) {
    COHORT_TRY(const std::int64_t time, object.integer("core_round_trip_ns", 0, kLongestRoundTrip.count()));
    resolved.core_round_trip = Nanoseconds(time);
  }
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
    COHORT_TRY(auto group, read_group(entry, allowance));
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
  COHORT_TRY(const int launch_threads, read_count(object, "launch_threads"));
  if (launch_threads > 0) plan.launch_threads = launch_threads;
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
