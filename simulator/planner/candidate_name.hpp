#pragma once

#include <string>
#include <string_view>

#include "simulator/planner/planner.hpp"

namespace cohort {

/// Whether a candidate of this name runs its members one after another. The name has more to it where several numbers
/// of members or minibatches were planned for: "one after another, 8 members".
inline bool is_one_after_another(std::string_view name) {
  return name == kOneAfterAnother || name.starts_with(std::string(kOneAfterAnother) + ", ");
}

}  // namespace cohort
