#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tracer/cupti/spool.hpp"

namespace cohort::cupti {

enum class RangeCall { kOther, kPush, kPop };

/// What a call of NVTX's (CUPTI_CB_DOMAIN_NVTX) does to the ranges of its thread.
RangeCall range_call(std::uint32_t call);
/// The text of a range that `call` pushes; empty where it is of a form that is not read (wide characters,
/// registered strings). `parameters` are those of the call.
std::string range_text(std::uint32_t call, const void* parameters);

/// The label of what runs in a range. Ranges of Cohort's own executor are named after tasks, "0-3/fc1":
/// members and op; of any other range the text is the task.
Label label_of_range(std::string_view text);

}  // namespace cohort::cupti
