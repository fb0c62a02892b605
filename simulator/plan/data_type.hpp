#pragma once

#include <cstdint>

namespace cohort {

/// How elements lie in memory. Whole numbers take the 32 bits of kFloat32. Sources of GPU kernels include this.
enum class DataType : std::uint8_t { kFloat32, kBfloat16, kFloat16 };

constexpr std::int64_t element_bytes(DataType type) { return type == DataType::kFloat32 ? 4 : 2; }

}  // namespace cohort
