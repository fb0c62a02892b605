#pragma once

#include <cstddef>
#include <type_traits>

namespace cohort {

/// Position that a typed id (`enum class FooId : std::uint32_t`) stands for in its vector.
template <class Id>
constexpr std::size_t to_index(Id id) {
  static_assert(std::is_enum_v<Id>);
  return static_cast<std::size_t>(id);
}

}  // namespace cohort
