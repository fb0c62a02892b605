#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/units.hpp"

namespace cohort {

/// A moment that the user named.
struct TimeMark {
  Nanoseconds time{};
  std::string name;
  friend bool operator==(const TimeMark&, const TimeMark&) = default;
};

/// Marks of a timeline, by time.
class TimeMarks {
 public:
  [[nodiscard]] std::span<const TimeMark> all() const { return marks_; }
  /// Adds one; without a name it gets the first free letter or number: "A", "B", ..., "Z", "27". Replaces the name of
  /// one at the same time. Gives its name.
  const std::string& add(Nanoseconds time, std::string name = {});
  bool remove(Nanoseconds time);
  bool rename(Nanoseconds time, std::string name);
  void clear() { marks_.clear(); }
  [[nodiscard]] std::optional<TimeMark> after(Nanoseconds time) const;
  [[nodiscard]] std::optional<TimeMark> before(Nanoseconds time) const;
  /// The nearest within `tolerance`.
  [[nodiscard]] std::optional<TimeMark> near(Nanoseconds time, Nanoseconds tolerance) const;

 private:
  std::vector<TimeMark> marks_;
};

}  // namespace cohort
