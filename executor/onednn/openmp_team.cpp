#include "executor/onednn/openmp_team.hpp"

#include <omp.h>

#include <cstddef>

#include "executor/host/core_binding.hpp"

namespace cohort::onednn {
namespace {

void bind_helpers(int threads, std::span<const int> cores) {
#pragma omp parallel num_threads(threads)
  {
    const auto helper = static_cast<std::size_t>(omp_get_thread_num());
    if (helper > 0 && helper < cores.size()) bind_to_core(cores[helper]);
  }
}

/// Which of a thread's helpers are bound. libgomp keeps them from one parallel region to the next, except that a
/// smaller team ends the rest; a team of one leaves them as they are.
struct BoundTeam {
  int threads = 1;
  int core = -1;  ///< the caller's
};

}  // namespace

void use_team(int threads, std::span<const int> cores) {
  thread_local BoundTeam bound;
  if (threads > 1) {
    const int core = cores.empty() ? -1 : cores[0];
    if (core >= 0 && (threads > bound.threads || core != bound.core)) bind_helpers(threads, cores);
    bound = {threads, core};
  }
  omp_set_num_threads(threads);
}

}  // namespace cohort::onednn
