#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace cohort {

/// Values given once for several things together, or once for each of them: the value of the `index`-th.
template <class Value>
const Value& one_or_each(const std::vector<Value>& values, std::size_t index) {
  return values.size() == 1 ? values.front() : values[index];
}

/// Errors: kUsage unless an option's values are one, or one for each of `count` things; naming the option, how many
/// values there are and of how many things. `what` is one of them: "trace".
inline Result<void> check_one_or_each(std::string_view option, std::size_t values, std::size_t count,
                                      std::string_view what) {
  if (values == 1 || values == count) return {};
  if (count == 1) return fail(ErrorCode::kUsage, "{}: {} values for 1 {}; give one", option, values, what);
  return fail(ErrorCode::kUsage, "{}: {} values for {} {}s; give one for all, or one for each in their order", option,
              values, count, what);
}

}  // namespace cohort
