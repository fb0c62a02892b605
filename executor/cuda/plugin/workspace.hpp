#pragma once

#include <cstddef>
#include <cstdint>

#include "base/units.hpp"

/// Arena buffers begin at multiples of 64 bytes; cuBLAS and some of cuDNN's engines ask for 256.
namespace cohort::cuda {

inline constexpr std::uintptr_t kWorkspaceAlignment = 256;

/// What to ask of the arena, so that `size` bytes fit behind the first multiple of 256.
inline Bytes with_room_to_align(Bytes size) {
  return size.value > 0 ? size + Bytes{static_cast<std::int64_t>(kWorkspaceAlignment) - 64} : size;
}

inline std::byte* aligned_workspace(std::byte* workspace) {
  const auto address = reinterpret_cast<std::uintptr_t>(workspace);
  return workspace + (kWorkspaceAlignment - address % kWorkspaceAlignment) % kWorkspaceAlignment;
}

}  // namespace cohort::cuda
