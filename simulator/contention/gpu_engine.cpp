#include "simulator/contention/gpu_engine.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace cohort {
namespace {

/// Below this, a moment is now: as in SharedDevice.
constexpr double kSameInstant = 1e-3;
constexpr double kNever = std::numeric_limits<double>::infinity();
/// A wave this close to its end has ended.
constexpr double kSameProgress = 1e-9;

}  // namespace

GpuEngine::GpuEngine(const GpuProfile& gpu)
    : gpu_(gpu), next_finish_(kNever), wave_end_(kNever), wave_until_(kNever), groups_(gpu) {
  slows_ = std::any_of(gpu.slowdown.begin(), gpu.slowdown.end(), [](double s) { return s > 0; });
}

bool GpuEngine::due(double finish) const { return finish <= now_ + kSameInstant; }

bool GpuEngine::due(const Cohort& cohort) const {
  return due(cohort.finish) || (due(wave_end_) && cohort.finish <= wave_until_);
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
  }
  const std::uint32_t slot = free_slots_.back();
  free_slots_.pop_back();
  Kernel& state = kernels_[slot];
  state = Kernel{};
  state.demand = kernel;
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
  SmGroup empty;
  empty.slots = gpu.sm.blocks;
  empty.threads = gpu.sm.threads;
  empty.registers = gpu.sm.registers;
  empty.shared_memory = gpu.sm.shared_memory.value;
  const int room = empty.room(kernel, 0);
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
  copies_[copy_queue_of(copy.direction)].queue.push_back({copy, token});
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
  synchronise();
  remove_finished();
  finish_persistent();
  finish_copies();
  finish_drained();
  unsettled_ = true;
}

/// Places what can be placed and rates what runs. Put off until the caller has given all that starts at this moment.
void GpuEngine::settle() {
  if (!unsettled_) return;
  unsettled_ = false;
  synchronise();
  give_back_waves();
  start_copies();
  groups_.merge();
  dispatch();
  set_rates();
  reserve_waves();
  find_next_finish();
}

void GpuEngine::start_copies() {
  for (CopyQueue& copy : copies_) {
    if (copy.running || copy.queue.empty()) continue;
    copy.running = true;
    copy.left = std::max(copy.queue.front().demand.time_ns, kSameInstant);
    copy.since = now_;
    emit(GpuEvent::Kind::kStarted, copy.queue.front().token);
  }
}

void GpuEngine::dispatch() {
  for (std::size_t i = 0; i < waiting_.size();) {
    const std::uint32_t slot = waiting_[i];
    Kernel& kernel = kernels_[slot];
    const std::int64_t placed = groups_.place(kernel.demand, slot, kernel.pending, now_);
    kernel.pending -= placed;
    kernel.resident += placed;
    if (placed > 0 && !kernel.started) {
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

/// Brings all progress up to now.
void GpuEngine::synchronise() {
  for (SmGroup& group : groups_.all()) {
    for (Cohort& cohort : group.live()) {
      const Kernel& kernel = kernels_[cohort.slot];
      if (!kernel.demand.persistent) cohort.left = std::max(0.0, cohort.left - cohort.rate * (now_ - cohort.since));
      cohort.since = now_;
    }
  }
  for (Kernel& kernel : kernels_) {
    if (!kernel.demand.persistent || kernel.resident == 0) continue;
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
  if (groups_.all().size() != 1 || groups_.all()[0].cohort_count != 1 || waiting_.empty()) return;
  SmGroup& group = groups_.all()[0];
  Cohort& cohort = group.cohorts[0];
  Kernel& kernel = kernels_[cohort.slot];
  if (waiting_[0] != cohort.slot || kernel.demand.cluster > 1 || kernel.demand.persistent) return;
  const std::int64_t wave = std::int64_t{cohort.blocks} * group.count;
  // The last wave ends the kernel's time at the head of the line, so it is never among them.
  const std::int64_t waves = (kernel.pending - 1) / wave;
  kernel.pending -= waves * wave;
  cohort.left += static_cast<double>(waves);
  cohort.finish = now_ + cohort.left / cohort.rate;
}

void GpuEngine::give_back_waves() {
  if (groups_.all().size() != 1 || groups_.all()[0].cohort_count != 1) return;
  Cohort& cohort = groups_.all()[0].cohorts[0];
  if (cohort.left <= 1 + kSameProgress || kernels_[cohort.slot].demand.persistent) return;
  const double waves = std::ceil(cohort.left - kSameProgress) - 1;
  cohort.left -= waves;
  kernels_[cohort.slot].pending += static_cast<std::int64_t>(waves) * cohort.blocks * groups_.all()[0].count;
}

/// Blocks of the kernel at the head of the line that ended make room for just as many of its own. Only where that is
/// all that happens now and blocks are left over after it.
bool GpuEngine::refill_in_place() {
  if (waiting_.empty()) return false;
  const std::uint32_t head = waiting_[0];
  Kernel& kernel = kernels_[head];
  if (kernel.demand.cluster > 1 || kernel.demand.persistent) return false;
  std::int64_t ended = 0;
  for (const SmGroup& group : groups_.all()) {
    for (const Cohort& cohort : group.live()) {
      if (!due(cohort)) continue;
      if (cohort.slot != head) return false;
      ended += std::int64_t{cohort.blocks} * group.count;
    }
  }
  if (ended == 0 || ended >= kernel.pending) return false;
  const auto copy_due = [&](const CopyQueue& copy) { return copy.running && due(copy.finish); };
  if (std::any_of(copies_.begin(), copies_.end(), copy_due)) return false;
  if (std::any_of(drains_.begin(), drains_.end(), [&](const Drain& d) { return due(d.end); })) return false;
  for (const Kernel& other : kernels_) {
    if (other.demand.persistent && other.resident > 0 && due(other.finish)) return false;
  }
  kernel.pending -= ended;
  for (SmGroup& group : groups_.all()) {
    for (Cohort& cohort : group.live()) {
      if (!due(cohort)) continue;
      cohort.left = 1;
      cohort.since = now_;
      cohort.finish = now_ + 1 / cohort.rate;
    }
    std::stable_sort(group.live().begin(), group.live().end(), [](const Cohort& a, const Cohort& b) {
      return a.slot != b.slot ? a.slot < b.slot : a.finish < b.finish;
    });
  }
  find_next_finish();
  return true;
}

void GpuEngine::remove_finished() {
  for (SmGroup& group : groups_.all()) {
    for (std::size_t i = 0; i < group.cohort_count;) {
      const std::uint32_t slot = group.cohorts[i].slot;
      Kernel& kernel = kernels_[slot];
      if (kernel.demand.persistent || !due(group.cohorts[i])) {
        ++i;
        continue;
      }
      kernel.resident -= groups_.remove(group, i, kernel.demand);
      retire_if_done(slot);
    }
  }
}

void GpuEngine::finish_persistent() {
  for (std::uint32_t slot = 0; slot < kernels_.size(); ++slot) {
    Kernel& kernel = kernels_[slot];
    if (!kernel.demand.persistent || kernel.resident == 0 || !due(kernel.finish)) continue;
    for (SmGroup& group : groups_.all()) {
      for (std::size_t i = 0; i < group.cohort_count;) {
        if (group.cohorts[i].slot == slot) {
          groups_.remove(group, i, kernel.demand);
        } else {
          ++i;
        }
      }
    }
    kernel.resident = 0;
    kernel.pending = 0;  // blocks that never found room would find nothing to do
    waiting_.erase(std::remove(waiting_.begin(), waiting_.end(), slot), waiting_.end());
    retire_if_done(slot);
  }
}

void GpuEngine::finish_copies() {
  for (CopyQueue& copy : copies_) {
    if (!copy.running || !due(copy.finish)) continue;
    emit(GpuEvent::Kind::kEnded, copy.queue.front().token);
    copy.queue.pop_front();
    copy.running = false;
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
  if (kernel.resident > 0 || kernel.pending > 0) return;
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

/// The first cohort's end; where there are many cohorts, the mean end of those that end close to it.
void GpuEngine::find_wave_end() {
  const Cohort* first = nullptr;
  for (const SmGroup& group : groups_.all()) {
    for (const Cohort& cohort : group.live()) {
      if (first == nullptr || cohort.finish < first->finish) first = &cohort;
    }
  }
  wave_end_ = wave_until_ = first == nullptr ? kNever : first->finish;
  const double tolerated = groups_.tolerance();
  if (first == nullptr || tolerated <= kSameProgress) return;
  wave_until_ += tolerated / first->rate;
  double sum = 0;
  double blocks = 0;
  for (const SmGroup& group : groups_.all()) {
    for (const Cohort& cohort : group.live()) {
      if (cohort.finish > wave_until_) continue;
      const double weight = static_cast<double>(cohort.blocks) * group.count;
      sum += (cohort.finish - wave_end_) * weight;
      blocks += weight;
    }
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
