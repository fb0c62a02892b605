#include "training/checkpoint.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/file.hpp"
#include "base/json.hpp"

namespace cohort {
namespace {

using nlohmann::ordered_json;

constexpr std::string_view kPrefix = "step-";

constexpr std::size_t kDigits = 10;

/// Of a step that is evaluated later there is a second one, which must not overwrite the first file by file.
constexpr std::string_view kBeforeEvaluation = "-unevaluated";

std::string folder_name(const Checkpoint& checkpoint) {
  return fmt::format("{}{:0{}}{}", kPrefix, checkpoint.step, kDigits,
                     checkpoint.awaits_evaluation ? kBeforeEvaluation : "");
}

/// Whether folder_name() made it: others in the folder are not ours.
bool is_folder_name(std::string_view name) {
  if (name.ends_with(kBeforeEvaluation)) name.remove_suffix(kBeforeEvaluation.size());
  const std::string_view digits = name.substr(std::min(name.size(), kPrefix.size()));
  return name.starts_with(kPrefix) && digits.size() >= kDigits &&
         digits.find_first_not_of("0123456789") == std::string_view::npos;
}

Result<Checkpoint> parse_manifest(const std::string& text, std::string& folder) {
  COHORT_TRY(const nlohmann::json document, parse_json(text));
  COHORT_TRY(JsonObject object, JsonObject::open(document, ""));
  Checkpoint checkpoint;
  COHORT_TRY(const std::int64_t format, object.integer("format", 1, 1));
  static_cast<void>(format);
  COHORT_TRY(checkpoint.origin.sweep, object.string("sweep"));
  COHORT_TRY(checkpoint.origin.device, object.string("device"));
  if (object.has("data")) {
    COHORT_TRY(checkpoint.origin.data, object.string("data"));
  }
  COHORT_TRY(checkpoint.step, object.integer("step", 0, INT64_MAX));
  COHORT_TRY(folder, object.string("folder"));
  checkpoint.awaits_evaluation = folder.ends_with(kBeforeEvaluation);
  if (folder != folder_name(checkpoint))
    return fail(ErrorCode::kInvalidInput, "folder must be {}, not {}", folder_name(checkpoint), folder);
  COHORT_TRY(std::vector<JsonObject> batches, object.objects("batches"));
  for (JsonObject& each : batches) {
    BatchPlan batch;
    COHORT_TRY(const nlohmann::json* const members, each.value("members"));
    for (const nlohmann::json& member : *members) {
      if (!member.is_number_unsigned())
        return fail(ErrorCode::kInvalidInput, "{} must be positions of members", each.path_of("members"));
      batch.members.push_back(member.get<std::size_t>());
    }
    COHORT_TRY(const std::string plan, each.string("plan"));
    COHORT_TRY(batch.plan, parse_plan(plan));
    checkpoint.batches.push_back(std::move(batch));
  }
  return checkpoint;
}

Result<void> check_batches(const Checkpoint& checkpoint, std::size_t members) {
  for (const BatchPlan& batch : checkpoint.batches) {
    const bool known =
        std::all_of(batch.members.begin(), batch.members.end(), [&](std::size_t i) { return i < members; });
    if (!known || batch.members.size() != batch.plan.members.size())
      return fail(ErrorCode::kInvalidInput, "batches do not fit the sweep's {} members", members);
  }
  return {};
}

}  // namespace

bool CheckpointFolder::has_checkpoint() const {
  std::error_code error;
  return std::filesystem::exists(manifest(), error);
}

Result<void> CheckpointFolder::write(const Checkpoint& checkpoint, const std::vector<SweepMember>& members,
                                     const std::vector<const TrainedNetwork*>& networks,
                                     const Normalization& normalization) const {
  const std::string name = folder_name(checkpoint);
  ordered_json document;
  document["format"] = 1;
  document["sweep"] = checkpoint.origin.sweep;
  document["device"] = checkpoint.origin.device;
  document["data"] = checkpoint.origin.data;
  document["step"] = checkpoint.step;
  document["folder"] = name;
  document["batches"] = ordered_json::array();
  for (const BatchPlan& batch : checkpoint.batches)
    document["batches"].push_back({{"members", batch.members}, {"plan", write_plan(batch.plan)}});
  PendingFiles pending(Overwrite::kAllow);
  COHORT_CHECK(pending.make_folder(folder_ / name));
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (networks[i] == nullptr) continue;
    const SweepMember& member = members[i];
    COHORT_CHECK(pending.add(folder_ / name / (member.name + ".state"),
                             encode_member(member, {networks[i]->fingerprint, checkpoint.step, normalization})));
    if (member.state.parameters.empty()) continue;
    COHORT_TRY(const std::string onnx, learned_onnx(*networks[i], member.state));
    COHORT_CHECK(pending.add(folder_ / name / (member.name + ".onnx"), onnx));
  }
  // Last: from then on it counts, and all that it leads to is there.
  COHORT_CHECK(pending.add(manifest(), document.dump(1) + "\n"));
  COHORT_CHECK(pending.commit());
  remove_others(name);
  return {};
}

/// What is left behind costs space alone, so that no failure here is one of the checkpoint.
void CheckpointFolder::remove_others(const std::string& kept, bool older_only) const {
  std::error_code error;
  std::vector<std::filesystem::path> others;
  for (const auto& entry : std::filesystem::directory_iterator(folder_, error)) {
    const std::string name = entry.path().filename().string();
    const bool is_other = older_only ? name < kept : name != kept;  // names have as many digits
    if (is_folder_name(name) && is_other && entry.is_directory(error)) others.push_back(entry.path());
  }
  for (const auto& path : others) std::filesystem::remove_all(path, error);
}

Result<void> CheckpointFolder::check_origin(const SweepOrigin& made, const SweepOrigin& now) const {
  if (made.sweep != now.sweep)
    return fail(ErrorCode::kInvalidInput,
                "{} was made by another sweep file, or this one was changed since; the one it was made by is {}",
                manifest().string(), (folder_ / "sweep.toml").string());
  if (made.device != now.device)
    return fail(ErrorCode::kInvalidInput, "{} was made on {}, and this is {}: it would not go on bit for bit",
                manifest().string(), made.device, now.device);
  if (!made.data.empty() && made.data != now.data)
    return fail(ErrorCode::kInvalidInput,
                "{} was made with other samples or labels than there are now: it would not go on bit for bit",
                manifest().string());
  return {};
}

Result<Checkpoint> CheckpointFolder::read(const SweepOrigin& origin, const std::vector<const TrainedNetwork*>& networks,
                                          std::vector<SweepMember>& members) const {
  if (!has_checkpoint())
    return fail(ErrorCode::kInvalidInput, "--resume: there is no checkpoint in {}; begin without --resume",
                folder_.string());
  COHORT_TRY(const std::string text, read_file(manifest()));
  std::string folder;
  auto checkpoint = parse_manifest(text, folder);
  if (!checkpoint) return in_context(manifest().string(), checkpoint.error());
  COHORT_CHECK(check_origin(checkpoint->origin, origin));
  if (auto fits = check_batches(*checkpoint, members.size()); !fits)
    return in_context(manifest().string(), fits.error());
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (networks[i] == nullptr) continue;
    const std::filesystem::path file = folder_ / folder / (members[i].name + ".state");
    COHORT_TRY(const std::string bytes, read_file(file));
    if (auto read = decode_member(bytes, {networks[i]->fingerprint, checkpoint->step, {}}, members[i]); !read)
      return in_context(file.string(), read.error());
  }
  remove_others(folder, /*older_only=*/true);  // of a program that was killed before it could
  return checkpoint;
}

}  // namespace cohort
