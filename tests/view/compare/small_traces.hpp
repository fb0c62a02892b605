#pragma once

#include <array>
#include <memory>
#include <string_view>
#include <vector>

#include "tracer/trace.hpp"

namespace cohort {

/// A slice of a small trace of a plan.
struct PlannedSlice {
  std::string_view task;
  std::int64_t iteration = 0;
  Nanoseconds start{};
  Nanoseconds duration{};
  std::string_view op = "conv1";
  std::string_view group = "convolutions";
};

inline Trace trace_of_plan(TraceKind kind, const std::vector<PlannedSlice>& slices, std::string_view plan = "{}") {
  Trace trace;
  trace.info.kind = kind;
  trace.info.plan = plan;
  const TrackId track = trace.add_track("cpu:0", "stream 0");
  for (const PlannedSlice& slice : slices) {
    const std::array<Trace::NamedArg, 4> args{
        {{kTaskArg, slice.task}, {"op", slice.op}, {"group", slice.group}, {kIterationArg, slice.iteration}}};
    trace.add_slice(track, slice.op, "task", slice.start, slice.duration, args);
  }
  return trace;
}

/// A slice of another tool's trace.
struct ForeignSlice {
  std::string_view name;
  Nanoseconds start{};
  Nanoseconds duration{};
  std::string_view category = "kernel";
  std::string_view op = {};
};

inline Trace foreign_trace(const std::vector<ForeignSlice>& slices) {
  Trace trace;
  const TrackId host = trace.add_track("python", "thread 1");
  const TrackId stream = trace.add_track("GPU 0", "stream 7");
  for (const ForeignSlice& slice : slices) {
    std::vector<Trace::NamedArg> args;
    if (!slice.op.empty()) args.emplace_back("op", slice.op);
    trace.add_slice(slice.category == "kernel" ? stream : host, slice.name, slice.category, slice.start, slice.duration,
                    args);
  }
  return trace;
}

inline std::shared_ptr<const Trace> shared(Trace trace) { return std::make_shared<const Trace>(std::move(trace)); }

}  // namespace cohort
