#include "view/timeline/marks.hpp"

#include <algorithm>

namespace cohort {
namespace {

bool earlier(const TimeMark& mark, Nanoseconds time) { return mark.time < time; }

}  // namespace

const std::string& TimeMarks::add(Nanoseconds time, std::string name) {
  if (name.empty()) {
    const auto is_free = [&](const std::string& wanted) {
      return std::none_of(marks_.begin(), marks_.end(), [&](const TimeMark& mark) { return mark.name == wanted; });
    };
    constexpr int kLetters = 26;
    for (int i = 0; name.empty(); ++i) {
      std::string wanted = i < kLetters ? std::string(1, static_cast<char>('A' + i)) : std::to_string(i + 1);
      if (is_free(wanted)) name = std::move(wanted);
    }
  }
  auto at = std::lower_bound(marks_.begin(), marks_.end(), time, earlier);
  if (at != marks_.end() && at->time == time) {
    at->name = std::move(name);
  } else {
    at = marks_.insert(at, {time, std::move(name)});
  }
  return at->name;
}

bool TimeMarks::remove(Nanoseconds time) {
  const auto at = std::lower_bound(marks_.begin(), marks_.end(), time, earlier);
  if (at == marks_.end() || at->time != time) return false;
  marks_.erase(at);
  return true;
}

bool TimeMarks::rename(Nanoseconds time, std::string name) {
  const auto at = std::lower_bound(marks_.begin(), marks_.end(), time, earlier);
  if (at == marks_.end() || at->time != time || name.empty()) return false;
  at->name = std::move(name);
  return true;
}

std::optional<TimeMark> TimeMarks::after(Nanoseconds time) const {
  const auto at = std::upper_bound(marks_.begin(), marks_.end(), time,
                                   [](Nanoseconds moment, const TimeMark& mark) { return moment < mark.time; });
  return at == marks_.end() ? std::nullopt : std::optional(*at);
}

std::optional<TimeMark> TimeMarks::before(Nanoseconds time) const {
  const auto at = std::lower_bound(marks_.begin(), marks_.end(), time, earlier);
  return at == marks_.begin() ? std::nullopt : std::optional(*(at - 1));
}

std::optional<TimeMark> TimeMarks::near(Nanoseconds time, Nanoseconds tolerance) const {
  const auto next = std::lower_bound(marks_.begin(), marks_.end(), time, earlier);
  std::optional<TimeMark> nearest;
  if (next != marks_.end() && next->time - time <= tolerance) nearest = *next;
  if (next != marks_.begin()) {
    const TimeMark& last = *(next - 1);
    const bool nearer = !nearest || time - last.time < nearest->time - time;
    if (time - last.time <= tolerance && nearer) nearest = last;
  }
  return nearest;
}

}  // namespace cohort
