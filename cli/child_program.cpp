#include "cli/child_program.hpp"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <utility>

#include "cli/interrupt.hpp"
#include "cli/process_environment.hpp"

namespace cohort {

Result<ChildEnd> run_child(const std::vector<std::string>& words,
                           const std::map<std::string, std::string>& environment) {
  std::vector<std::string> settings;
  for (char** entry = environ; *entry != nullptr; ++entry) settings.emplace_back(*entry);
  settings = without_own_settings(std::move(settings));
  std::erase_if(settings,
                [&](const std::string& line) { return environment.count(line.substr(0, line.find('='))) > 0; });
  settings.reserve(settings.size() + environment.size());
  for (const auto& [name, value] : environment) settings.push_back(name + "=" + value);
  std::vector<char*> env;
  env.reserve(settings.size() + 1);
  for (std::string& setting : settings) env.push_back(setting.data());
  env.push_back(nullptr);
  std::vector<std::string> copies = words;
  std::vector<char*> arguments;
  arguments.reserve(copies.size() + 1);
  for (std::string& word : copies) arguments.push_back(word.data());
  arguments.push_back(nullptr);

  const auto start = std::chrono::steady_clock::now();
  // We ignore these; a program expects them as they usually are.
  ::sigset_t usual;
  sigemptyset(&usual);
  sigaddset(&usual, SIGPIPE);
  sigaddset(&usual, SIGXFSZ);
  ::posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  ::posix_spawnattr_setsigdefault(&attributes, &usual);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  ::pid_t child = 0;
  const int error = ::posix_spawnp(&child, arguments[0], nullptr, &attributes, arguments.data(), env.data());
  ::posix_spawnattr_destroy(&attributes);
  if (error != 0) return fail(ErrorCode::kInvalidInput, "{} does not start: {}", words[0], std::strerror(error));
  {
    const ToldOfSignals told(child);
    ::siginfo_t info;
    // Not reaped yet: its number may not become another program's while signals go to it.
    while (::waitid(P_PID, static_cast<::id_t>(child), &info, WEXITED | WNOWAIT) < 0 && errno == EINTR) {
    }
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return fail(ErrorCode::kInvalidInput, "{}: {}", words[0], std::strerror(errno));
  }
  ChildEnd end;
  end.wall = std::chrono::steady_clock::now() - start;
  end.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  end.exit_code = end.signal != 0 ? 128 + end.signal : WEXITSTATUS(status);
  return end;
}

}  // namespace cohort
