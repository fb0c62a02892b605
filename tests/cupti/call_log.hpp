#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

// What the stand-ins for NVIDIA's libraries were called with, a line a call, in the file that $FAKE_CALL_LOG names:
// appended, so that it also tells what a program did that has ended.

namespace cohort {

inline constexpr const char* kCallLogVariable = "FAKE_CALL_LOG";

/// Does nothing where the variable is not set.
void log_call(std::string line);
void log_call(const char* call, std::uint64_t a);
void log_call(const char* call, std::uint64_t a, std::uint64_t b);

/// The lines of a log; none where there is no file.
std::vector<std::string> calls_in(const std::filesystem::path& file);
std::ptrdiff_t count_of(std::string_view call, const std::vector<std::string>& calls);
/// Whether `wanted` stand among the calls in this order; others may come between.
bool in_order(const std::vector<std::string>& calls, const std::vector<std::string>& wanted);

}  // namespace cohort
