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
#include <optional>
#include <string_view>
#include <thread>
#include <utility>

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

/// `most_bytes`: what a file may have; none: no limit.
pid_t spawn(std::vector<std::string> words, const std::filesystem::path& folder, int out, int err,
            std::optional<std::size_t> most_bytes = {}) {
  std::vector<char*> pointers = c_words(words);
  const pid_t process = ::fork();
  if (process != 0) return process;
  if (most_bytes) {
    const rlimit limit{*most_bytes, *most_bytes};
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) ::_exit(127);
  }
  const int in = ::open("/dev/null", O_RDONLY);
  if (::chdir(folder.c_str()) != 0 || ::dup2(in, 0) < 0 || ::dup2(out, 1) < 0 || ::dup2(err, 2) < 0) ::_exit(127);
  ::execv(pointers[0], pointers.data());
  ::_exit(127);
}

/// Exit code, or minus the signal that ended it.
int exit_code_of(int status) { return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status); }

}  // namespace

Terminal::Terminal() : master_(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC)) {
  if (master_ >= 0 && ::grantpt(master_) == 0 && ::unlockpt(master_) == 0)
    program_side_ = ::open(::ptsname(master_), O_RDWR | O_NOCTTY | O_CLOEXEC);
}

Terminal::~Terminal() {
  if (program_side_ >= 0) ::close(program_side_);
  if (master_ >= 0) ::close(master_);
}

int Terminal::take_program_side() { return std::exchange(program_side_, -1); }

bool Terminal::read_more() {
  std::array<char, 4096> chunk{};
  const ssize_t count = ::read(master_, chunk.data(), chunk.size());
  if (count <= 0) return false;  // with EIO, once the other side is closed
  shown_.append(chunk.data(), static_cast<std::size_t>(count));
  return true;
}

bool Terminal::shows(std::string_view text) {
  while (shown_.find(text) == std::string::npos) {
    if (!read_more()) return false;
  }
  return true;
}

std::string Terminal::rest() {
  while (read_more()) {
  }
  return shown_;
}

ProgramTest::ProgramTest() : folder_(temporary_.path() / "work") { std::filesystem::create_directory(folder_); }

Outcome ProgramTest::cohort(const std::vector<std::string>& arguments, const Redirection& to) {
  std::vector<std::string> words = {COHORT_PROGRAM};
  words.insert(words.end(), arguments.begin(), arguments.end());
  return execute(words, to);
}

Outcome ProgramTest::execute(const std::vector<std::string>& words, const Redirection& to) {
  const auto out_file = folder_.parent_path() / "out";
  const auto err_file = folder_.parent_path() / "err";
  std::optional<Terminal> terminal;
  if (to.error_terminal) terminal.emplace();
  const int out = to.closed_pipe ? open_closed_pipe() : open_for_writing(to.out.empty() ? out_file : to.out);
  const int err = terminal ? terminal->take_program_side() : open_for_writing(err_file);
  const pid_t process = spawn(words, folder_, out, err, to.most_bytes);
  ::close(out);
  ::close(err);
  Outcome outcome;
  if (terminal) outcome.err = terminal->rest();
  int status = 0;
  struct rusage used {};
  outcome.exit_code = ::wait4(process, &status, 0, &used) == process ? exit_code_of(status) : -1;
  outcome.most_resident = std::int64_t{used.ru_maxrss} * 1024;
  if (!to.closed_pipe && to.out.empty()) outcome.out = read_file(out_file).value();
  if (!terminal) outcome.err = read_file(err_file).value();
  return outcome;
}

Outcome ProgramTest::signal_at(const std::string& text, int signal, const std::vector<std::string>& arguments) {
  std::vector<std::string> words = {COHORT_PROGRAM};
  words.insert(words.end(), arguments.begin(), arguments.end());
  const auto out_file = folder_.parent_path() / "out";
  Terminal terminal;
  const int out = open_for_writing(out_file);
  const int err = terminal.take_program_side();
  const pid_t process = spawn(std::move(words), folder_, out, err);
  ::close(out);
  ::close(err);
  if (terminal.shows(text)) ::kill(process, signal);
  Outcome outcome;
  outcome.err = terminal.rest();
  outcome.exit_code = wait_for(process);
  outcome.out = read_file(out_file).value();
  return outcome;
}

Outcome ProgramTest::cohort_on_full_disk(std::size_t bytes, const std::vector<std::string>& arguments) {
  Redirection to;
  to.most_bytes = bytes;
  return cohort(arguments, to);
}

pid_t ProgramTest::start(const std::vector<std::string>& arguments, Terminal* terminal) {
  std::vector<std::string> words = {COHORT_PROGRAM};
  words.insert(words.end(), arguments.begin(), arguments.end());
  const int null = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  const int err = terminal != nullptr ? terminal->take_program_side() : null;
  const pid_t process = spawn(words, folder_, null, err);
  if (err != null) ::close(err);
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
