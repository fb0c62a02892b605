#include "view/chart/chart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string_view>

#include "base/csv.hpp"
#include "base/units.hpp"

namespace cohort {
namespace {

/// Whole numbers that fit; what is beyond comes from a broken file and is only kept from overflowing.
std::int64_t whole(double value) {
  constexpr double kMost = 9e18;
  return static_cast<std::int64_t>(std::llround(std::clamp(value, -kMost, kMost)));
}

std::string format_number(double value) {
  if (value == std::round(value) && std::abs(value) < 1e15) {
    std::string digits = fmt::format("{}", whole(std::abs(value)));
    for (std::size_t at = digits.size(); at > 3;) digits.insert(at -= 3, ",");
    return value < 0 ? "-" + digits : digits;
  }
  return fmt::format("{:.4g}", value);
}

std::string format_rate(double value) {
  constexpr std::array<std::string_view, 5> kPrefixes = {"", " k", " M", " G", " T"};
  std::size_t prefix = 0;
  constexpr double kRoundsTo1000 = 999.5;  // with three digits
  while (std::abs(value) >= kRoundsTo1000 && prefix + 1 < kPrefixes.size()) {
    value /= 1000;
    ++prefix;
  }
  return fmt::format("{:.3g}{}/s", value, kPrefixes[prefix]);
}

/// Enough digits to read the same number back; whole numbers without a fraction.
std::string csv_number(double value) {
  if (!std::isfinite(value)) return "";
  if (value == std::round(value) && std::abs(value) < 9e15) return fmt::format("{}", whole(value));
  return fmt::format("{}", value);
}

std::string position_text(const ChartAxis& axis, double value) {
  const auto index = static_cast<std::size_t>(std::max(0.0, std::round(value)));
  if (!axis.categories.empty() && index < axis.categories.size()) return axis.categories[index];
  return format_value(axis.unit, value);
}

std::string unit_suffix(AxisUnit unit) {
  switch (unit) {
    case AxisUnit::kTime:
      return " (ns)";
    case AxisUnit::kBytes:
      return " (bytes)";
    default:
      return "";
  }
}

std::string column(const ChartAxis& axis, std::string_view otherwise) {
  return (axis.label.empty() ? std::string(otherwise) : axis.label) + unit_suffix(axis.unit);
}

}  // namespace

bool Chart::empty() const {
  return std::all_of(series.begin(), series.end(), [](const ChartSeries& one) { return one.points.empty(); });
}

std::string format_value(AxisUnit unit, double value) {
  if (!std::isfinite(value)) return "unknown";
  switch (unit) {
    case AxisUnit::kNumber:
      return format_number(value);
    case AxisUnit::kTime:
      return format_time(Nanoseconds(whole(value)));
    case AxisUnit::kBytes:
      return format_bytes({whole(value)});
    case AxisUnit::kRatio:
      return fmt::format("{:.2f}x", value);
    case AxisUnit::kRate:
      return format_rate(value);
    case AxisUnit::kFraction:
      return fmt::format("{:.1f}%", 100 * value);
  }
  return {};
}

std::vector<std::string> describe(const Chart& chart, ChartPointId id) {
  if (id.series >= chart.series.size() || id.index >= chart.series[id.series].points.size()) return {};
  const ChartSeries& series = chart.series[id.series];
  const ChartPoint& point = series.points[id.index];
  std::vector<std::string> lines;
  if (!point.label.empty()) lines.push_back(point.label);
  if (!series.name.empty() && series.name != point.label) lines.push_back(series.name);
  const auto named = [](const ChartAxis& axis, const std::string& value) {
    return axis.label.empty() ? value : axis.label + " " + value;
  };
  lines.push_back(named(chart.x, position_text(chart.x, point.x)));
  std::string value = named(chart.y, format_value(chart.y.unit, point.y));
  if (point.range) {
    value += fmt::format(" ({} to {})", format_value(chart.y.unit, point.range->low),
                         format_value(chart.y.unit, point.range->high));
  }
  lines.push_back(std::move(value));
  return lines;
}

std::string to_csv(const Chart& chart) {
  const bool named = !chart.x.categories.empty();
  const std::string y = column(chart.y, "y");
  std::string out = fmt::format("series,label,{},{},{},{}\r\n", csv_field(column(chart.x, "x")), csv_field(y),
                                csv_field(y + " low"), csv_field(y + " high"));
  for (const ChartSeries& series : chart.series) {
    for (const ChartPoint& point : series.points) {
      out += fmt::format("{},{},{},{},{},{}\r\n", csv_field(series.name), csv_field(point.label),
                         named ? csv_field(position_text(chart.x, point.x)) : csv_number(point.x), csv_number(point.y),
                         point.range ? csv_number(point.range->low) : "",
                         point.range ? csv_number(point.range->high) : "");
    }
  }
  return out;
}

}  // namespace cohort
