#include "simulator/contention/gpu_engine.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace cohort {
namespace {

/// Below this, a moment is now: as in SharedDevice.
constexpr double kSameInstant = 1e-3;
constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr double kLeastFloor = 1e-3;  // ns; below, a block takes no time at all

bool slows(std::span<const double> coefficients) {
  return std::any_of(coefficients.begin(), coefficients.end(), [](double s) { return s > 0; });
}

}  // namespace

GpuEngine::GpuEngine(const GpuProfile& gpu)
    : gpu_(gpu),
      slows_(slows(gpu.slowdown)),
      slows_neighbours_(slows(std::span(gpu.slowdown).first(kSmThroughputs))),
      next_finish_(kNever),
      wave_end_(kNever),
      room_(gpu),
      groups_(gpu) {}

bool GpuEngine::due(double finish) const { return finish <= now_ + kSameInstant; }

bool GpuEngine::due(const Cohort& cohort) const {
  return due(cohort.finish) || (due(wave_end_) && ends_with_wave(cohort));
}

std::size_t GpuEngine::copy_queue_of(CopyDirection direction) const {
  if (direction == CopyDirection::kDeviceToDevice) return 2;
  return direction == CopyDirection::kDeviceToHost && gpu_.copy_engines > 1 ? 1 : 0;
}

std::span<const GpuEvent> GpuEngine::take_events() {
  taken_.swap(events_);
  events_.clear();
  return taken_;
}

std::uint32_t GpuEngine::new_slot(const KernelDemand& kernel, std::uint32_t token) {
  if (free_slots_.empty()) {
    free_slots_.push_back(static_cast<std::uint32_t>(kernels_.size()));
    kernels_.emplace_back();
    blocks_of_.emplace_back();
  }
  const std::uint32_t slot = free_slots_.back();
  free_slots_.pop_back();
  Kernel& state = kernels_[slot];
  state = Kernel{};
  state.demand = kernel;
  state.demand.floor_ns = std::max(kernel.floor_ns, kLeastFloor);
  for (std::size_t k = 0; k < kThroughputs; ++k) state.load[k] = kernel.work_ns[k] / state.demand.floor_ns;
  state.cold_load = std::max(0.0, kernel.cold_dram_ns - kernel.work_ns.back()) / state.demand.floor_ns;
  state.token = token;
  state.sequence = next_sequence_++;
  state.pending = kernel.blocks;
  state.left = static_cast<double>(kernel.blocks);
  state.finish = kNever;
  if (slows_) {
    std::array<double, kThroughputs> part = kernel.work_ns;  // of an SM, or of its share of the device
    for (std::size_t k = kSmThroughputs; k < kThroughputs; ++k) part[k] *= gpu_.sms;
    const double most = *std::max_element(part.begin(), part.end());
    for (std::size_t k = 0; k < kThroughputs; ++k) {
      state.sensitivity[k] = most > 0 ? gpu_.slowdown[k] * part[k] / most : 0;
    }
  }
  return slot;
}

Result<void> check_fits(const KernelDemand& kernel, const GpuProfile& gpu) {
  const int room = room_when_empty(kernel, gpu.sm);
  if (kernel.blocks < 1 || kernel.cluster < 1 || std::int64_t{room} * gpu.sms < kernel.cluster) {
    return fail(ErrorCode::kInvalidInput,
                "a kernel of {} blocks ({} threads, {} registers, {} bytes each) does not fit {}", kernel.blocks,
                kernel.block.threads, kernel.block.registers, kernel.block.shared_memory.value, gpu.device);
  }
  return {};
}

Result<void> GpuEngine::start_kernel(const KernelDemand& kernel, std::uint32_t token) {
  COHORT_CHECK(check_fits(kernel, gpu_));
  const std::uint32_t slot = new_slot(kernel, token);
  if (grids_ >= gpu_.resident_grids) {
    gate_.push_back(slot);
  } else {
    admit(slot);
  }
  return {};
}

void GpuEngine::admit(std::uint32_t slot) {
  ++grids_;
  const auto before = [&](std::uint32_t a, std::uint32_t b) {
    const Kernel& x = kernels_[a];
    const Kernel& y = kernels_[b];
    if (x.demand.priority != y.demand.priority) return x.demand.priority > y.demand.priority;
    return x.sequence < y.sequence;
  };
  waiting_.insert(std::upper_bound(waiting_.begin(), waiting_.end(), slot, before), slot);
  unsettled_ = true;
}

void GpuEngine::start_copy(const CopyDemand& copy, std::uint32_t token) {
  CopyDemand some_time = copy;
  some_time.time_ns = std::max(copy.time_ns, kSameInstant);  // or what it takes of DRAM meanwhile would be no number
  copies_[copy_queue_of(copy.direction)].queue.push_back({some_time, token});
  unsettled_ = true;
}

std::optional<double> GpuEngine::next_event() {
  settle();
  if (next_finish_ == kNever) return std::nullopt;
  return std::max(next_finish_, now_);
}

void GpuEngine::advance(double to) {
  settle();
  now_ = to;
  if (!due(next_finish_) || refill_in_place()) return;
  remove_finished();
  finish_persistent();
  finish_copies();
  finish_drained();
  unsettled_ = true;
}

/// Places what can be placed and, where that or an end changed what runs, rates it. Put off until the caller has given
/// all that starts at this moment.
void GpuEngine::settle() {
  if (!unsettled_) return;
  unsettled_ = false;
  give_back_waves();
  start_copies();
  dispatch();
  if (changed_) {
    synchronise();
    set_rates();
    changed_ = false;
  }
  reserve_waves();
  find_next_finish();
}

void GpuEngine::start_copies() {
  for (CopyQueue& copy : copies_) {
    if (copy.running || copy.queue.empty()) continue;
    copy.running = true;
    copy.left = copy.queue.front().demand.time_ns;
    copy.since = now_;
    changed_ = true;
    emit(GpuEvent::Kind::kStarted, copy.queue.front().token);
  }
}

void GpuEngine::dispatch() {
  for (std::size_t i = 0; i < waiting_.size();) {
    const std::uint32_t slot = waiting_[i];
    Kernel& kernel = kernels_[slot];
    const PlacedBlocks placed = kernel.tried == room_given_ ? PlacedBlocks{} : place(slot);
    kernel.pending -= placed.count;
    if (placed.count > 0 && !kernel.started) {
      kernel.started = true;
      kernel.since = now_;
      emit(GpuEvent::Kind::kStarted, kernel.token);
    }
    if (kernel.pending == 0) {
      waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(i));
    } else if (gpu_.head_of_line) {
      break;
    } else {
      ++i;
    }
  }
}

PlacedBlocks GpuEngine::place(std::uint32_t slot) {
  Kernel& kernel = kernels_[slot];
  kernel.tried = room_given_;
  const PlacedBlocks placed = room_.place(kernel.demand, blocks_of_[slot].by_sm, kernel.pending);
  if (placed.count == 0) return placed;
  changed_ = true;
  blocks_of_[slot].add(placed);
  groups_.add(kernel.load, placed);
  cohorts_.add(slot, placed, now_);
  return placed;
}

/// Brings all progress up to now.
void GpuEngine::synchronise() {
  for (Cohort& cohort : cohorts_.all()) {
    const Kernel& kernel = kernels_[cohort.slot];
    if (!kernel.demand.persistent) cohort.left = std::max(0.0, cohort.left - cohort.rate * (now_ - cohort.since));
    cohort.since = now_;
  }
  for (const std::uint32_t slot : persistent_) {
    Kernel& kernel = kernels_[slot];
    kernel.left = std::max(0.0, kernel.left - kernel.rate * (now_ - kernel.since));
    kernel.since = now_;
  }
  for (CopyQueue& copy : copies_) {
    if (!copy.running) continue;
    copy.left = std::max(0.0, copy.left - copy.rate * (now_ - copy.since));
    copy.since = now_;
  }
}

/// Where one kernel's full waves are all there is, they follow each other without an event.
void GpuEngine::reserve_waves() {
  if (cohorts_.all().size() != 1 || waiting_.empty()) return;
  Cohort& cohort = cohorts_.all()[0];
  Kernel& kernel = kernels_[cohort.slot];
  if (waiting_[0] != cohort.slot || kernel.demand.cluster > 1 || kernel.demand.persistent) return;
  // The last wave ends the kernel's time at the head of the line, so it is never among them.
  const std::int64_t blocks = cohorts_.blocks(cohort).count;
  const std::int64_t waves = (kernel.pending - 1) / blocks;
  kernel.pending -= waves * blocks;
  cohort.left += static_cast<double>(waves);
  cohort.finish = cohort.since + cohort.left / cohort.rate;
}

void GpuEngine::give_back_waves() {
  if (cohorts_.all().size() != 1) return;
  Cohort& cohort = cohorts_.all()[0];
  if (cohort.left <= 1 + kSameProgress || kernels_[cohort.slot].demand.persistent) return;
  synchronise();
  const double waves = std::max(0.0, std::ceil(cohort.left - kSameProgress) - 1);
  cohort.left -= waves;
  cohort.finish = now_ + cohort.left / cohort.rate;
  kernels_[cohort.slot].pending += static_cast<std::int64_t>(waves) * cohorts_.blocks(cohort).count;
}

/// Blocks of the kernel at the head of the line that ended make room for just as many of its own. Only where that is
/// all that happens now and blocks are left over after it.
bool GpuEngine::refill_in_place() {
  if (waiting_.empty()) return false;
  const std::uint32_t head = waiting_[0];
  Kernel& kernel = kernels_[head];
  if (kernel.demand.cluster > 1 || kernel.demand.persistent) return false;
  std::int64_t ended = 0;
  for (const Cohort& cohort : cohorts_.all()) {
    if (!due(cohort)) continue;
    if (cohort.slot != head) return false;
    ended += cohorts_.blocks(cohort).count;
  }
  if (ended == 0 || ended >= kernel.pending) return false;
  const auto copy_due = [&](const CopyQueue& copy) { return copy.running && due(copy.finish); };
  if (std::any_of(copies_.begin(), copies_.end(), copy_due)) return false;
  if (std::any_of(drains_.begin(), drains_.end(), [&](const Drain& d) { return due(d.end); })) return false;
  if (std::any_of(persistent_.begin(), persistent_.end(), [&](auto slot) { return due(kernels_[slot].finish); })) {
    return false;
  }
  kernel.pending -= ended;
  cohorts_.begin_anew([&](const Cohort& cohort) { return due(cohort); }, now_);
  find_next_finish();
  return true;
}

void GpuEngine::remove(std::uint32_t slot, const PlacedBlocks& blocks) {
  changed_ = true;
  ++room_given_;
  room_.give_back(kernels_[slot].demand, blocks);
  groups_.remove(kernels_[slot].load, blocks);
  blocks_of_[slot].take(blocks);
  retire_if_done(slot);
}

void GpuEngine::remove_finished() {
  cohorts_.remove_if([&](const Cohort& cohort) {
    if (kernels_[cohort.slot].demand.persistent || !due(cohort)) return false;
    remove(cohort.slot, cohorts_.blocks(cohort));
    return true;
  });
}

void GpuEngine::finish_persistent() {
  for (const std::uint32_t slot : persistent_) {
    Kernel& kernel = kernels_[slot];
    if (!due(kernel.finish)) continue;
    cohorts_.remove_if([&](const Cohort& cohort) { return cohort.slot == slot; });
    kernel.pending = 0;  // blocks that never found room would find nothing to do
    waiting_.erase(std::remove(waiting_.begin(), waiting_.end(), slot), waiting_.end());
    remove(slot, PlacedBlocks(blocks_of_[slot]));
  }
  std::erase_if(persistent_, [&](std::uint32_t slot) { return blocks_of_[slot].count == 0; });
}

void GpuEngine::finish_copies() {
  for (CopyQueue& copy : copies_) {
    if (!copy.running || !due(copy.finish)) continue;
    emit(GpuEvent::Kind::kEnded, copy.queue.front().token);
    copy.queue.pop_front();
    copy.running = false;
    changed_ = true;
  }
}

void GpuEngine::finish_drained() {
  std::sort(drains_.begin(), drains_.end(),
            [](const Drain& a, const Drain& b) { return a.end != b.end ? a.end < b.end : a.slot < b.slot; });
  std::size_t ended = 0;
  while (ended < drains_.size() && due(drains_[ended].end)) end_kernel(drains_[ended++].slot);
  drains_.erase(drains_.begin(), drains_.begin() + static_cast<std::ptrdiff_t>(ended));
}

void GpuEngine::retire_if_done(std::uint32_t slot) {
  const Kernel& kernel = kernels_[slot];
  if (blocks_of_[slot].count > 0 || kernel.pending > 0) return;
  if (kernel.demand.fixed_ns > kSameInstant) {
    drains_.push_back({now_ + kernel.demand.fixed_ns, slot});
  } else {
    end_kernel(slot);
  }
}

void GpuEngine::end_kernel(std::uint32_t slot) {
  emit(GpuEvent::Kind::kEnded, kernels_[slot].token);
  free_slots_.push_back(slot);
  --grids_;
  if (!gate_.empty()) {
    admit(gate_.front());
    gate_.pop_front();
  }
}

/// Whether its end is as close to the first one's, in parts of its own blocks and of the first one's, as counts as
/// equal.
bool GpuEngine::ends_with_wave(const Cohort& cohort) const {
  return cohort.finish <= wave_begin_ + wave_tolerance_ / std::max(wave_rate_, cohort.rate);
}

/// The first cohort's end; where there are many cohorts, the mean end of those that end close to it.
void GpuEngine::find_wave_end() {
  const auto all = cohorts_.all();
  const auto first =
      std::min_element(all.begin(), all.end(), [](const Cohort& a, const Cohort& b) { return a.finish < b.finish; });
  wave_begin_ = first == all.end() ? kNever : first->finish;
  wave_end_ = wave_begin_;
  wave_tolerance_ = cohorts_.tolerance();
  if (wave_begin_ == kNever || wave_tolerance_ <= kSameProgress) return;
  wave_rate_ = first->rate;
  double sum = 0;
  double blocks = 0;
  for (const Cohort& cohort : all) {
    if (!ends_with_wave(cohort)) continue;
    const auto weight = static_cast<double>(cohorts_.blocks(cohort).count);
    sum += (cohort.finish - wave_begin_) * weight;
    blocks += weight;
  }
  wave_end_ += sum / blocks;
}

void GpuEngine::find_next_finish() {
  find_wave_end();
  double next = wave_end_;
  for (const std::uint32_t slot : persistent_) next = std::min(next, kernels_[slot].finish);
  for (const CopyQueue& copy : copies_) {
    if (copy.running) next = std::min(next, copy.finish);
  }
  for (const Drain& drain : drains_) next = std::min(next, drain.end);
  next_finish_ = next;
}

}  // namespace cohort
