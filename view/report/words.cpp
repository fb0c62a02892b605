#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/statistics.hpp"
#include "view/report/sections.hpp"

namespace cohort {

std::string members_text(const Plan& plan) {
  std::vector<std::pair<std::string, std::size_t>> counts;
  for (const Member& member : plan.members) {
    std::string model = std::filesystem::path(member.source.model).stem().string();
    const auto known =
        std::find_if(counts.begin(), counts.end(), [&](const auto& each) { return each.first == model; });
    if (known != counts.end()) {
      ++known->second;
    } else {
      counts.emplace_back(std::move(model), 1);
    }
  }
  std::vector<std::string> parts;
  parts.reserve(counts.size());
  for (const auto& [model, count] : counts) parts.push_back(fmt::format("{} {}", count, model));
  if (parts.size() > 3) return fmt::format("{} and {} more models", parts.front(), parts.size() - 1);
  return fmt::format("{}", fmt::join(parts, " and "));
}

std::string positions_text(const std::vector<std::uint32_t>& positions) {
  std::string text;
  for (std::size_t i = 0; i < positions.size();) {
    std::size_t last = i;
    while (last + 1 < positions.size() && positions[last + 1] == positions[last] + 1) ++last;
    if (!text.empty()) text += ", ";
    text += last == i ? fmt::format("{}", positions[i]) : fmt::format("{}-{}", positions[i], positions[last]);
    i = last + 1;
  }
  return text;
}

std::string ratio_text(double ratio) { return fmt::format("{:.2f}x", ratio); }

std::string error_text(std::optional<double> error) { return error ? fmt::format("{:+.1f}%", 100 * *error) : "-"; }

std::string wall_text(const WallTimes& wall) {
  if (wall.samples.empty()) return "not measured";
  std::string text = format_time(median(wall.samples));
  if (wall.samples.size() > 1) {
    const auto [least, most] = std::minmax_element(wall.samples.begin(), wall.samples.end());
    text += fmt::format(" (median of {}, {} to {})", wall.samples.size(), format_time(*least), format_time(*most));
  }
  if (wall.discarded > 0) text += fmt::format(", {} disturbed ones left out", wall.discarded);
  return text;
}

std::optional<Nanoseconds> median_of(const TraceInfo& info, std::string_view what) {
  const WallTimes* wall = info.wall(what);
  if (wall == nullptr || wall->samples.empty()) return std::nullopt;
  return median(wall->samples);
}

std::string device_text(const DeviceInfo& device) {
  std::string text = device.name.empty() ? device.id : device.name;
  if (text.empty()) return "an unknown device";
  if (!device.id.empty() && device.id != text) text += fmt::format(" ({})", device.id);
  if (device.kind == "cpu" && device.cores > 0)
    text += fmt::format(", {} core{}", device.cores, device.cores == 1 ? "" : "s");
  if (device.memory.value > 0) text += ", " + format_bytes(device.memory);
  return text;
}

}  // namespace cohort
