#include "simulator/what_if/recording_doubts.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <functional>
#include <string_view>

#include "tracer/kernel_name.hpp"
#include "tracer/steps/cut.hpp"
#include "tracer/summary/gpu_summary.hpp"
#include "tracer/summary/shortcomings.hpp"

namespace cohort {
namespace {

bool bears_on(const Shortcoming& shortcoming, const RecordingUse& use) {
  if (shortcoming.severity == Severity::kNote) return false;
  switch (shortcoming.bearing) {
    case Bearing::kSharing:
      return use.side_by_side;
    case Bearing::kCollectives:
      return use.collectives;
    case Bearing::kOverlap:
      return use.overlap;
    case Bearing::kOrphans:
    case Bearing::kDevice:
      return false;
    case Bearing::kTimes:
      break;
  }
  return true;
}

/// Of CUDA's runtime and driver and of HIP: cudaMalloc, cuMemAllocHost_v2, hipHostMalloc, cudaFreeAsync, cuMemCreate.
bool manages_memory(std::string_view call) {
  constexpr std::array<std::string_view, 6> kParts = {"Malloc", "MemAlloc", "HostAlloc", "Free", "MemCreate", "MemMap"};
  return (call.starts_with("cu") || call.starts_with("hip")) &&
         std::any_of(kParts.begin(), kParts.end(),
                     [&](std::string_view part) { return call.find(part) != std::string_view::npos; });
}

Nanoseconds length_of_path(const RunFacts& facts) {
  Nanoseconds path{};
  for (const PathPart& part : facts.parts) path += part.time;
  return path;
}

double part_of_path(const RunFacts& facts, std::string_view what) {
  Nanoseconds time{};
  for (const PathPart& part : facts.parts) {
    if (part.what == what) time = part.time;
  }
  return time > Nanoseconds(0) ? seconds(time) / seconds(length_of_path(facts)) : 0;
}

/// Where tasks that `holds` for take more than a quarter of the path: their names, in order of that, and the part.
struct PathShare {
  std::vector<std::string> names;
  double part = 0;
};
std::optional<PathShare> much_of_path(const RunFacts& facts, const std::function<bool(const NamedTasks&)>& holds) {
  constexpr double kMuch = 0.25;
  const Nanoseconds path = length_of_path(facts);
  Nanoseconds sum{};
  PathShare share;
  for (const NamedTasks& tasks : facts.tasks) {
    if (tasks.on_path <= Nanoseconds(0) || !holds(tasks)) continue;
    sum += tasks.on_path;
    share.names.push_back(tasks.name);
  }
  share.part = path > Nanoseconds(0) ? seconds(sum) / seconds(path) : 0;
  return share.part > kMuch ? std::optional(std::move(share)) : std::nullopt;
}

}  // namespace

std::vector<Doubt> recording_doubts(const Trace& trace, const std::optional<TimeWindow>& window,
                                    const RecordingUse& use) {
  std::optional<GpuSummary> summary;
  if (window) {
    TraceStep step;
    step.window = *window;
    Trace part = cut(trace, step);
    part.info.dropped.clear();  // those of the whole file
    summary = summarize_gpu(part);
  } else {
    summary = summarize_gpu(trace);
  }
  if (!summary) return {};
  if (window) {
    for (Shortcoming& dropped : dropped_records(trace)) summary->shortcomings.push_back(std::move(dropped));
  }
  std::vector<Shortcoming>& all = summary->shortcomings;
  all.erase(std::remove_if(all.begin(), all.end(), [&](const Shortcoming& each) { return !bears_on(each, use); }),
            all.end());
  const bool low = summary->confidence() == "low";
  std::vector<Doubt> doubts;
  for (const Shortcoming& each : all) {
    doubts.push_back(
        {low || each.severity == Severity::kPrevents, fmt::format("the recording: {}: {}", each.what, each.effect)});
  }
  return doubts;
}

PathDoubts path_doubts(const RunFacts& facts) {
  PathDoubts doubts;
  const auto memory = much_of_path(facts, [](const NamedTasks& tasks) {
    return (tasks.kind == TaskKind::kCall || tasks.kind == TaskKind::kLaunch) && manages_memory(tasks.name);
  });
  if (memory) {
    doubts.memory = Doubt{
        true, fmt::format("{} take {:.0f}% of the critical path: how long they take depends on what the driver has "
                          "in stock, and how members' calls hold each other up there no trace of one shows",
                          fmt::join(memory->names, ", "), 100 * memory->part)};
  }
  const auto collectives = much_of_path(
      facts, [](const NamedTasks& tasks) { return tasks.kind == TaskKind::kKernel && is_collective(tasks.name); });
  if (collectives) {
    doubts.collectives = Doubt{
        true, fmt::format("collectives take {:.0f}% of the critical path: their times include waiting for devices that "
                          "were late in this run, and links that members share are not modelled",
                          100 * collectives->part)};
  }
  constexpr double kMostGaps = 0.5;
  if (const double part = part_of_path(facts, kLatenciesAndGaps); part > kMostGaps) {
    doubts.gaps = Doubt{true, fmt::format("gaps take {:.0f}% of the critical path: what was waited for in them was not "
                                          "recorded, nor whether members would wait at the same time",
                                          100 * part)};
  }
  return doubts;
}

}  // namespace cohort
