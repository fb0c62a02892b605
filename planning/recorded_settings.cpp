#include "planning/recorded_settings.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "models/onnx/onnx_file.hpp"
#include "tracer/profile_record.hpp"

namespace cohort {
namespace {

constexpr std::string_view kArgument = "model.";
constexpr const char* kOptimizer = "training.optimizer";
constexpr const char* kLoss = "training.loss";
constexpr const char* kClip = "training.clip";
constexpr const char* kDropoutFromSettings = "training.dropout_from_settings";
constexpr const char* kRecompute = "training.recompute";
constexpr const char* kStrictNan = "strict_nan";
constexpr const char* kResizeSetting = "input.resize";

std::string resize_text(std::optional<int> resize) {
  return resize ? fmt::format("--resize {}", *resize) : "no --resize";
}

/// Empty where the images were as large as covers the input.
std::string recorded_resize(const Trace& profile) {
  const auto found = profile.info.settings.find(kResizeSetting);
  return found == profile.info.settings.end() ? std::string() : found->second;
}

/// Nothing where a profile is of inference.
Result<std::optional<TrainingSpec>> read_training(const std::map<std::string, std::string>& settings) {
  const auto text_of = [&](const char* name) {
    const auto found = settings.find(name);
    return found == settings.end() ? std::string() : found->second;
  };
  if (!settings.contains(kOptimizer)) return std::optional<TrainingSpec>();
  TrainingSpec training;
  const auto update = optimizer_from(text_of(kOptimizer));
  if (!update) return in_context(fmt::format("setting {}", kOptimizer), update.error());
  training.update = *update;
  const auto loss = loss_from(text_of(kLoss));
  if (!loss) return in_context(fmt::format("setting {}", kLoss), loss.error());
  training.loss = *loss;
  training.update.clip = text_of(kClip) == "true";
  training.dropout_from_settings = text_of(kDropoutFromSettings) == "true";
  training.recompute = text_of(kRecompute) == "true";
  return std::optional(training);
}

}  // namespace

void write_source(const ModelSource& source, std::map<std::string, std::string>& settings) {
  settings["model"] = source.model;
  settings["minibatch"] = std::to_string(source.minibatch);
  for (const auto& [name, value] : source.arguments) settings[fmt::format("{}{}", kArgument, name)] = value;
  if (source.strict_nan) settings[kStrictNan] = "true";
  if (!source.training) return;
  settings[kOptimizer] = optimizer_name(source.training->update);
  settings[kLoss] = to_string(source.training->loss);
  if (source.training->update.clip) settings[kClip] = "true";
  if (source.training->dropout_from_settings) settings[kDropoutFromSettings] = "true";
  if (source.training->recompute) settings[kRecompute] = "true";
}

Result<ModelSource> read_source(const std::map<std::string, std::string>& settings) {
  ModelSource source;
  const auto model = settings.find("model");
  const auto minibatch = settings.find("minibatch");
  if (model == settings.end() || minibatch == settings.end())
    return fail(ErrorCode::kInvalidInput, "the trace does not say which model it is of; make it with cohort profile");
  source.model = model->second;
  const std::string& text = minibatch->second;
  const auto number = std::from_chars(text.data(), text.data() + text.size(), source.minibatch);
  if (number.ec != std::errc() || source.minibatch < 1)
    return fail(ErrorCode::kInvalidInput, "setting minibatch must be a whole number from 1, not \"{}\"", text);
  for (const auto& [name, value] : settings) {
    if (name.starts_with(kArgument)) source.arguments[name.substr(kArgument.size())] = value;
  }
  const auto strict_nan = settings.find(kStrictNan);
  source.strict_nan = strict_nan != settings.end() && strict_nan->second == "true";
  COHORT_TRY(source.training, read_training(settings));
  return source;
}

Result<ModelSource> source_of(const std::filesystem::path& file, const TraceInfo& profile) {
  COHORT_TRY(ModelSource source, read_source(profile.settings));
  find_moved(source, file);
  return source;
}

void find_moved(ModelSource& source, const std::filesystem::path& file) {
  const std::filesystem::path model = source.model;
  std::error_code unreadable;  // then reading the model says why
  if (!onnx::is_file(source.model) || std::filesystem::exists(model, unreadable) || unreadable) return;
  for (const std::filesystem::path& moved : {file.parent_path() / model, file.parent_path() / model.filename()}) {
    if (!std::filesystem::exists(moved, unreadable)) continue;
    source.model = moved.string();
    return;
  }
}

Result<Precision> recorded_precision(const std::map<std::string, std::string>& settings) {
  const auto found = settings.find("precision");
  return found == settings.end() ? Precision::kFloat32 : precision_from(found->second);
}

Result<Layout> recorded_layout(const std::map<std::string, std::string>& settings) {
  const auto found = settings.find("layout");
  return found == settings.end() ? Layout::kNhwc : layout_from(found->second);
}

void write_images(const ImagePreparation& images, std::map<std::string, std::string>& settings) {
  if (images.resize) settings[kResizeSetting] = std::to_string(*images.resize);
  settings["input.random_crop"] = images.random_crop ? "true" : "false";
  settings["input.random_flip"] = images.random_flip ? "true" : "false";
  settings["input.mean"] = fmt::format("{}", fmt::join(images.mean, ","));
  settings["input.std"] = fmt::format("{}", fmt::join(images.std, ","));
}

Result<void> check_timed_alike(const InputPlan& input, std::string_view asked, const Trace& profile,
                               const std::filesystem::path& file) {
  if (input.source != InputSource::kFolder) return {};
  const std::string recorded = recorded_resize(profile);
  const std::optional<int> wanted = input.images.resize;
  if (recorded == (wanted ? std::to_string(*wanted) : "")) return {};
  const bool timed = std::any_of(profile.slices.begin(), profile.slices.end(), [&](const Slice& slice) {
    return profile.text_arg(slice, "signature").value_or("") == kInputDecodeRecord;
  });
  if (!timed) return {};
  return fail(ErrorCode::kUsage, "{} is {}: {} timed decoding with {}; profile with --data and {}", asked,
              wanted ? std::to_string(*wanted) : "not given", file.string(),
              recorded.empty() ? "no --resize" : "--resize " + recorded, resize_text(wanted));
}

}  // namespace cohort
