#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "executor/backend.hpp"
#include "executor/recording/hazard_checker.hpp"
#include "executor/recording/host_reads.hpp"

namespace cohort {

/// What the fake device claims to be able to do.
struct RecordingOptions {
  int cores = 1;
  bool accepts_strides = true;
  /// Of every call, whatever the op; threads are as asked for, and where `packed_weights` is zero it is
  /// what the weights take in float32.
  std::vector<Alternative> alternatives = {{"implicit", 1, {}, {}}, {"with_workspace", 1, Bytes{1 << 16}, {}}};
  Bytes memory;  ///< zero: without limit
};

class RecordingCatalog final : public OpCatalog {
 public:
  explicit RecordingCatalog(RecordingOptions options) : options_(std::move(options)) {}

  Result<std::vector<Alternative>> alternatives(const OpCall& call, int threads) const override;
  bool accepts_strides(const OpCall& /*call*/) const override { return options_.accepts_strides; }
  std::vector<Precision> precisions() const override {
    return {Precision::kFloat32, Precision::kTf32, Precision::kBfloat16, Precision::kFloat16};
  }
  int multiprocessors() const override { return 132; }
  int cores() const override { return options_.cores; }

 private:
  RecordingOptions options_;
};

/// One thing given to a stream of the fake device, or the host's wait for all of them. Captured work appears where it
/// is replayed.
struct RecordedCommand {
  enum class Kind { kLaunch, kRecord, kWait, kUpload, kSynchronize };
  Kind kind = Kind::kLaunch;
  StreamId stream{};                 ///< not of kSynchronize
  std::optional<StepId> step;        ///< of a launch
  std::optional<EventId> event;      ///< of record and wait
  std::optional<std::size_t> input;  ///< of an upload
  int slot = 0;                      ///< of launch and upload

  friend bool operator==(const RecordedCommand&, const RecordedCommand&) = default;
};

/// What a session of the fake device was told, and what was wrong with it.
class Recording {
 public:
  explicit Recording(const Program& program) : checker_(program), program_(&program) {}

  [[nodiscard]] const std::vector<RecordedCommand>& commands() const { return commands_; }
  [[nodiscard]] const std::vector<std::string>& violations() const { return checker_.violations(); }
  /// Names of the tasks launched so far, in order.
  [[nodiscard]] std::vector<std::string> tasks() const;
  [[nodiscard]] std::size_t count(RecordedCommand::Kind kind) const;

  /// Makes the step fail whenever it runs; work after it is skipped until the next synchronize().
  void fail_at(std::optional<StepId> step) { fail_at_ = step; }

 private:
  friend class RecordingSession;

  HazardChecker checker_;
  const Program* program_;
  std::vector<RecordedCommand> commands_;
  std::optional<StepId> fail_at_;
};

/// The fake device: streams, events, captures and memory that compute nothing, but check that
/// everything on every buffer happens in a stated order. Outputs are zeros; states stay as they were written.
class RecordingBackend final : public Backend {
 public:
  explicit RecordingBackend(const RecordingOptions& options = {});

  [[nodiscard]] const DeviceInfo& info() const override { return info_; }
  [[nodiscard]] const OpCatalog& catalog() const override { return catalog_; }
  /// `weights` has one entry per member; what they point to is not looked at.
  Result<std::unique_ptr<Session>> load(const Program& program, std::span<const Weights* const> weights) override;

  /// Of the session loaded last; stays when the session ends. Null before.
  [[nodiscard]] const std::shared_ptr<Recording>& recording() const { return recording_; }

 private:
  DeviceInfo info_;
  RecordingCatalog catalog_;
  std::shared_ptr<Recording> recording_;
};

/// Wrong use is a violation, never an error: an id that does not exist, waiting for an event that
/// was not recorded, a graph launched while capturing, a capture left open.
class RecordingSession final : public Session {
 public:
  RecordingSession(const Program& program, std::shared_ptr<Recording> recording);
  ~RecordingSession() override;
  RecordingSession(const RecordingSession&) = delete;
  RecordingSession& operator=(const RecordingSession&) = delete;

  void launch(StepId step, StreamId stream, int slot) override;
  EventId record(StreamId stream) override;
  void wait(StreamId stream, EventId event) override;
  void begin_capture() override;
  GraphId end_capture() override;
  void launch(GraphId graph) override;
  Result<void> synchronize() override;
  std::span<float> input(std::size_t input_index, int slot) override;
  void upload(std::size_t input_index, int slot, StreamId stream) override;
  [[nodiscard]] bool uploads_overlap_steps() const override { return true; }
  Result<std::vector<float>> read_output(std::size_t output_index) override;
  Result<std::vector<float>> read_state(std::size_t state_index) override;
  Result<void> write_state(std::size_t state_index, std::span<const float> values) override;
  void set_sink(TaskSink* sink) override { sink_ = sink; }

 private:
  bool is_valid(const RecordedCommand& command);
  void give(const RecordedCommand& command);
  void execute(const RecordedCommand& command);
  void execute_launch(const RecordedCommand& command);

  const Program* program_;
  std::shared_ptr<Recording> recording_;
  TaskSink* sink_ = nullptr;
  std::map<std::pair<std::size_t, int>, std::vector<float>> inputs_;  ///< by input and slot
  std::map<std::size_t, std::vector<float>> states_;
  HostReads host_reads_;                        ///< of uploads since the last synchronize()
  std::map<EventId, VectorClock> events_;       ///< as recorded last
  std::map<EventId, std::size_t> captured_in_;  ///< graph an event belongs to
  std::uint32_t next_event_ = 0;
  std::optional<std::vector<RecordedCommand>> capture_;
  std::vector<std::vector<RecordedCommand>> graphs_;
  std::optional<Error> error_;
};

}  // namespace cohort
