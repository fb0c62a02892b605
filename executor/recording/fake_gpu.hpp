#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "executor/backend.hpp"
#include "executor/cuda/device_api.hpp"
#include "executor/cuda/own/own_calls.hpp"
#include "executor/recording/hazard_checker.hpp"
#include "executor/recording/host_reads.hpp"

namespace cohort {

/// A GPU in host memory: streams, events and captured graphs by the runtime's rules, own kernels computed by
/// their bodies on the host at the moment they are given. Checks that everything on every buffer happens in
/// a stated order, that the host leaves memory alone that uploads read, that captures are forked and joined, and that
/// nothing is set up once that is forbidden; what is wrong is a violation. Every kernel takes kKernelTime of a clock of
/// its own. Several threads may call at a time, as of the runtime; a stream's steps are one thread's between two waits
/// of the host.
class FakeGpu final : public cuda::DeviceApi, public cuda::KernelLauncher {
 public:
  static constexpr Nanoseconds kKernelTime = std::chrono::microseconds(3);

  FakeGpu() = default;
  ~FakeGpu() override;
  FakeGpu(const FakeGpu&) = delete;
  FakeGpu& operator=(const FakeGpu&) = delete;

  /// From now on accesses are those of `program`; streams are numbered from 0 as they are created.
  void watch(const Program& program);
  /// From now on memory, streams, events and captures count as violations: the steady state.
  void forbid_setup(bool forbidden) { setup_forbidden_ = forbidden; }
  /// Makes the kernels of a step fail while it is set.
  void fail_at(std::optional<StepId> step) { fail_at_ = step; }
  void set_free_memory(Bytes free) { free_ = free; }
  /// Called before everything that is given to a stream, by the thread that gives it: to delay it.
  void before_each_call(std::function<void(StreamId)> hook);
  /// Threads that have made the device theirs.
  [[nodiscard]] std::size_t threads() const { return users_.size(); }

  /// In the order found, each text once.
  [[nodiscard]] std::vector<std::string> violations() const;
  /// Calls as a person would write them, without those for memory: "launch 3/conv1 on 0", "record 2 on 1".
  [[nodiscard]] const std::vector<std::string>& log() const { return log_; }
  void clear_log() { log_.clear(); }
  /// Blocks, streams, events and graphs that exist.
  [[nodiscard]] std::size_t resources() const {
    return blocks_.size() + streams_.size() + events_.size() + graphs_.size();
  }

  void use() override;
  [[nodiscard]] Bytes free_memory() override { return free_; }
  std::byte* allocate(Bytes size) override;
  void release(std::byte* block) noexcept override;
  std::byte* allocate_pinned(Bytes size) override { return allocate(size); }
  void release_pinned(std::byte* block) noexcept override { release(block); }
  void copy_to_device(std::byte* to, std::span<const std::byte> from) override;
  void copy_to_host(std::span<std::byte> to, const std::byte* from) override;
  void clear(std::byte* block, Bytes size) override;
  cuda::StreamHandle create_stream() override;
  void destroy(cuda::StreamHandle stream) noexcept override;
  cuda::EventHandle create_event(cuda::EventUse use) override;
  void destroy(cuda::EventHandle event) noexcept override;
  void record(cuda::EventHandle event, cuda::StreamHandle stream) override;
  void record_time(cuda::EventHandle event, cuda::StreamHandle stream) override;
  void wait(cuda::StreamHandle stream, cuda::EventHandle event) override;
  void synchronize(cuda::StreamHandle stream) override;
  Nanoseconds elapsed(cuda::EventHandle from, cuda::EventHandle to) override;
  void upload(std::byte* to, const std::byte* from, Bytes size, cuda::StreamHandle stream) override;
  void begin_capture(cuda::StreamHandle origin) override;
  cuda::GraphHandle end_capture(cuda::StreamHandle origin) override;
  void launch(cuda::GraphHandle graph, cuda::StreamHandle stream) override;
  void destroy(cuda::GraphHandle graph) noexcept override;
  void begin_work(const cuda::WorkLabel& label, cuda::StreamHandle stream) override;
  void end_work() noexcept override;
  void launch(const cuda::own::KernelArguments& kernel, cuda::StreamHandle stream) override;

 private:
  struct Command {
    enum class Kind { kCompute, kAccess, kRecord, kRecordTime, kWait };
    Kind kind{};
    std::size_t stream = 0;
    std::function<void()> compute;
    cuda::WorkLabel label;
    cuda::EventHandle event{};
  };
  struct Event {
    cuda::EventUse use{};
    std::optional<VectorClock> clock;  ///< as recorded last
    std::optional<std::size_t> capture;
    Nanoseconds time{};
  };
  struct Capture {
    std::size_t number = 0;
    std::size_t origin = 0;
    std::set<std::size_t> joined;
    std::vector<VectorClock> clocks;  ///< by stream, of what is captured
    std::map<cuda::EventHandle, VectorClock> events;
    std::vector<Command> commands;
  };
  struct Graph {
    std::size_t origin = 0;
    std::set<std::size_t> streams;
    std::vector<Command> commands;
  };
  /// A graph's end that later work of a stream must know of.
  struct Required {
    std::size_t origin = 0;
    std::uint64_t tick = 0;
  };

  static StreamId stream_id(std::size_t index) { return static_cast<StreamId>(static_cast<std::uint32_t>(index)); }
  void report(std::string violation) { violations_.push_back(std::move(violation)); }
  [[nodiscard]] std::unique_lock<std::recursive_mutex> begin_call(std::optional<cuda::StreamHandle> stream = {});
  void set_up(std::string_view what);
  std::size_t index_of(cuda::StreamHandle stream);
  Event& event_of(cuda::EventHandle event);
  [[nodiscard]] std::string name_of(const cuda::WorkLabel& label) const;
  void give(Command command);
  void collect(Command command);
  void execute(const Command& command);
  void check_behind_graph(std::size_t stream);
  void check_before_graph(const Graph& graph);

  const Program* program_ = nullptr;
  std::unique_ptr<HazardChecker> checker_;
  HostReads host_reads_;  ///< of uploads that the host has not waited for
  bool setup_forbidden_ = false;
  std::optional<StepId> fail_at_;
  Bytes free_{std::int64_t{1} << 40};
  std::vector<std::string> violations_, log_;
  std::map<std::byte*, std::size_t> blocks_;
  std::map<cuda::StreamHandle, std::size_t> streams_;
  std::map<cuda::EventHandle, Event> events_;
  std::map<cuda::GraphHandle, Graph> graphs_;
  std::size_t created_streams_ = 0;
  std::uintptr_t next_handle_ = 1;
  std::size_t captures_ = 0;
  std::optional<Capture> capture_;
  std::map<std::thread::id, std::pair<cuda::WorkLabel, std::size_t>> work_;
  std::function<void(StreamId)> hook_;
  std::set<std::thread::id> users_;
  std::map<std::size_t, std::thread::id> givers_;  ///< by stream, of steps since the host waited for it
  std::recursive_mutex mutex_;                     ///< held by every call
  std::vector<Nanoseconds> times_;                 ///< by stream: when its last work ended
  std::map<std::size_t, Required> required_;
  VectorClock host_;  ///< what the host has waited for
  bool replaying_ = false;
};

/// A backend of own kernels on a FakeGpu.
class FakeGpuBackend final : public Backend {
 public:
  FakeGpuBackend();

  [[nodiscard]] const DeviceInfo& info() const override { return info_; }
  [[nodiscard]] const OpCatalog& catalog() const override { return *calls_; }
  Result<std::unique_ptr<Session>> load(const Program& program, std::span<const Weights* const> weights) override;

  [[nodiscard]] FakeGpu& gpu() { return gpu_; }

 private:
  FakeGpu gpu_;
  std::unique_ptr<cuda::CallFactory> calls_;
  DeviceInfo info_;
};

}  // namespace cohort
