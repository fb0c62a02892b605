#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "simulator/contention/cohorts.hpp"
#include "simulator/contention/gpu_profile.hpp"
#include "simulator/contention/kernel_demand.hpp"
#include "simulator/contention/max_min.hpp"
#include "simulator/contention/sm_groups.hpp"
#include "simulator/contention/sm_room.hpp"

namespace cohort {

/// A copy by a copy engine.
struct CopyDemand {
  CopyDirection direction = CopyDirection::kHostToDevice;
  double time_ns = 1;  ///< alone
  double dram_ns = 0;  ///< time that it would take of all of DRAM
};

/// Something that began or ended on the device.
struct GpuEvent {
  enum class Kind { kStarted, kEnded };
  Kind kind = Kind::kStarted;
  std::uint32_t token = 0;  ///< the caller's
  double time_ns = 0;
};

/// Errors: kInvalidInput where the kernel has no blocks, or an empty device has no room for one cluster of it.
Result<void> check_fits(const KernelDemand& kernel, const GpuProfile& gpu);

/// Which blocks run where on one GPU, at which rates, and when the next of them end.
///
/// The caller gives kernels and copies at the moment their streams let them go, asks for the next event and advances to
/// it or to an earlier moment of its own. Rates depend on what is resident only, so there is one next event, made anew
/// whenever something was placed or ended; none can be stale.
///
/// Residency: at most `resident_grids` kernels, in the order given. Of those with blocks left the one of highest
/// priority, then the oldest, places blocks wherever room is left, an SM with most room first (room in blocks of its
/// own; ties to the lowest SM); with `head_of_line` no other kernel places blocks before all of its are placed.
/// A copy engine serves a direction in order. Rates: see docs/contention.md.
///
/// Blocks of a kernel that are equally far and equally fast are one cohort, wherever they are, and only SMs whose own
/// throughput is used up are told apart: else an event costs a pass over the SMs and over the cohorts, not over the
/// blocks; full waves that only replace themselves cost one comparison.
/// Deterministic. Time is in nanoseconds since the caller's start, a double: what is shared ends between nanoseconds.
class GpuEngine {
 public:
  explicit GpuEngine(const GpuProfile& gpu);  ///< for which validate(gpu) holds

  /// `kernel` is copied; `token` comes back in events. Time: that of the last advance.
  /// Errors: as check_fits().
  Result<void> start_kernel(const KernelDemand& kernel, std::uint32_t token);
  void start_copy(const CopyDemand& copy, std::uint32_t token);

  /// The next moment at which something ends on the device; absent while nothing runs.
  std::optional<double> next_event();
  /// Moves on to `to`, at most next_event().
  void advance(double to);
  /// What happened since the last call, in order of time; the storage is reused by the next call.
  std::span<const GpuEvent> take_events();

  [[nodiscard]] double now() const { return now_; }

 private:
  struct Kernel {
    KernelDemand demand;
    BlockLoad load{};      ///< that one block asks for while nothing holds it up
    double cold_load = 0;  ///< what of DRAM's it asks for in addition with its data driven out of L2
    std::array<double, kThroughputs> sensitivity{};  ///< slowdown at full load of others, by what it uses most
    std::array<double, kThroughputs> own_load{};     ///< device-wide, of all its resident blocks
    std::uint32_t token = 0;
    std::uint64_t sequence = 0;
    std::int64_t pending = 0;  ///< blocks not placed yet
    bool started = false;
    std::uint64_t tried = 0;  ///< `room_given_` when it was placed last: no more fits before there is new room
    // Of a persistent kernel, all its blocks together:
    double left = 0;  ///< blocks of work not done at `since`
    double rate = 0;
    double since = 0;
    double finish = 0;
  };
  struct Copy {
    CopyDemand demand;
    std::uint32_t token = 0;
  };
  struct CopyQueue {
    std::deque<Copy> queue;
    bool running = false;
    double left = 0;  ///< nanoseconds at rate 1, at `since`
    double rate = 1;
    double since = 0;
    double finish = 0;
  };
  struct Drain {
    double end;
    std::uint32_t slot;
  };

  struct Consumer {
    std::uint32_t slot = 0;
    std::uint32_t group = 0;
    double slowdown = 1;  ///< of its blocks' latency
    BlockLoad load{};     ///< of them all, an SM's or the device's
  };

  std::uint32_t new_slot(const KernelDemand& kernel, std::uint32_t token);
  void admit(std::uint32_t slot);
  void settle();
  void start_copies();
  void dispatch();
  PlacedBlocks place(std::uint32_t slot);
  void synchronise();
  void give_back_waves();
  void reserve_waves();
  bool refill_in_place();
  void remove(std::uint32_t slot, const PlacedBlocks& blocks);
  void remove_finished();
  void finish_persistent();
  void finish_copies();
  void finish_drained();
  void retire_if_done(std::uint32_t slot);
  void end_kernel(std::uint32_t slot);
  void set_rates();
  void add_consumers();
  void add_consumer(std::uint32_t slot, std::uint32_t group, std::int64_t blocks, double cold);
  void slow_down();
  void share();
  [[nodiscard]] bool tell_loaded_apart();
  void apply_rates();
  [[nodiscard]] double cold_part() const;
  [[nodiscard]] bool ends_with_wave(const Cohort& cohort) const;
  void find_wave_end();
  void find_next_finish();
  [[nodiscard]] bool due(double finish) const;
  [[nodiscard]] bool due(const Cohort& cohort) const;
  [[nodiscard]] std::size_t copy_queue_of(CopyDirection direction) const;
  void emit(GpuEvent::Kind kind, std::uint32_t token) { events_.push_back({kind, token, now_}); }

  GpuProfile gpu_;
  bool slows_ = false;             ///< some slowdown coefficient is not 0
  bool slows_neighbours_ = false;  ///< one of an SM's throughput
  double now_ = 0;
  bool unsettled_ = false;        ///< something was given or has ended since it was last looked what can be placed
  bool changed_ = false;          ///< what runs has changed since it was rated
  std::uint64_t room_given_ = 1;  ///< how often blocks have left room behind
  double next_finish_;            ///< of cohorts, persistent kernels, copies and drains; infinite without any
  double wave_end_;               ///< the moment at which the next cohorts end: all that end with the first of them
  double wave_begin_ = 0;         ///< when that one would
  double wave_rate_ = 1;          ///< its rate
  double wave_tolerance_ = 0;     ///< parts of a block
  std::uint64_t next_sequence_ = 0;
  int grids_ = 0;
  std::vector<Kernel> kernels_;
  std::vector<std::uint32_t> free_slots_;
  std::vector<std::uint32_t> waiting_;  ///< kernels with blocks to place, in order of dispatch
  std::deque<std::uint32_t> gate_;      ///< kernels beyond the cap of resident grids
  std::vector<std::uint32_t> persistent_;
  std::vector<PlacedBlocks> blocks_of_;  ///< by slot
  SmRoom room_;
  SmGroups groups_;
  Cohorts cohorts_;
  std::vector<std::uint32_t> on_device_;     ///< slots of kernels with blocks placed
  std::vector<const BlocksBySm*> contents_;  ///< where they are
  std::array<CopyQueue, 3> copies_;
  std::vector<Drain> drains_;
  std::vector<GpuEvent> events_;
  std::vector<GpuEvent> taken_;
  MaxMin sharing_;
  std::vector<Consumer> consumers_;
  std::vector<BlockLoad> group_load_;    ///< of slow_down()
  std::vector<double> speed_elsewhere_;  ///< by slot: of its blocks in group 0, of what nothing holds up
};

}  // namespace cohort
