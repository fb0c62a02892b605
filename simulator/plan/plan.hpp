#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/units.hpp"
#include "models/source.hpp"
#include "simulator/plan/image_preparation.hpp"
#include "simulator/plan/precision.hpp"

namespace cohort {

/// How the ops of a group run across the members of a model batch.
enum class Strategy {
  kSerial,              ///< one member after another, all cores (or the one stream) on an op
  kConcurrent,          ///< members spread over streams or workers, one thread each
  kDenseConvolution,    ///< convolutions that read the same shared input as one, output channels stacked
  kGroupedConvolution,  ///< channels of all members stacked, one convolution with a group per member
  kStridedBatch,        ///< matrix products of equal shape as one strided batch; recurrent layers side by side
  kGroupedGemm,         ///< ops of one name in one launch, each member's with its own shape
};
/// Whether ops of several members become one launch.
constexpr bool is_fused(Strategy strategy) {
  return strategy != Strategy::kSerial && strategy != Strategy::kConcurrent;
}
std::string_view to_string(Strategy strategy);
Result<Strategy> strategy_from(std::string_view text);
/// As strategy_from() takes them.
std::vector<std::string> strategy_names();

/// Memory order of 4-d activations. Operand shapes are logical [N, C, H, W] in both.
enum class Layout { kNchw, kNhwc };
std::string_view to_string(Layout layout);
/// Errors: kInvalidInput with the known ones.
Result<Layout> layout_from(std::string_view text);
/// Whether each step is launched on its own or the whole plan is captured once and replayed.
enum class LaunchMode { kSingle, kGraph };
enum class InputSource { kGenerated, kFolder, kArrays };
enum class InputSharing { kShared, kSeparate };
enum class BadImages { kSkip, kFatal };

struct Member {
  std::string name;
  ModelSource source;
  std::uint64_t seed = 0;

  friend bool operator==(const Member&, const Member&) = default;
};

struct InputPlan {
  InputSource source = InputSource::kGenerated;
  std::string path;  ///< folder of labelled JPEGs, or of <input name>.npy files
  InputSharing sharing = InputSharing::kShared;
  int decode_workers = 1;
  int buffers = 2;  ///< minibatches in flight per pipeline; 2 is double buffering
  std::uint64_t seed = 0;
  BadImages bad_images = BadImages::kSkip;
  ImagePreparation images = {};

  friend bool operator==(const InputPlan&, const InputPlan&) = default;
};

/// Ops that run together. Every op of every member is in exactly one group.
struct Group {
  std::string name;
  std::vector<std::uint32_t> members;  ///< positions in Plan::members, ascending
  std::vector<std::string> ops;        ///< by name, the same in each member; empty: all that no other group names
  Strategy strategy = Strategy::kSerial;
  int threads = 0;                     ///< cores per op; 0: all for serial and fused ops, one for concurrent ones
  std::vector<std::uint32_t> streams;  ///< concurrent: stream of each entry of `members`; empty: round robin
  std::vector<std::string> after;      ///< groups that must finish first, in addition to data dependencies
  /// Concurrent: the stream of each entry of `ops`, so that branches of one member run side by side. Counted from the
  /// member's own (`streams`; 0 where that is empty); `ops` are then in launch order.
  std::vector<std::uint32_t> op_streams = {};
  /// GPUs: number that each matrix product is tuned for, as other streams use the rest; 0: all. Convolutions use all:
  /// cuDNN 9.19's engines refuse a target other than the device's own.
  int multiprocessors = 0;

  friend bool operator==(const Group&, const Group&) = default;
};

struct Limits {
  std::optional<Bytes> memory;     ///< weights, activations, workspace and input together
  std::optional<Bytes> workspace;  ///< all workspaces together, as laid out

  friend bool operator==(const Limits&, const Limits&) = default;
};

/// What lowering chose for a plan on one device; invalid after an edit.
struct ResolvedStep {
  std::string task;
  std::string algorithm;
  int threads = 1;
  Bytes workspace;

  friend bool operator==(const ResolvedStep&, const ResolvedStep&) = default;
};
struct Resolved {
  std::string device;       ///< DeviceInfo::name
  std::string fingerprint;  ///< of the plan without `resolved`; a mismatch means the plan was edited
  Bytes weights, activations, workspace, input;
  std::vector<ResolvedStep> steps;
  Nanoseconds core_round_trip{};  ///< DeviceProfile::core_round_trip of the profile; zero: unknown

  friend bool operator==(const Resolved&, const Resolved&) = default;
};

/// How images are decoded ahead.
struct InputSetting {
  int decode_workers = 1;
  int buffers = 2;  ///< minibatches in flight per pipeline

  friend bool operator==(const InputSetting&, const InputSetting&) = default;
};

/// The best known way to run members one after another: what a plan's gain is measured against.
struct Baseline {
  std::vector<std::uint32_t> members;  ///< positions in Plan::members that it is for
  std::vector<ResolvedStep> steps;     ///< of a plan that has such a member alone, as member 0
  /// Of decoded images; absent: as the plan's.
  std::optional<InputSetting> input = std::nullopt;
  std::optional<LaunchMode> launch = std::nullopt;  ///< absent: as the plan's
  std::string fingerprint = {};                     ///< baseline_fingerprint() when it was made; empty: not known

  friend bool operator==(const Baseline&, const Baseline&) = default;
};

/// What to run together and how. Small, read and edited by hand; order of groups is launch order.
struct Plan {
  std::string device = "cpu:0";
  std::vector<Member> members;
  InputPlan input;
  std::vector<Group> groups;
  int streams = 1;  ///< streams or workers; never more than the device has cores on a CPU
  /// GPUs with single launches: host threads that launch, to which streams are dealt in turn.
  int launch_threads = 1;
  Layout layout = Layout::kNhwc;
  Precision precision = Precision::kFloat32;
  LaunchMode launch = LaunchMode::kGraph;
  Limits limits;
  std::vector<Baseline> baselines;  ///< empty: the device's first choices, all cores on an op
  std::optional<Resolved> resolved;

  friend bool operator==(const Plan&, const Plan&) = default;
};

/// JSON text of a plan for people: stable order of fields; members that differ only in seed are one entry.
std::string write_plan(const Plan& plan);
/// Errors: kInvalidInput naming the field.
Result<Plan> parse_plan(std::string_view json);
/// Members alone, as a plan lists them: {"members": [...]}. Errors: as parse_plan().
Result<std::vector<Member>> parse_members(std::string_view json);
/// Checks what needs no models: names unique, positions in range, streams and groups consistent, `after` without a
/// cycle. Errors: kInvalidInput naming the field.
Result<void> validate(const Plan& plan);
inline InputSetting input_setting(const Plan& plan) { return {plan.input.decode_workers, plan.input.buffers}; }
void set_input_setting(const InputSetting& setting, Plan& plan);
/// Changes whenever anything but `resolved` changes.
std::string fingerprint(const Plan& plan);

/// Changes whenever a baseline of these members would have to be made anew: with the models that they are of, the
/// layout or the precision. Names and seeds do not count, nor does how often one model follows itself.
std::string baseline_fingerprint(const Plan& plan, const std::vector<std::uint32_t>& members);

/// The plan that runs one member alone as its baseline says.
Plan baseline_plan(const Plan& plan, std::uint32_t member);

/// The plan that runs all members one after another as their baselines say, each with its own input. A plan's gain is
/// measured against it, unless images are decoded: then each member has its own pipeline, as in baseline_plan().
Plan in_turn_plan(const Plan& plan);
/// Whether the baseline of a plan is in_turn_plan(), else baseline_plan() of one member after another.
inline bool runs_in_turn(const Plan& plan) { return plan.input.source != InputSource::kFolder; }

/// The stream of one of `count` members if neighbours share streams: 0 0 1 1 2 2.
std::uint32_t stream_in_blocks(std::size_t position, std::size_t count, int streams);

/// All ops of all members in one group.
Plan uniform_plan(std::vector<Member> members, Strategy strategy, int streams);

}  // namespace cohort
