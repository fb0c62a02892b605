#pragma once

#include <vector>

#include "base/cancel.hpp"
#include "executor/backend.hpp"
#include "executor/profile/probes.hpp"
#include "models/model.hpp"
#include "tracer/trace.hpp"

namespace cohort {

struct BesideOptions {
  double share = 0.8;  ///< of the model's time that the ops measured make up
  int most_ops = 6;
  int repetitions = 5;                                ///< of each measurement; raw
  Nanoseconds length = std::chrono::milliseconds(2);  ///< about how long each side runs
  int most_copies = 64;
  Precision precision = Precision::kFloat32;
  Layout layout = Layout::kNhwc;
  Bytes most_bytes{std::int64_t{256} << 20};  ///< of all copies of an op together
};

/// Times the ops that take most of a model's time beside themselves, each other, and probes, and appends microbenchmark
/// records (tracer/microbenchmark_record.hpp) on a track "ops beside others". `kernel` is an op's signature; every
/// instance repeats the op, `launches` times in all, on copies with weights and buffers of their own, replayed as one
/// graph, and times are those of one repetition:
///
///   kReplicas   1, 2 and 4 instances of an op; a probe alone, with its launch and work
///   kPair       an op beside an op ("held out": every other one), an op beside a probe right behind the probe alone
///
/// Two ops run for about the same time; those of which one takes longer than all copies of the other are left out.
/// On a CPU no more at a time than it has cores. `probes` may be null. Errors: those of lower(), Backend::load(), the
/// steps and the probes; kInterrupted.
Result<void> measure_beside(Backend& backend, const LoadedModel& loaded, const BesideOptions& options,
                            ProbeKernels* probes, const CancelToken& cancel, Trace& trace);

}  // namespace cohort
