#pragma once

#include <gtest/gtest.h>
#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/temporary_folder.hpp"

namespace cohort {

/// What a program left when it ended.
struct Outcome {
  int exit_code = 0;
  std::string out;
  std::string err;
  std::int64_t most_resident = 0;  ///< bytes of memory it had at once, its children's not added
};

/// Where a program's output goes; empty: it is collected.
struct Redirection {
  std::filesystem::path out;
  bool closed_pipe = false;                    ///< standard output is a pipe that nobody reads
  bool error_terminal = false;                 ///< standard error is a terminal
  std::optional<std::size_t> most_bytes = {};  ///< that a file of it may have
};

/// A terminal, as a person looks at it.
class Terminal {
 public:
  Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;
  ~Terminal();

  /// The program's side, to be given away once.
  int take_program_side();
  /// Waits until it has shown `text`. False where the program ended before.
  bool shows(std::string_view text);
  /// All that was shown until the program ended.
  std::string rest();

 private:
  bool read_more();

  int master_ = -1;
  int program_side_ = -1;
  std::string shown_;
};

/// Tests that run the real program, each in an empty folder of its own.
class ProgramTest : public ::testing::Test {
 protected:
  ProgramTest();

  /// Runs cohort in the test's folder until it ends.
  Outcome cohort(const std::vector<std::string>& arguments, const Redirection& to = {});
  /// Any program, by path.
  Outcome execute(const std::vector<std::string>& words, const Redirection& to = {});
  /// Runs cohort with standard error on a terminal and sends `signal` as soon as that shows `text`.
  Outcome signal_at(const std::string& text, int signal, const std::vector<std::string>& arguments);
  /// Starts cohort with its output thrown away, or standard error on a terminal.
  pid_t start(const std::vector<std::string>& arguments, Terminal* terminal = nullptr);
  /// Runs cohort where no file may grow beyond so many bytes, as on a disk that is full then.
  Outcome cohort_on_full_disk(std::size_t bytes, const std::vector<std::string>& arguments);
  /// Waits until a started program handles `signal` itself. False where it ended before.
  static bool catches(pid_t process, int signal);
  /// Exit code of a started program, or minus the signal that ended it.
  static int wait_for(pid_t process);

  [[nodiscard]] std::filesystem::path path(const std::string& name) const { return folder_ / name; }
  void write(const std::string& name, std::string_view content) const;
  [[nodiscard]] std::string read(const std::string& name) const;
  /// Names in the folder, sorted.
  [[nodiscard]] std::vector<std::string> files() const;
  /// All files at any depth with what they hold.
  [[nodiscard]] std::map<std::string, std::string> contents() const;

 private:
  const TemporaryFolder temporary_;
  const std::filesystem::path folder_;
};

}  // namespace cohort
