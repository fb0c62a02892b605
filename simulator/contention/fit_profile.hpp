#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "simulator/contention/gpu_profile.hpp"
#include "tracer/trace.hpp"

namespace cohort {

/// How far the fitted model is from one measurement.
struct FitResidual {
  std::string what;
  Nanoseconds measured{};
  Nanoseconds predicted{};
  bool held_out = false;  ///< the fit did not use it
  [[nodiscard]] double relative_error() const;
};

/// How far a fitted model is from several measurements, signs aside.
struct FitSpread {
  std::size_t count = 0;
  double median = 0;  ///< relative errors
  double worst = 0;
};

/// Of those residuals that were held out, or of those that were not.
FitSpread spread_of(const std::vector<FitResidual>& residuals, bool held_out);

/// At most so many residuals, those with the largest relative errors first.
std::vector<FitResidual> worst_of(std::vector<FitResidual> residuals, std::size_t most);

struct GpuFit {
  GpuProfile profile;
  std::vector<FitResidual> residuals;  ///< in the order of the records
  std::vector<std::string> kept;       ///< fields that no record determines, as they were in the starting profile
};

/// A device profile from a recording of microbenchmarks (tracer/microbenchmark_record.hpp). What no record determines
/// stays as in `start`, usually the published profile, and is named.
///
///   make-up          multiprocessors, memory and L2 as the recording's device says
///   launch costs     straight lines over numbers of launches and of graph nodes, chains and branches apart; a kernel's
///                    fixed part from spin, at most what an empty node takes; the lock from launches of several
///                    threads, as the least that one of them takes
///   bandwidths       copy over numbers of SMs: one SM's port where it grows in proportion, DRAM where it is flat; the
///                    highest rate of each chain; lines over sizes of copies
///   dispatch rule    whichever of the two explains the spin kernels on several streams better; the cap of resident
///                    grids likewise
///   slowdown         of each throughput, from the pairs that both use most of all, but not up, and that are not held
///                    out; graphs with crossing edges are held out as well
///
/// Errors: kInvalidInput where the trace holds no microbenchmark at all.
Result<GpuFit> fit_gpu_profile(const Trace& trace, const GpuProfile& start);

}  // namespace cohort
