#pragma once

#include <cstdint>
#include <string_view>

namespace cohort::onednn {

/// Each of `count` indices, int32 by their bits, as an entry from 0 on of an axis of `extent`. Throws DeviceError,
/// which names `op`, where one is out of range.
void read_indices(std::string_view op, std::int64_t extent, const float* from, std::int64_t count, std::int64_t* to);

}  // namespace cohort::onednn
