// The rules of docs/contention.md with every block of every kernel spelled out. Nothing here is shared with the engine
// but the description of what to run.

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <list>
#include <optional>

#include "tests/simulator/contention/scenario.hpp"

namespace cohort {
namespace {

constexpr double kSameInstant = 1e-3;
constexpr double kNever = std::numeric_limits<double>::infinity();

struct Sm {
  int threads;
  int slots;
  std::int64_t registers;
  std::int64_t shared;
};

struct Grid {
  KernelDemand demand;
  std::size_t stream;
  std::size_t item;
  std::uint64_t order;  ///< of arrival
  bool admitted = false;
  bool blocks_done = false;
  bool gone = false;
  std::int64_t unplaced = 0;
  std::int64_t running = 0;
  double shared_work = 0;  ///< of a persistent kernel: blocks not done
  double drained = kNever;
};

struct Block {
  std::size_t grid;
  std::size_t sm;
  double left;
  double speed_alone = 0;  ///< with its latency stretched by others
  double speed = 0;
};

struct Transfer {
  CopyDemand demand;
  std::size_t stream;
  std::size_t item;
  double left;
  bool running = false;
  double speed = 0;
};

class Oracle {
 public:
  explicit Oracle(const Scenario& scenario)
      : scenario_(scenario),
        gpu_(scenario.gpu),
        sms_(static_cast<std::size_t>(gpu_.sms),
             Sm{gpu_.sm.threads, gpu_.sm.blocks, gpu_.sm.registers, gpu_.sm.shared_memory.value}),
        next_(scenario.streams.size(), 0),
        busy_(scenario.streams.size(), false),
        times_(scenario.streams.size()) {
    for (std::size_t s = 0; s < times_.size(); ++s) times_[s].resize(scenario.streams[s].size());
  }

  ScenarioTimes run() {
    for (;;) {
      const double arrival = arrive();
      start_transfers();
      admit();
      place();
      rate();
      const double to = std::min(arrival, next_end());
      if (to == kNever) return times_;
      move_to(to);
      end_what_ended();
    }
  }

 private:
  double arrive() {
    double later = kNever;
    for (std::size_t s = 0; s < scenario_.streams.size(); ++s) {
      if (busy_[s] || next_[s] == scenario_.streams[s].size()) continue;
      const ScenarioItem& item = scenario_.streams[s][next_[s]];
      if (item.not_before > now_ + kSameInstant) {
        later = std::min(later, item.not_before);
        continue;
      }
      busy_[s] = true;
      if (const auto* kernel = std::get_if<KernelDemand>(&item.work)) {
        Grid grid;
        grid.demand = *kernel;
        grid.stream = s;
        grid.item = next_[s];
        grid.order = grids_.size();
        grid.unplaced = kernel->blocks;
        grid.shared_work = static_cast<double>(kernel->blocks);
        grids_.push_back(grid);
      } else {
        const auto& copy = std::get<CopyDemand>(item.work);
        transfers_.push_back({copy, s, next_[s], copy.time_ns});
      }
    }
    return later;
  }

  bool same_engine(const CopyDemand& a, const CopyDemand& b) const {
    if (a.direction == b.direction) return true;
    const bool on_device =
        a.direction == CopyDirection::kDeviceToDevice || b.direction == CopyDirection::kDeviceToDevice;
    return !on_device && gpu_.copy_engines == 1;
  }

  void start_transfers() {
    for (auto it = transfers_.begin(); it != transfers_.end(); ++it) {
      const bool first =
          std::none_of(transfers_.begin(), it, [&](const Transfer& t) { return same_engine(t.demand, it->demand); });
      if (!first || it->running) continue;
      it->running = true;
      times_[it->stream][it->item].start = now_;
    }
  }

  void admit() {
    const auto on_device = [](const Grid& grid) { return grid.admitted && !grid.gone; };
    for (Grid& grid : grids_) {
      if (grid.admitted || std::count_if(grids_.begin(), grids_.end(), on_device) >= gpu_.resident_grids) continue;
      grid.admitted = true;
    }
  }

  int room(const Sm& sm, std::size_t sm_index, std::size_t grid) const {
    const KernelDemand& kernel = grids_[grid].demand;
    int own = 0;
    for (const Block& block : blocks_) own += block.sm == sm_index && block.grid == grid ? 1 : 0;
    std::int64_t room = std::min(sm.slots, kernel.blocks_per_sm - own);
    room = std::min<std::int64_t>(room, sm.threads / kernel.block.threads);
    if (kernel.block.registers > 0) room = std::min(room, sm.registers / kernel.block.registers);
    if (kernel.block.shared_memory.value > 0) room = std::min(room, sm.shared / kernel.block.shared_memory.value);
    return static_cast<int>(room);
  }

  /// One block after another, each on the SM with most room, the first of several.
  void place_grid(std::size_t index) {
    Grid& grid = grids_[index];
    std::vector<int> rooms(sms_.size());
    std::int64_t total = 0;
    for (std::size_t s = 0; s < sms_.size(); ++s) total += rooms[s] = room(sms_[s], s, index);
    std::int64_t count = std::min(total, grid.unplaced);
    count -= count % grid.demand.cluster;
    if (count > 0 && grid.running == 0 && grid.unplaced == grid.demand.blocks) {
      times_[grid.stream][grid.item].start = now_;
    }
    for (; count > 0; --count) {
      const auto s = static_cast<std::size_t>(std::max_element(rooms.begin(), rooms.end()) - rooms.begin());
      --rooms[s];
      sms_[s].threads -= grid.demand.block.threads;
      sms_[s].registers -= grid.demand.block.registers;
      sms_[s].shared -= grid.demand.block.shared_memory.value;
      --sms_[s].slots;
      blocks_.push_back({index, s, 1});
      --grid.unplaced;
      ++grid.running;
    }
  }

  void place() {
    std::vector<std::size_t> line;
    for (std::size_t g = 0; g < grids_.size(); ++g) {
      if (grids_[g].admitted && grids_[g].unplaced > 0) line.push_back(g);
    }
    std::stable_sort(line.begin(), line.end(), [&](std::size_t a, std::size_t b) {
      return grids_[a].demand.priority > grids_[b].demand.priority;
    });
    for (const std::size_t g : line) {
      place_grid(g);
      if (grids_[g].unplaced > 0 && gpu_.head_of_line) return;
    }
  }

  double cold() const {
    double touched = 0;
    for (const Grid& grid : grids_) {
      if (grid.running > 0) touched += static_cast<double>(grid.demand.footprint.value);
    }
    return std::clamp(touched / static_cast<double>(gpu_.l2_size.value) - 1, 0.0, 1.0);
  }

  /// What a block takes of each throughput at full speed.
  std::array<double, kThroughputs> work_of(const Grid& grid, double cold) const {
    std::array<double, kThroughputs> work = grid.demand.work_ns;
    if (grid.demand.cold_dram_ns > work[5]) work[5] += cold * (grid.demand.cold_dram_ns - work[5]);
    return work;
  }

  void stretch(double cold) {
    // Load of every SM and of the device, by grid.
    std::vector<std::vector<std::array<double, kThroughputs>>> by_sm(
        sms_.size(), std::vector<std::array<double, kThroughputs>>(grids_.size()));
    std::vector<std::array<double, kThroughputs>> by_grid(grids_.size());
    for (const Block& block : blocks_) {
      const auto work = work_of(grids_[block.grid], cold);
      for (std::size_t k = 0; k < kThroughputs; ++k) {
        by_sm[block.sm][block.grid][k] += work[k] / grids_[block.grid].demand.floor_ns;
        by_grid[block.grid][k] += work[k] / grids_[block.grid].demand.floor_ns;
      }
    }
    double copies = 0;
    for (const Transfer& transfer : transfers_) {
      if (transfer.running) copies += transfer.demand.dram_ns / transfer.demand.time_ns;
    }
    for (Block& block : blocks_) {
      const KernelDemand& kernel = grids_[block.grid].demand;
      double most = 0;
      for (std::size_t k = 0; k < kThroughputs; ++k) most = std::max(most, kernel.work_ns[k] * (k < 4 ? 1 : gpu_.sms));
      double longer = 0;
      for (std::size_t k = 0; k < kThroughputs && most > 0; ++k) {
        double others = k == 5 ? copies : 0;
        for (std::size_t g = 0; g < grids_.size(); ++g) {
          if (g != block.grid) others += k < 4 ? by_sm[block.sm][g][k] : by_grid[g][k];
        }
        const double load = std::min(others, 1.0);
        const double part = kernel.work_ns[k] * (k < 4 ? 1 : gpu_.sms) / most;
        longer = std::max(longer, gpu_.slowdown[k] * part * load * load);
      }
      block.speed_alone = 1 / (kernel.floor_ns * (1 + longer));
    }
  }

  /// Every block its own consumer; all that use a resource that is used up stop together.
  void rate() {
    const double cold_now = cold();
    stretch(cold_now);
    const std::size_t count = blocks_.size();
    const std::size_t device = sms_.size() * 4;
    std::vector<std::array<double, kThroughputs>> takes(count);
    std::vector<char> stopped(count, 0);
    std::vector<double> level(count, 1);
    for (std::size_t b = 0; b < count; ++b) {
      takes[b] = work_of(grids_[blocks_[b].grid], cold_now);
      for (double& amount : takes[b]) amount *= blocks_[b].speed_alone;
    }
    std::vector<Transfer*> copies;
    for (Transfer& transfer : transfers_) {
      if (transfer.running) copies.push_back(&transfer);
    }
    std::vector<char> copy_stopped(copies.size(), 0);
    for (Transfer* copy : copies) copy->speed = 1;
    const auto resource = [&](std::size_t b, std::size_t k) { return k < 4 ? blocks_[b].sm * 4 + k : device + k - 4; };
    for (;;) {
      std::vector<double> fixed(device + 2, 0);
      std::vector<double> rising(device + 2, 0);
      for (std::size_t b = 0; b < count; ++b) {
        for (std::size_t k = 0; k < kThroughputs; ++k) {
          (stopped[b] ? fixed : rising)[resource(b, k)] += takes[b][k] * (stopped[b] ? level[b] : 1);
        }
      }
      for (std::size_t c = 0; c < copies.size(); ++c) {
        const double amount = copies[c]->demand.dram_ns / copies[c]->demand.time_ns;
        (copy_stopped[c] ? fixed : rising)[device + 1] += amount * (copy_stopped[c] ? copies[c]->speed : 1);
      }
      double reach = 1;
      std::vector<double> reaches(device + 2, kNever);
      for (std::size_t r = 0; r < device + 2; ++r) {
        if (rising[r] > 1e-12) reaches[r] = std::max(0.0, (1 - fixed[r]) / rising[r]);
        reach = std::min(reach, reaches[r]);
      }
      if (reach >= 1 - 1e-12) break;
      for (std::size_t b = 0; b < count; ++b) {
        bool full = false;
        for (std::size_t k = 0; k < kThroughputs; ++k) {
          full = full || (takes[b][k] > 0 && reaches[resource(b, k)] <= reach * (1 + 1e-12));
        }
        if (stopped[b] || !full) continue;
        stopped[b] = 1;
        level[b] = reach;
      }
      for (std::size_t c = 0; c < copies.size(); ++c) {
        if (copy_stopped[c] || copies[c]->demand.dram_ns <= 0 || reaches[device + 1] > reach * (1 + 1e-12)) continue;
        copy_stopped[c] = 1;
        copies[c]->speed = reach;
      }
    }
    for (std::size_t b = 0; b < count; ++b) blocks_[b].speed = blocks_[b].speed_alone * level[b];
  }

  double grid_speed(std::size_t grid) const {
    double sum = 0;
    for (const Block& block : blocks_) sum += block.grid == grid ? block.speed : 0;
    return sum;
  }

  double next_end() const {
    double next = kNever;
    for (const Block& block : blocks_) {
      if (!grids_[block.grid].demand.persistent) next = std::min(next, now_ + block.left / block.speed);
    }
    for (std::size_t g = 0; g < grids_.size(); ++g) {
      const Grid& grid = grids_[g];
      if (grid.gone) continue;
      next = std::min(next, grid.drained);
      if (grid.demand.persistent && grid.running > 0) next = std::min(next, now_ + grid.shared_work / grid_speed(g));
    }
    for (const Transfer& transfer : transfers_) {
      if (transfer.running) next = std::min(next, now_ + transfer.left / transfer.speed);
    }
    return next;
  }

  void move_to(double to) {
    for (Block& block : blocks_) block.left -= block.speed * (to - now_);
    for (std::size_t g = 0; g < grids_.size(); ++g) {
      if (grids_[g].demand.persistent) grids_[g].shared_work -= grid_speed(g) * (to - now_);
    }
    for (Transfer& transfer : transfers_) {
      if (transfer.running) transfer.left -= transfer.speed * (to - now_);
    }
    now_ = to;
  }

  void end_what_ended() {
    std::vector<char> work_done(grids_.size(), 0);
    for (std::size_t g = 0; g < grids_.size(); ++g) {
      if (!grids_[g].demand.persistent || grids_[g].running == 0) continue;
      work_done[g] = grids_[g].shared_work <= kSameInstant * grid_speed(g);
      if (work_done[g]) grids_[g].unplaced = 0;
    }
    std::vector<Block> rest;
    for (const Block& block : blocks_) {
      Grid& grid = grids_[block.grid];
      const bool ended = grid.demand.persistent ? work_done[block.grid] != 0 : block.left <= kSameInstant * block.speed;
      if (!ended) {
        rest.push_back(block);
        continue;
      }
      Sm& sm = sms_[block.sm];
      sm.threads += grid.demand.block.threads;
      sm.registers += grid.demand.block.registers;
      sm.shared += grid.demand.block.shared_memory.value;
      ++sm.slots;
      --grid.running;
    }
    blocks_ = rest;
    for (auto it = transfers_.begin(); it != transfers_.end();) {
      if (!it->running || it->left > kSameInstant * it->speed) {
        ++it;
        continue;
      }
      finish(it->stream, it->item);
      it = transfers_.erase(it);
    }
    for (Grid& grid : grids_) {
      if (grid.gone || grid.running > 0 || grid.unplaced > 0) continue;
      if (!grid.blocks_done) {
        grid.blocks_done = true;
        grid.drained = now_ + grid.demand.fixed_ns;
      }
      if (grid.drained > now_ + kSameInstant) continue;
      grid.gone = true;
      grid.drained = kNever;
      finish(grid.stream, grid.item);
    }
  }

  void finish(std::size_t stream, std::size_t item) {
    times_[stream][item].end = now_;
    busy_[stream] = false;
    ++next_[stream];
  }

  const Scenario& scenario_;
  const GpuProfile& gpu_;
  double now_ = 0;
  std::vector<Sm> sms_;
  std::vector<std::size_t> next_;
  std::vector<bool> busy_;
  ScenarioTimes times_;
  std::vector<Grid> grids_;
  std::vector<Block> blocks_;
  std::list<Transfer> transfers_;
};

}  // namespace

ScenarioTimes run_oracle(const Scenario& scenario) { return Oracle(scenario).run(); }

}  // namespace cohort
