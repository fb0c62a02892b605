#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.hpp"
#include "simulator/plan/plan.hpp"

/// Shared by the writer and the reader of plan files.
namespace cohort::plan_json {

inline constexpr std::string_view kFormat = "cohort.plan";
inline constexpr std::int64_t kVersion = 1;

/// The file's words for the values of an enumeration.
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

inline const Names<Layout> kLayouts{
    {{Layout::kNchw, to_string(Layout::kNchw)}, {Layout::kNhwc, to_string(Layout::kNhwc)}}};
inline const Names<Precision> kPrecisions{{{Precision::kFloat32, "float32"},
                                           {Precision::kTf32, "tf32"},
                                           {Precision::kBfloat16, "bfloat16"},
                                           {Precision::kFloat16, "float16"}}};
inline const Names<LaunchMode> kLaunchModes{{{LaunchMode::kSingle, "single"}, {LaunchMode::kGraph, "graph"}}};
inline const Names<InputSource> kSources{
    {{InputSource::kGenerated, "generated"}, {InputSource::kFolder, "folder"}, {InputSource::kArrays, "arrays"}}};
inline const Names<InputSharing> kSharings{{{InputSharing::kShared, "shared"}, {InputSharing::kSeparate, "separate"}}};
inline const Names<BadImages> kBadImages{{{BadImages::kSkip, "skip"}, {BadImages::kFatal, "fatal"}}};

}  // namespace cohort::plan_json
