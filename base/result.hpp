#pragma once

#include <fmt/format.h>

#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace cohort {

/// What kind of failure a message describes. The values are the exit codes of the command line.
enum class ErrorCode {
  kNegativeAnswer = 1,
  kUsage = 2,
  kInvalidInput = 3,
  kDeviceMissing = 4,
  kDoesNotFit = 5,
  kRecordingIncomplete = 6,
  kInterrupted = 130,
};

/// A failure a user can act on: the message names the file, op, tensor or field and says what would
/// be right.
struct Error {
  ErrorCode code;
  std::string message;
};

template <class T>
using Result = tl::expected<T, Error>;

/// Builds the error branch of a Result from a format string.
template <class... Args>
tl::unexpected<Error> fail(ErrorCode code, fmt::format_string<Args...> format, Args&&... args) {
  return tl::unexpected<Error>(Error{code, fmt::format(format, std::forward<Args>(args)...)});
}

/// The same error with `context` ("plan.json") put before its message.
inline tl::unexpected<Error> in_context(std::string_view context, const Error& error) {
  return tl::unexpected<Error>(Error{error.code, fmt::format("{}: {}", context, error.message)});
}

}  // namespace cohort

#define COHORT_CONCAT_(a, b) a##b
#define COHORT_CONCAT(a, b) COHORT_CONCAT_(a, b)

/// Declares `declaration` from a Result expression, or returns its error from the function.
/// The one macro of the code base: without it every call that can fail takes three lines.
#define COHORT_TRY(declaration, ...) COHORT_TRY_(COHORT_CONCAT(result_, __LINE__), declaration, __VA_ARGS__)
#define COHORT_TRY_(result, declaration, ...)                                     \
  auto result = (__VA_ARGS__);                                                    \
  if (!result) return tl::unexpected<::cohort::Error>(std::move(result).error()); \
  declaration = std::move(*result)

/// The same for a Result<void>.
#define COHORT_CHECK(...) \
  if (auto result_ = (__VA_ARGS__); !result_) return tl::unexpected<::cohort::Error>(std::move(result_).error())
