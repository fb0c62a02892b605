#include "tracer/file/spelling.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string>

#include "base/text.hpp"

namespace cohort {
namespace {

struct Spelled {
  std::string_view given;  ///< in lower case
  std::string_view usual;
};

constexpr std::array<Spelled, 36> kSpelledCategories = {{
    {"kernel", "kernel"},
    {"concurrent_kernel", "kernel"},
    {"gpu_kernel", "kernel"},
    {"hip_kernel", "kernel"},
    {"kernel_dispatch", "kernel"},
    {"memcpy", "gpu_memcpy"},
    {"gpu_memcpy", "gpu_memcpy"},
    {"hip_memcpy", "gpu_memcpy"},
    {"memory_copy", "gpu_memcpy"},
    {"memset", "gpu_memset"},
    {"gpu_memset", "gpu_memset"},
    {"hip_memset", "gpu_memset"},
    {"runtime", "cuda_runtime"},
    {"cuda_runtime", "cuda_runtime"},
    {"hip_runtime", "cuda_runtime"},
    {"hip_api", "cuda_runtime"},
    {"hip_runtime_api", "cuda_runtime"},
    {"xpu_runtime", "cuda_runtime"},
    {"privateuse1_runtime", "cuda_runtime"},
    {"driver", "cuda_driver"},
    {"cuda_driver", "cuda_driver"},
    {"hip_driver", "cuda_driver"},
    {"hsa_api", "cuda_driver"},
    {"operator", "cpu_op"},
    {"cpu_op", "cpu_op"},
    {"user_annotation", "user_annotation"},
    {"user annotation", "user_annotation"},
    {"gpu_user_annotation", "gpu_user_annotation"},
    {"python_function", "python_function"},
    {"python function", "python_function"},
    {"cuda_sync", "cuda_sync"},
    {"synchronization", "cuda_sync"},
    {"cuda_event", "cuda_event"},
    {"overhead", "overhead"},
    {"async_cpu_to_gpu", "ac2g"},
    {"ac2g", "ac2g"},
}};

struct SpelledKey {
  std::string_view given;
  std::string_view usual;
  bool is_id;
  bool is_stream;
};

constexpr std::array<SpelledKey, 19> kKeys = {{
    {"external id", "External id", true, false},
    {"external_id", "External id", true, false},
    {"correlation", "correlation", true, false},
    {"correlation id", "correlation", true, false},
    {"correlation_id", "correlation", true, false},
    {"correlationid", "correlation", true, false},
    {"stream", "stream", true, true},
    {"stream id", "stream", true, true},
    {"wait_on_stream", "wait_on_stream", true, true},
    {"device", "device", true, false},
    {"context", "context", true, false},
    {"context id", "context", true, false},
    {"graph node id", "graph node id", true, false},
    {"graph_node_id", "graph node id", true, false},
    {"graphnodeid", "graph node id", true, false},
    {"graph id", "graph id", true, false},
    {"graph_id", "graph id", true, false},
    {"registers per thread", "registers per thread", true, false},
    {"shared memory", "shared memory", true, false},
}};

std::optional<std::int64_t> whole_number_in(std::string_view text) {
  const char* const last = text.data() + text.size();
  std::int64_t number = 0;
  if (const auto [end, error] = std::from_chars(text.data(), last, number); error == std::errc{} && end == last)
    return number;
  std::uint64_t large = 0;  // kept bit by bit
  const auto [end, error] = std::from_chars(text.data(), last, large);
  if (error != std::errc{} || end != last) return std::nullopt;
  return static_cast<std::int64_t>(large);
}

template <class Value>
std::optional<Value>& slot(std::vector<std::optional<Value>>& slots, StringId id) {
  if (to_index(id) >= slots.size()) slots.resize(to_index(id) + 1);
  return slots[to_index(id)];
}

}  // namespace

StringId Spelling::category(StringId given) {
  auto& known = slot(categories_, given);
  if (known) return *known;
  const std::string text = to_lower(strings_[given]);
  const auto* const found = std::find_if(kSpelledCategories.begin(), kSpelledCategories.end(),
                                         [&](const Spelled& entry) { return entry.given == text; });
  known = found == kSpelledCategories.end() ? given : strings_.intern(found->usual);
  return *known;
}

const Spelling::Key& Spelling::key(StringId given) {
  auto& known = slot(keys_, given);
  if (known) return *known;
  const std::string text = to_lower(strings_[given]);
  const auto* const found =
      std::find_if(kKeys.begin(), kKeys.end(), [&](const SpelledKey& entry) { return entry.given == text; });
  known = found == kKeys.end() ? Key{given, false, false}
                               : Key{strings_.intern(found->usual), found->is_id, found->is_stream};
  return *known;
}

void Spelling::argument(std::pair<StringId, ArgValue>& arg) {
  const Key& known = key(arg.first);
  arg.first = known.name;
  if (!known.is_id) return;
  if (const auto* text = std::get_if<StringId>(&arg.second)) {
    if (const auto number = whole_number_in(strings_[*text])) arg.second = *number;
  }
  if (const auto* real = std::get_if<double>(&arg.second)) {
    if (const auto number = whole_number(*real)) arg.second = *number;
  }
  auto* number = std::get_if<std::int64_t>(&arg.second);
  if (known.is_stream && number != nullptr) *number = signed_stream(*number);
}

std::optional<std::int64_t> whole_number(double number) {
  constexpr double kMostExact = 9007199254740992.0;  // 2^53
  if (!(std::abs(number) <= kMostExact) || std::trunc(number) != number) return std::nullopt;
  return static_cast<std::int64_t>(number);
}

std::optional<std::int64_t> stream_number(std::string_view thread) {
  constexpr std::string_view kWord = "stream";
  if (to_lower(thread.substr(0, kWord.size())) != kWord) return std::nullopt;
  thread.remove_prefix(kWord.size());
  while (!thread.empty() && (thread.front() == ' ' || thread.front() == '#')) thread.remove_prefix(1);
  const auto number = whole_number_in(thread);
  return number ? std::optional(signed_stream(*number)) : std::nullopt;
}

std::int64_t signed_stream(std::int64_t stream) { return stream == 4'294'967'295 ? -1 : stream; }

}  // namespace cohort
