#include "cli/process_environment.hpp"

#include <unistd.h>

#include <algorithm>

namespace cohort {
namespace {

// 50 to some hundred microseconds, by how long the processor pauses; profiles record it as "spin time".
constexpr std::string_view kShortSpin = "GOMP_SPINCOUNT=2000";
constexpr std::string_view kTunables = "GLIBC_TUNABLES=";
constexpr std::string_view kHugePages = "glibc.malloc.hugetlb=";
constexpr std::string_view kWithHugePages = "glibc.malloc.hugetlb=1";
constexpr std::string_view kSpinIsOurs = "COHORT_SET_SPIN=1";
constexpr std::string_view kPagesAreOurs = "COHORT_SET_HUGE_PAGES=1";

auto find_setting(std::vector<std::string>& environment, std::string_view name) {
  return std::find_if(environment.begin(), environment.end(),
                      [name](const std::string& line) { return line.starts_with(name); });
}

bool has(std::vector<std::string>& environment, std::string_view name) {
  return find_setting(environment, name) != environment.end();
}

}  // namespace

std::vector<std::string> with_own_settings(std::vector<std::string> environment) {
  if (!has(environment, "GOMP_SPINCOUNT=") && !has(environment, "OMP_WAIT_POLICY=")) {
    environment.emplace_back(kShortSpin);
    environment.emplace_back(kSpinIsOurs);
  }
  const auto tunables = find_setting(environment, kTunables);
  if (tunables == environment.end()) {
    environment.push_back(std::string(kTunables).append(kWithHugePages));
    environment.emplace_back(kPagesAreOurs);
  } else if (tunables->find(kHugePages) == std::string::npos) {
    if (tunables->size() > kTunables.size()) *tunables += ':';
    tunables->append(kWithHugePages);
    environment.emplace_back(kPagesAreOurs);
  }
  return environment;
}

std::vector<std::string> without_own_settings(std::vector<std::string> environment) {
  if (std::erase(environment, kSpinIsOurs) > 0) std::erase(environment, kShortSpin);
  if (std::erase(environment, kPagesAreOurs) == 0) return environment;
  const auto tunables = find_setting(environment, kTunables);
  if (tunables == environment.end() || !tunables->ends_with(kWithHugePages)) return environment;
  tunables->resize(tunables->size() - kWithHugePages.size());
  if (tunables->ends_with(':')) tunables->pop_back();
  if (*tunables == kTunables) environment.erase(tunables);
  return environment;
}

void set_process_environment(char** argv) {
  std::vector<std::string> given;
  for (char** line = environ; *line != nullptr; ++line) given.emplace_back(*line);
  std::vector<std::string> settings = with_own_settings(given);
  if (settings == given) return;
  std::vector<char*> lines;
  for (std::string& line : settings) lines.push_back(line.data());
  lines.push_back(nullptr);
  ::execve("/proc/self/exe", argv, lines.data());  // where that fails, things are as they would have been
}

}  // namespace cohort
