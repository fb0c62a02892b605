#include "executor/host/core_binding.hpp"

#include <sched.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <iterator>

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

void bind_to_core(int core) { bind_to_cores(std::array{core}); }

void bind_to_cores(std::span<const int> cores) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int core : cores) CPU_SET(static_cast<std::size_t>(core), &set);
  (void)::sched_setaffinity(0, sizeof set, &set);
}

std::vector<int> launch_cores(int threads, std::span<const int> usable) {
  const auto wanted = static_cast<std::size_t>(threads) + 1;
  if (usable.size() < wanted) return {};
  return {usable.begin(), usable.begin() + static_cast<std::ptrdiff_t>(wanted)};
}

std::vector<int> cores_beside(std::span<const int> taken, std::span<const int> usable) {
  std::vector<int> rest;
  std::copy_if(usable.begin(), usable.end(), std::back_inserter(rest),
               [&](int core) { return std::find(taken.begin(), taken.end(), core) == taken.end(); });
  if (rest.size() == usable.size()) rest.clear();
  return rest;
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
