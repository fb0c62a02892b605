#include "cli/console.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <system_error>

#include "base/standard_error.hpp"

namespace cohort {

Console::Console(bool quiet, ProgressForm progress) : quiet_(quiet), progress_(progress) {
  if (progress_ == ProgressForm::kLine && (quiet || ::isatty(STDERR_FILENO) != 1)) progress_ = ProgressForm::kNone;
}

void Console::print(std::string_view text) {
  clear_progress();
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() && write_error_ == 0) write_error_ = errno;
}

void Console::print_json(const nlohmann::ordered_json& value) {
  print(value.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
}

void Console::note(std::string_view line) {
  if (quiet_) return;
  clear_progress();
  // Where both go to one place, what was printed before stands before.
  if (std::fflush(stdout) != 0 && write_error_ == 0) write_error_ = errno;
  write_standard_error(fmt::format("{}\n", line));
}

void Console::progress(std::string_view text) {
  if (progress_ == ProgressForm::kNone) return;
  const auto now = std::chrono::steady_clock::now();
  const std::string_view stage = text.substr(0, text.find(' '));
  if (stage == last_stage_ && now - last_progress_ < std::chrono::milliseconds(100)) return;
  last_progress_ = now;
  last_stage_ = stage;
  if (progress_ == ProgressForm::kJson) {
    const nlohmann::ordered_json line = {{"progress", text}};
    write_standard_error(line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
    return;
  }
  progress_shown_ = true;
  write_standard_error(fmt::format("\r\x1b[K{}", text));
}

void Console::clear_progress() {
  if (!progress_shown_) return;
  progress_shown_ = false;
  last_stage_.clear();
  write_standard_error("\r\x1b[K");
}

Result<void> Console::finish() {
  clear_progress();
  if (std::fflush(stdout) != 0 && write_error_ == 0) write_error_ = errno;
  const bool reader_left = write_error_ == EPIPE;  // head, or a pager that was quit: they have what they wanted
  if (write_error_ == 0 || reader_left) return {};
  return fail(ErrorCode::kInvalidInput, "cannot write to standard output: {}",
              std::generic_category().message(write_error_));
}

}  // namespace cohort
