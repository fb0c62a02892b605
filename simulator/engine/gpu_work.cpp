#include "simulator/engine/gpu_work.hpp"

#include <algorithm>
#include <array>
#include <map>

namespace cohort {

Result<void> check_gpu_work(const GpuWork& work, const TaskGraph& graph) {
  COHORT_CHECK(validate(work.profile));
  if (work.tasks.size() != graph.tasks.size()) {
    return fail(ErrorCode::kInvalidInput, "GPU work is given for {} tasks of {}", work.tasks.size(),
                graph.tasks.size());
  }
  for (std::size_t i = 0; i < work.tasks.size(); ++i) {
    if (!work.tasks[i]) continue;
    const std::string& label = graph.label(TaskId(i));
    if (const auto* kernel = std::get_if<KernelTask>(&*work.tasks[i])) {
      if (kernel->kernel >= work.kernels.size()) {
        return fail(ErrorCode::kInvalidInput, "task {}: kernel {} of {}", label, kernel->kernel, work.kernels.size());
      }
      if (auto fits = check_fits(work.kernels[kernel->kernel], work.profile); !fits) {
        return in_context(fmt::format("task {}", label), fits.error());
      }
    } else if (std::get<CopyTask>(*work.tasks[i]).copy >= work.copies.size()) {
      return fail(ErrorCode::kInvalidInput, "task {}: copy {} of {}", label, std::get<CopyTask>(*work.tasks[i]).copy,
                  work.copies.size());
    }
  }
  return {};
}

BusiestThroughput busiest_throughput(const GpuWork& work, const TaskGraph& graph) {
  std::map<std::int32_t, std::array<double, kThroughputs>> busy_of;  // by device
  for (std::size_t i = 0; i < work.tasks.size(); ++i) {
    const auto* kernel = work.tasks[i] ? std::get_if<KernelTask>(&*work.tasks[i]) : nullptr;
    if (kernel == nullptr) continue;
    auto& busy = busy_of[graph.resources[to_index(graph.tasks[i].resource)].device];
    const KernelDemand& demand = work.kernels[kernel->kernel];
    for (std::size_t k = 0; k < kThroughputs; ++k) {
      const int shares = k < kSmThroughputs ? work.profile.sms : 1;
      busy[k] += demand.work_ns[k] * static_cast<double>(demand.blocks) / shares;
    }
  }
  BusiestThroughput busiest;
  for (const auto& [device, busy] : busy_of) {
    const auto most = std::max_element(busy.begin(), busy.end());
    const Nanoseconds time(static_cast<std::int64_t>(*most));
    if (time > busiest.time) busiest = {static_cast<Throughput>(most - busy.begin()), time};
  }
  return busiest;
}

}  // namespace cohort
