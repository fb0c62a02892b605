#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "simulator/plan/plan.hpp"
#include "simulator/what_if/what_if.hpp"

namespace cohort {

/// Ops, and how they run across the members that have them.
struct ExploreGroup {
  std::string name;
  Strategy strategy = Strategy::kSerial;
  std::vector<std::string> ops = {};        ///< by name; empty: all that no other group of these members names
  std::vector<std::uint32_t> members = {};  ///< positions, ascending; empty: all
  /// Of fused ops where members are spread over several streams: each stream's members compute them together. Else all
  /// of them do.
  bool by_stream = true;
  int threads = 0;                             ///< as Group::threads
  std::vector<std::uint32_t> streams = {};     ///< as Group::streams, of plans placed by hand; empty: by member_streams
  std::vector<std::string> after = {};         ///< as Group::after
  std::vector<std::uint32_t> op_streams = {};  ///< as Group::op_streams
  int multiprocessors = 0;                     ///< as Group::multiprocessors

  friend bool operator==(const ExploreGroup&, const ExploreGroup&) = default;
};

/// All settings of a prediction. Start from Exploration::initial_settings(); settings that do not apply (ExploreFacts)
/// are ignored.
struct ExploreSettings {
  std::vector<int> models{1};               ///< members of each model: one number for all, or one by model
  std::optional<std::int64_t> minibatch{};  ///< of every member; as recorded (of several the least) unless given
  int streams = 1;                          ///< or workers of a CPU
  bool graphs = false;                      ///< of a GPU: a step is one launch
  int launch_threads = 1;                   ///< of a GPU whose steps are launched one by one
  bool shared_input = true;                 ///< one input for all members, or one each
  std::optional<int> buffers{};             ///< minibatches in flight; 2, of traces as recorded, unless given
  Limits limits{};                          ///< of traces of runs: memory alone

  // Of profiles.
  std::vector<ExploreGroup> groups{};           ///< in launch order; every op of every member is in one of them
  std::vector<std::uint32_t> member_streams{};  ///< by member; empty: neighbours on one stream
  std::vector<Member> members{};                ///< those of a plan that lists others than `models` says; else empty
  std::string data{};                           ///< folder of JPEGs to decode; made-up input unless given
  InputPlan other_input{};                      ///< what a plan says of its input beside what is here: seed, images
  int decode_workers = 0;                       ///< 0: as many as the host has cores
  /// Of a plan that was found: its baselines and algorithms, which hold as long as nothing above is changed.
  std::vector<Baseline> baselines{};
  std::optional<Resolved> resolved{};

  // Of traces of runs.
  Processes processes = Processes::kOne;  ///< several: streams and launch threads do not apply
  FuseChoice fuse = FuseChoice::kNone;
  std::vector<std::string> fused{};                     ///< of kNamed: kernels, ops or layers, '*' for any text
  std::vector<std::pair<std::string, double>> scale{};  ///< kernels, ops or layers that are x times faster
  bool mixed_precision = false;
  double copy_speed = 1;
  double interconnect_speed = 1;
  std::optional<int> recorded_minibatch{};  ///< where the trace does not say

  friend bool operator==(const ExploreSettings&, const ExploreSettings&) = default;
};

/// What is wrong with one field of the settings: "launch_threads", "each launches one stream or more; there is 1".
struct SettingsProblem {
  std::string field;
  std::string why;

  friend bool operator==(const SettingsProblem&, const SettingsProblem&) = default;
};

/// One group of all ops and members.
ExploreGroup all_ops(Strategy strategy);

}  // namespace cohort
