#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "models/source.hpp"
#include "simulator/plan/plan.hpp"
#include "tracer/trace.hpp"

namespace cohort {

/// A model's source among a trace's settings, and back.
void write_source(const ModelSource& source, std::map<std::string, std::string>& settings);
/// Errors: kInvalidInput where the settings hold none.
Result<ModelSource> read_source(const std::map<std::string, std::string>& settings);
/// What the profile in `file` is of; a model that was moved with it is found.
Result<ModelSource> source_of(const std::filesystem::path& file, const TraceInfo& profile);
/// A model's path holds from the folder where its profile or plan was made. Where it leads nowhere from here, the model
/// may lie where it leads from that file, or beside the file.
void find_moved(ModelSource& source, const std::filesystem::path& file);

/// What a profile was recorded in; profiles that say nothing are of float32.
Result<Precision> recorded_precision(const std::map<std::string, std::string>& settings);

/// How images lay in memory in a profile; those that say nothing are of nhwc.
Result<Layout> recorded_layout(const std::map<std::string, std::string>& settings);

/// Among the settings of a profile: how the images were made ready whose stages it timed.
void write_images(const ImagePreparation& images, std::map<std::string, std::string>& settings);

/// Decoding and resizing take as long as was recorded only for images of the recorded size; the rest of their
/// preparation changes no time. `asked` says who asks for the plan's size: "--resize", "the plan's input.resize".
/// Errors: kUsage naming `file` and what to profile.
Result<void> check_timed_alike(const InputPlan& input, std::string_view asked, const Trace& profile,
                               const std::filesystem::path& file);

}  // namespace cohort
