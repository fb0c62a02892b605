#include "tests/cupti/call_log.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

namespace cohort {

void log_call(std::string line) {
  const char* const file = std::getenv(kCallLogVariable);
  if (file == nullptr) return;
  const int descriptor = ::open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (descriptor < 0) return;
  line += '\n';
  [[maybe_unused]] const auto written = ::write(descriptor, line.data(), line.size());
  ::close(descriptor);
}

void log_call(const char* call, std::uint64_t a) { log_call(std::string(call) + " " + std::to_string(a)); }

void log_call(const char* call, std::uint64_t a, std::uint64_t b) {
  log_call(std::string(call) + " " + std::to_string(a) + " " + std::to_string(b));
}

std::vector<std::string> calls_in(const std::filesystem::path& file) {
  std::ifstream lines(file);
  std::vector<std::string> calls;
  for (std::string line; std::getline(lines, line);) calls.push_back(line);
  return calls;
}

std::ptrdiff_t count_of(std::string_view call, const std::vector<std::string>& calls) {
  return std::count(calls.begin(), calls.end(), call);
}

bool in_order(const std::vector<std::string>& calls, const std::vector<std::string>& wanted) {
  auto next = wanted.begin();
  for (const std::string& call : calls) {
    if (next != wanted.end() && call == *next) ++next;
  }
  return next == wanted.end();
}

}  // namespace cohort
