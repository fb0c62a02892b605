#include "tracer/file/erase_slices.hpp"

#include <algorithm>
#include <optional>

namespace cohort {

void erase_slices(Trace& trace, std::vector<std::size_t> positions) {
  if (positions.empty()) return;
  std::sort(positions.begin(), positions.end());
  const auto position_now = [&](SliceId id) -> std::optional<SliceId> {
    const auto place = std::lower_bound(positions.begin(), positions.end(), to_index(id));
    if (place != positions.end() && *place == to_index(id)) return std::nullopt;
    return static_cast<SliceId>(to_index(id) - static_cast<std::size_t>(place - positions.begin()));
  };
  std::size_t flows = 0;
  for (const Flow& flow : trace.flows) {
    const auto from = position_now(flow.from);
    const auto to = position_now(flow.to);
    if (from && to) trace.flows[flows++] = {*from, *to, flow.name};
  }
  trace.flows.resize(flows);

  std::size_t slices = 0;
  auto next = positions.begin();
  for (std::size_t i = 0; i < trace.slices.size(); ++i) {
    if (next != positions.end() && *next == i) {
      ++next;
    } else {
      trace.slices[slices++] = trace.slices[i];
    }
  }
  trace.slices.resize(slices);
}

}  // namespace cohort
