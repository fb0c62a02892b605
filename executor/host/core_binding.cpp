#include "executor/host/core_binding.hpp"

#include <sched.h>

#include <cstdlib>

namespace cohort {

std::vector<int> usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cores;
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return {0};
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(static_cast<std::size_t>(core), &set)) cores.push_back(core);
  }
  return cores;
}

std::vector<int> cores_to_bind() {
  return std::getenv("OMP_PROC_BIND") == nullptr ? usable_cores() : std::vector<int>{};
}

void bind_to_core(int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<std::size_t>(core), &set);
  (void)::sched_setaffinity(0, sizeof set, &set);
}

void move_to_core(int core) {
  if (::sched_getcpu() == core) return;
  cpu_set_t before;
  CPU_ZERO(&before);
  if (::sched_getaffinity(0, sizeof before, &before) != 0) return;
  bind_to_core(core);
  (void)::sched_setaffinity(0, sizeof before, &before);
}

}  // namespace cohort
