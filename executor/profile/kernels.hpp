#pragma once

#include <string_view>
#include <vector>

#include "base/cancel.hpp"
#include "executor/backend.hpp"
#include "executor/device_tracer.hpp"
#include "executor/profile/op_case.hpp"
#include "models/model.hpp"
#include "simulator/plan/lower.hpp"
#include "tracer/trace.hpp"

namespace cohort {

/// A way to run an op of a model alone.
struct KernelCase {
  const Op* op = nullptr;
  OpCase op_case;
};

/// Picks of the ways to run an op of `model` the first that is among the cases, all of which ran; the first of all for
/// what has no case.
ChooseAlternative first_that_ran(const Model& model, Precision precision, const std::vector<KernelCase>& cases);

/// Wall times of a step of the whole model in a profile: without a trace, and with one. Where a tracer recorded, with
/// one is under that tracer, and there are times of just before it started, which these are to be held against.
inline constexpr std::string_view kWallUntraced = "model untraced";
inline constexpr std::string_view kWallTraced = "model traced";
inline constexpr std::string_view kWallBeforeTracing = "model before tracing";

/// Runs the cases and the whole model, in `layout`, again under a tracer and appends what the device did: kernels,
/// copies and memsets with the arguments that the tracer gives them (grid, block, registers, shared memory, ...), and
/// with signature, strategy, width, threads and algorithm of the op they are of, as profile records have them. Those of
/// the cases are on tracks "kernels of ops alone", those of the model on "kernels of the model"; "iteration" numbers
/// the runs. Of the last run of each, beside them: "calls of" the runtime and the driver, with flows to what they
/// launched, "synchronization of" streams and events with their ids, and the tool's own "overhead of". Ranges of NVTX's
/// are not recorded: each piece of work says what it is of. Stores what tracing costs: wall times kWallBeforeTracing,
/// and kWallTraced in place of those that were there. Where the tracer does not start, or it or a
/// step under it fails, nothing of that is kept, and the trace's setting kNotRecorded says why.
/// Errors: those of lower() and Backend::load(); kInterrupted.
Result<void> record_kernels(Backend& backend, const LoadedModel& loaded, Layout layout,
                            const std::vector<KernelCase>& cases, DeviceTracer& tracer, const CancelToken& cancel,
                            Trace& trace);

}  // namespace cohort
