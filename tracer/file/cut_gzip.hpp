#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "tracer/file/content.hpp"

namespace cohort {

/// What gzip data that is damaged or cut short holds up to there; absent where that is nothing or more than
/// `most_bytes`.
std::optional<PaddedBytes> inflated_part(std::string_view content, std::size_t most_bytes);

}  // namespace cohort
