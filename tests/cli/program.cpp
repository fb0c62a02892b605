#include "program.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string_view>
#include <thread>

#include "base/file.hpp"

namespace cohort {
namespace {

std::vector<char*> c_words(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

int open_for_writing(const std::filesystem::path& path) {
  return ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
}

int open_closed_pipe() {
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) return -1;
  ::close(ends[0]);
  return ends[1];
}

/// The program's side of a new terminal, and ours in `master`.
int open_terminal(int& master) {
  master = ::posix_openpt(O_RDWR | O_NOCTTY);
  if (master < 0 || ::grantpt(master) != 0 || ::unlockpt(master) != 0) return -1;
  return ::open(::ptsname(master), O_RDWR | O_NOCTTY);
}

/// All that is written until the other side is closed; calls `shown` with what there is each time.
template <class Shown>
std::string read_terminal(int master, const Shown& shown) {
  std::string text;
  std::array<char, 4096> chunk{};
  while (true) {  // fails with EIO once the other side is closed
    const ssize_t count = ::read(master, chunk.data(), chunk.size());
    if (count <= 0) return text;
    text.append(chunk.data(), static_cast<std::size_t>(count));
    shown(text);
  }
}

pid_t spawn(std::vector<std::string> words, const std::filesystem::path& folder, int out, int err) {
  std::vector<char*> pointers = c_words(words);
  const pid_t process = ::fork();
  if (process != 0) return process;
  const int in = ::open("/dev/null", O_RDONLY);
  if (::chdir(folder.c_str()) != 0 || ::dup2(in, 0) < 0 || ::dup2(out, 1) < 0 || ::dup2(err, 2) < 0) ::_exit(127);
  ::execv(pointers[0], pointers.data());
  ::_exit(127);
}

/// Exit code, or minus the signal that ended it.
int exit_code_of(int status) { return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status); }

}  // namespace

ProgramTest::ProgramTest() : folder_(temporary_.path() / "work") { std::filesystem::create_directory(folder_); }

Outcome ProgramTest::cohort(const std::vector<std::string>& arguments, const Redirection& to) {
  std::vector<std::string> words = {COHORT_PROGRAM};
  words.insert(words.end(), arguments.begin(), arguments.end());
  return execute(words, to);
}

Outcome ProgramTest::execute(const std::vector<std::string>& words, const Redirection& to) {
  const auto out_file = folder_.parent_path() / "out";
  const auto err_file = folder_.parent_path() / "err";
  int master = -1;
  const int out = to.closed_pipe ? open_closed_pipe() : open_for_writing(to.out.empty() ? out_file : to.out);
  const int err = to.error_terminal ? open_terminal(master) : open_for_writing(err_file);
  const pid_t process = spawn(words, folder_, out, err);
  ::close(out);
  ::close(err);
  Outcome outcome;
  if (to.error_terminal) {
    outcome.err = read_terminal(master, [](const std::string& /*text*/) {});
    ::close(master);
  }
  int status = 0;
  struct rusage used {};
  outcome.exit_code = ::wait4(process, &status, 0, &used) == process ? exit_code_of(status) : -1;
  outcome.most_resident = std::int64_t{used.ru_maxrss} * 1024;
  if (!to.closed_pipe && to.out.empty()) outcome.out = read_file(out_file).value();
  if (!to.error_terminal) outcome.err = read_file(err_file).value();
  return outcome;
}

Outcome ProgramTest::signal_at(const std::string& text, int signal, const std::vector<std::string>& arguments) {
  std::vector<std::string> words = {COHORT_PROGRAM};
  words.insert(words.end(), arguments.begin(), arguments.end());
  const auto out_file = folder_.parent_path() / "out";
  int master = -1;
  const int out = open_for_writing(out_file);
  const int err = open_terminal(master);
  const pid_t process = spawn(std::move(words), folder_, out, err);
  ::close(out);
  ::close(err);
  bool sent = false;
  Outcome outcome;
  outcome.err = read_terminal(master, [&](const std::string& shown) {
    if (sent || shown.find(text) == std::string::npos) return;
    sent = ::kill(process, signal) == 0;
  });
  ::close(master);
  outcome.exit_code = wait_for(process);
  outcome.out = read_file(out_file).value();
  return outcome;
}

pid_t ProgramTest::start(const std::vector<std::string>& arguments) {
  std::vector<std::string> words = {COHORT_PROGRAM};
  words.insert(words.end(), arguments.begin(), arguments.end());
  const int null = ::open("/dev/null", O_WRONLY);
  const pid_t process = spawn(words, folder_, null, null);
  ::close(null);
  return process;
}

bool ProgramTest::catches(pid_t process, int signal) {
  const std::string file = "/proc/" + std::to_string(process) + "/status";
  while (true) {
    std::ifstream status(file);
    std::uint64_t caught = 0;
    for (std::string word; status >> word;) {
      if (word == "State:" && status >> word && word == "Z") return false;
      if (word == "SigCgt:") status >> std::hex >> caught;
    }
    if ((caught >> (signal - 1) & 1U) != 0) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

int ProgramTest::wait_for(pid_t process) {
  int status = 0;
  if (::waitpid(process, &status, 0) != process) return -1;
  return exit_code_of(status);
}

void ProgramTest::write(const std::string& name, std::string_view content) const {
  std::ofstream(path(name), std::ios::binary) << content;
}

std::string ProgramTest::read(const std::string& name) const { return read_file(path(name)).value(); }

std::vector<std::string> ProgramTest::files() const {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder_))
    names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

std::map<std::string, std::string> ProgramTest::contents() const {
  std::map<std::string, std::string> held;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_)) {
    if (entry.is_regular_file())
      held[entry.path().lexically_relative(folder_).string()] = read_file(entry.path()).value();
  }
  return held;
}

}  // namespace cohort
