#include "view/chart/axis_scale.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>

namespace cohort {
namespace {

/// How the ticks of one axis are written: all in the same unit.
struct TickUnit {
  double size = 1;  ///< of the unit, in the axis' own
  std::string suffix;
};

TickUnit largest_within(double value, std::span<const std::pair<double, std::string_view>> units) {
  TickUnit unit{units.front().first, std::string(units.front().second)};
  for (const auto& [size, suffix] : units) {
    if (std::abs(value) >= size) unit = {size, std::string(suffix)};
  }
  return unit;
}

TickUnit unit_for(AxisUnit unit, double largest) {
  using Units = std::pair<double, std::string_view>;
  constexpr std::array<Units, 4> kTimes = {{{1, " ns"}, {1e3, " us"}, {1e6, " ms"}, {1e9, " s"}}};
  constexpr std::array<Units, 5> kBytes = {
      {{1, " B"}, {0x1p10, " KiB"}, {0x1p20, " MiB"}, {0x1p30, " GiB"}, {0x1p40, " TiB"}}};
  constexpr std::array<Units, 4> kRates = {{{1, "/s"}, {1e3, " k/s"}, {1e6, " M/s"}, {1e9, " G/s"}}};
  switch (unit) {
    case AxisUnit::kTime:
      return largest_within(largest, kTimes);
    case AxisUnit::kBytes:
      return largest_within(largest, kBytes);
    case AxisUnit::kRate:
      return largest_within(largest, kRates);
    case AxisUnit::kRatio:
      return {1, "x"};
    case AxisUnit::kFraction:
      return {0.01, "%"};
    case AxisUnit::kNumber:
      break;
  }
  return {};
}

/// `step`: between ticks, which says how many decimals there are.
std::string tick_text(AxisUnit unit, double value, double step, double largest) {
  const TickUnit in = unit_for(unit, largest);
  const double shown = value / in.size;
  if (shown == 0) return "0";
  if (step / in.size < 1e-6) return fmt::format("{:.4g}{}", shown, in.suffix);
  int decimals = 0;
  for (double rest = step / in.size; decimals < 6 && std::abs(rest - std::round(rest)) > 1e-6 * rest; rest *= 10)
    ++decimals;
  if (unit == AxisUnit::kNumber && decimals == 0) return format_value(unit, std::round(shown));
  return fmt::format("{:.{}f}{}", shown, decimals, in.suffix);
}

/// The smallest round step with which at most `most` of them make up the span: 1, 2 or 5 times a power of ten, of bytes
/// powers of two or such a part of the unit they are written in.
double round_step(AxisUnit unit, double low, double high, std::size_t most) {
  double least = (high - low) / static_cast<double>(most);
  double written_in = 1;
  if (unit == AxisUnit::kBytes) {
    written_in = unit_for(unit, std::max(std::abs(low), std::abs(high))).size;
    const double step = std::max(1.0, std::exp2(std::ceil(std::log2(least) - 1e-9)));
    if (written_in == 1 || step >= written_in) return step;
    least /= written_in;
  }
  const double power = std::pow(10, std::floor(std::log10(least)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= least * (1 - 1e-9)) return factor * power * written_in;
  }
  return 10 * power * written_in;
}

std::vector<ChartTick> linear_ticks(AxisUnit unit, double low, double high, double step) {
  std::vector<ChartTick> ticks;
  const double largest = std::max(std::abs(low), std::abs(high));
  const double first = std::ceil(low / step - 1e-9);
  for (double i = first; i * step <= high + 1e-9 * step; ++i) {
    ticks.push_back({i * step, tick_text(unit, i * step, step, largest)});
  }
  return ticks;
}

/// All of base^k * factor between the ends.
std::vector<ChartTick> power_ticks(const ChartAxis& axis, double low, double high, std::span<const double> factors) {
  const double base = axis.scale == AxisScale::kLog2 ? 2 : 10;
  std::vector<ChartTick> ticks;
  for (double k = std::floor(std::log(low) / std::log(base)); std::pow(base, k) <= high; ++k) {
    for (const double factor : factors) {
      const double value = std::pow(base, k) * factor;
      if (value < low * (1 - 1e-9) || value > high * (1 + 1e-9)) continue;
      ticks.push_back({value, tick_text(axis.unit, value, value, value)});
    }
  }
  return ticks;
}

}  // namespace

bool can_show(const ChartAxis& axis, double value) {
  return std::isfinite(value) && (axis.scale == AxisScale::kLinear || value > 0);
}

AxisMap::AxisMap(const ChartAxis& axis, std::span<const double> values, const Wishes& wishes)
    : scale_(axis.categories.empty() ? axis.scale : AxisScale::kLinear) {
  if (!axis.categories.empty()) {
    set_categories(axis);
    return;
  }
  bool any = false;
  for (const double value : values) {
    if (!can_show(axis, value)) continue;
    low_ = any ? std::min(low_, value) : value;
    high_ = any ? std::max(high_, value) : value;
    any = true;
  }
  const bool logarithmic = scale_ != AxisScale::kLinear;
  if (!any) {
    low_ = logarithmic ? 1 : 0;
    high_ = logarithmic ? 10 : 1;
  }
  if (logarithmic) {
    set_logarithmic(axis, std::max<std::size_t>(wishes.most_ticks, 2));
  } else {
    set_linear(axis, wishes);
  }
}

void AxisMap::set_categories(const ChartAxis& axis) {
  low_ = -0.5;
  high_ = static_cast<double>(axis.categories.size()) - 0.5;
  for (std::size_t i = 0; i < axis.categories.size(); ++i)
    ticks_.push_back({static_cast<double>(i), axis.categories[i]});
}

void AxisMap::set_linear(const ChartAxis& axis, const Wishes& wishes) {
  constexpr double kRoom = 0.03;
  const bool positive = low_ >= 0;
  if (wishes.from_zero) {
    low_ = std::min(low_, 0.0);
    high_ = std::max(high_, 0.0);
  }
  if (high_ - low_ <= 1e-12 * std::max(std::abs(low_), std::abs(high_))) {
    const double half = low_ == 0 ? 1 : 0.1 * std::abs(low_);
    low_ -= half;
    high_ += half;
  }
  const double room = kRoom * (high_ - low_);
  if (low_ != 0) low_ -= room;
  if (high_ != 0) high_ += room;
  if (positive) low_ = std::max(low_, 0.0);
  const double step = round_step(axis.unit, low_, high_, std::max<std::size_t>(wishes.most_ticks, 2));
  // What lies only just beyond a tick needs no whole step more.
  constexpr double kJustBeyond = 0.15;
  const double low_tick = std::floor(low_ / step + 1e-9) * step;
  const double high_tick = std::ceil(high_ / step - 1e-9) * step;
  if (wishes.round_ends && low_ - low_tick < (1 - kJustBeyond) * step) low_ = low_tick;
  if (wishes.round_ends && high_tick - high_ < (1 - kJustBeyond) * step) high_ = high_tick;
  ticks_ = linear_ticks(axis.unit, low_, high_, step);
}

void AxisMap::set_logarithmic(const ChartAxis& axis, std::size_t most_ticks) {
  constexpr double kRoom = 0.04;
  const double room = std::max(std::pow(high_ / low_, kRoom), 1.08);
  low_ /= room;
  high_ *= room;
  constexpr std::array<double, 3> kFactors = {1, 2, 5};
  const std::span<const double> powers = std::span(kFactors).first(1);
  ticks_ = power_ticks(axis, low_, high_, powers);
  if (ticks_.size() < 3 && axis.scale == AxisScale::kLog10) ticks_ = power_ticks(axis, low_, high_, kFactors);
  if (ticks_.size() < 2) {
    ticks_ = linear_ticks(axis.unit, low_, high_, round_step(axis.unit, low_, high_, most_ticks));
  }
  if (ticks_.size() <= most_ticks) return;
  const std::size_t each = (ticks_.size() + most_ticks - 1) / most_ticks;
  std::vector<ChartTick> fewer;
  for (std::size_t i = 0; i < ticks_.size(); i += each) fewer.push_back(std::move(ticks_[i]));
  ticks_ = std::move(fewer);
}

double AxisMap::at(double value) const {
  if (scale_ == AxisScale::kLinear) return (value - low_) / (high_ - low_);
  return std::log(value / low_) / std::log(high_ / low_);
}

bool is_near(const ChartAxis& axis, double limit, std::span<const double> values) {
  if (!can_show(axis, limit)) return false;
  double low = 0;
  double high = 0;
  bool any = false;
  for (const double value : values) {
    if (!can_show(axis, value)) continue;
    low = any ? std::min(low, value) : value;
    high = any ? std::max(high, value) : value;
    any = true;
  }
  if (!any) return true;
  if (axis.scale != AxisScale::kLinear) return limit >= low / 8 && limit <= high * 8;
  const double size = std::max({high - low, std::abs(low), std::abs(high)});
  return limit >= low - size && limit <= high + size;
}

}  // namespace cohort
