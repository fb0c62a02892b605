#include "simulator/what_if/recorded_memory.hpp"

#include <algorithm>
#include <map>

#include "tracer/memory_counter.hpp"

namespace cohort {

std::optional<RecordedMemory> recorded_memory(const Trace& trace, const std::optional<TimeWindow>& window) {
  struct Range {
    std::size_t records = 0;
    double least = 0;
    double most = 0;
  };
  std::map<StringId, Range> devices;
  for (const Counter& counter : trace.counters) {
    if (trace.strings[counter.name].substr(0, kMemoryCounter.size()) != kMemoryCounter) continue;
    if (window && !window->contains(counter.time)) continue;
    Range& range = devices[counter.name];
    range.least = range.records == 0 ? counter.value : std::min(range.least, counter.value);
    range.most = range.records == 0 ? counter.value : std::max(range.most, counter.value);
    ++range.records;
  }
  const auto busiest = std::max_element(
      devices.begin(), devices.end(), [](const auto& a, const auto& b) { return a.second.records < b.second.records; });
  constexpr double kNoDevice = 1e15;  // a damaged counter
  if (busiest == devices.end() || busiest->second.least < 0 || busiest->second.most > kNoDevice) return std::nullopt;
  RecordedMemory memory;
  memory.kept = Bytes{static_cast<std::int64_t>(busiest->second.least)};
  memory.step = Bytes{static_cast<std::int64_t>(busiest->second.most)} - memory.kept;
  return memory;
}

}  // namespace cohort
