#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "simulator/plan/plan.hpp"
#include "training/member_file.hpp"
#include "training/network.hpp"

namespace cohort {

/// Unless a sweep says after how many epochs: many small files take long to reach the disk, and with epochs of a second
/// most of the time would go there.
inline constexpr Nanoseconds kBetweenCheckpoints = std::chrono::seconds(10);

/// Members that train together, by their positions, and how.
struct BatchPlan {
  std::vector<std::size_t> members;
  Plan plan;

  friend bool operator==(const BatchPlan&, const BatchPlan&) = default;
};

/// What must be the same for a sweep to go on bit for bit.
struct SweepOrigin {
  std::string sweep;   ///< fingerprint of the sweep file
  std::string device;  ///< DeviceInfo::name
  std::string data;    ///< fingerprint_of(TrainingData); empty in checkpoints of before 2026-12
};

/// What a sweep goes on from. All belongs to one step.
struct Checkpoint {
  SweepOrigin origin;
  std::int64_t step = 0;
  bool awaits_evaluation = false;  ///< of the epoch that ends with the step
  std::vector<BatchPlan> batches;
};

/// Checkpoints in a folder: "checkpoint.json" names the step, its plans and the folder with two files for each member
/// that trains, "m07.state" and "m07.onnx"; of others the state alone, without values. Whenever the program or the
/// machine stops, what the name leads to is whole.
class CheckpointFolder {
 public:
  explicit CheckpointFolder(std::filesystem::path folder) : folder_(std::move(folder)) {}

  [[nodiscard]] bool has_checkpoint() const;

  /// Replaces the checkpoint before. `networks` are by member. On an error that one stays as it was.
  /// Errors: kInvalidInput naming the file: disk full, folder not writable.
  Result<void> write(const Checkpoint& checkpoint, const std::vector<SweepMember>& members,
                     const std::vector<const TrainedNetwork*>& networks, const Normalization& normalization) const;

  /// Removes what a killed program has left of those before.
  /// Errors: kInvalidInput where there is none, or it is of another sweep file, device, data or model.
  [[nodiscard]] Result<Checkpoint> read(const SweepOrigin& origin, const std::vector<const TrainedNetwork*>& networks,
                                        std::vector<SweepMember>& members) const;

 private:
  [[nodiscard]] std::filesystem::path manifest() const { return folder_ / "checkpoint.json"; }
  [[nodiscard]] Result<void> check_origin(const SweepOrigin& made, const SweepOrigin& now) const;
  void remove_others(const std::string& kept, bool older_only = false) const;

  std::filesystem::path folder_;
};

}  // namespace cohort
