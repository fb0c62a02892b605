#include "simulator/costs/copy_times.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "simulator/plan/program.hpp"

namespace cohort {
namespace {

double number_at(std::string_view text) {
  double number = 0;
  for (; !text.empty() && is_digit(text.front()); text.remove_prefix(1)) number = number * 10 + (text.front() - '0');
  return number;
}

/// Behind the digits that begin at `first`.
std::size_t end_of_number(std::string_view text, std::size_t first) {
  return std::min(text.find_first_not_of("0123456789", first), text.size());
}

/// On the line through two neighbouring points; beyond the last two on theirs, before the first what that one says.
double along(const std::map<double, double>& points, double x) {
  auto above = points.lower_bound(x);
  if (points.size() == 1 || above == points.begin()) return points.begin()->second;
  if (above == points.end()) --above;
  const auto below = std::prev(above);
  return below->second + (above->second - below->second) * (x - below->first) / (above->first - below->first);
}

}  // namespace

CopySignature parse_copy(std::string_view signature) {
  signature.remove_prefix(std::min(kCopyPrefix.size(), signature.size()));
  const std::size_t end = std::min(signature.find(']'), signature.size() - 1) + 1;
  CopySignature copy{std::string(signature.substr(0, end)), 1, std::string(signature.substr(end)), 1};
  for (std::size_t i = 1; i < end; ++i) {
    if (is_digit(signature[i]) && !is_digit(signature[i - 1])) copy.elements *= number_at(signature.substr(i));
  }
  if (const std::size_t stack = copy.kind.find(kStackOf); stack != std::string::npos) {
    const std::size_t first = stack + kStackOf.size();
    copy.parts = std::max(1.0, number_at(std::string_view(copy.kind).substr(first)));
    copy.kind.erase(first, end_of_number(copy.kind, first) - first);
  }
  return copy;
}

std::string without_stack(std::string_view signature) {
  std::string text(signature);
  for (const std::string_view side : {" out of", " into"}) {
    const std::string stack = fmt::format("{}{}", side, kStackOf);
    const std::size_t found = text.find(stack);
    if (found != std::string::npos) text.erase(found, end_of_number(text, found + stack.size()) - found);
  }
  return text;
}

std::string copy_of_reshape(std::string_view signature) {
  constexpr std::string_view kReshape = "Reshape x";
  if (!signature.starts_with(kReshape)) return {};
  const std::string_view shape = signature.substr(kReshape.size(), signature.find(']') + 1 - kReshape.size());
  return std::string(kCopyPrefix) + std::string(shape);
}

void CopyTimes::add(const CopySignature& copy, double time) {
  if (copy.elements < 1) return;
  by_shape_[copy.shape][copy.parts] = time;
  by_elements_[copy.elements][copy.parts] = time;
}

/// A larger stack never takes less.
double CopyTimes::stacked_time(const ByParts& recorded, double parts) {
  const auto above = recorded.upper_bound(parts);
  const double smaller = above == recorded.begin() ? 0 : std::prev(above)->second;
  return std::max(along(recorded, parts), smaller);
}

std::optional<double> CopyTimes::time(const CopySignature& asked) const {
  if (const auto same = by_shape_.find(asked.shape); same != by_shape_.end())
    return stacked_time(same->second, asked.parts);
  if (by_elements_.empty()) return std::nullopt;
  std::map<double, double> times;
  for (const auto& [elements, recorded] : by_elements_) times[elements] = stacked_time(recorded, asked.parts);
  // What moves fewer or more bytes than any that was recorded is taken to move them as fast as the nearest.
  const auto& [fewest, shortest] = *times.begin();
  const auto& [most, longest] = *times.rbegin();
  if (asked.elements <= fewest) return shortest * asked.elements / fewest;
  if (asked.elements >= most) return longest * asked.elements / most;
  return along(times, asked.elements);
}

}  // namespace cohort
