#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/child_program.hpp"
#include "cli/command.hpp"

namespace cohort {
namespace {

constexpr std::string_view kViewer = "cohort-viewer";

bool can_run(const std::filesystem::path& program) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(program, ignored) && ::access(program.c_str(), X_OK) == 0;
}

/// The viewer beside this program, else the one on the PATH.
std::optional<std::filesystem::path> find_viewer() {
  std::error_code ignored;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", ignored);
  if (auto beside = self.parent_path() / kViewer; !ignored && can_run(beside)) return beside;
  const char* const path = std::getenv("PATH");
  std::string_view left = path != nullptr ? path : "";
  while (!left.empty()) {
    const std::size_t colon = left.find(':');
    const auto program = std::filesystem::path(left.substr(0, colon)) / kViewer;
    if (program.is_absolute() && can_run(program)) return program;
    left = colon == std::string_view::npos ? "" : left.substr(colon + 1);
  }
  return std::nullopt;
}

bool has_display() {
  for (const char* name : {"DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"}) {
    const char* const value = std::getenv(name);
    if (value != nullptr && *value != '\0') return true;
  }
  return false;
}

Result<void> view(const std::vector<std::string>& files) {
  const auto viewer = find_viewer();
  if (!viewer)
    return fail(ErrorCode::kDeviceMissing,
                "cohort-viewer is neither beside this program nor on the PATH; it is built where Qt 6.4 is installed: "
                "apt-get install qt6-base-dev, then build again");
  if (!has_display())
    return fail(ErrorCode::kDeviceMissing,
                "there is no display to open a window on (DISPLAY and WAYLAND_DISPLAY are not set); cohort-viewer "
                "--screenshot FILE.png draws one without");
  std::vector<std::string> words = {viewer->string(), "--"};
  words.insert(words.end(), files.begin(), files.end());
  COHORT_TRY(const ChildEnd end, run_child(words, {}));
  if (end.exit_code == 0) return {};
  return fail(static_cast<ErrorCode>(end.exit_code), "cohort-viewer ended with {} {}",
              end.signal != 0 ? "signal" : "exit code", end.signal != 0 ? end.signal : end.exit_code);
}

}  // namespace

Command view_command() {
  Command command;
  command.name = "view";
  command.help = "Open profiles, traces and plans in the viewer; without files, its start page";
  command.example = "cohort profile mlp -f\n  cohort view mlp.trace.json.gz";
  command.setup = [](CLI::App& app) -> RunFunction {
    const auto files = std::make_shared<std::vector<std::string>>();
    app.add_option("FILES", *files, "Profiles, plans and traces of any kind; ONNX models to profile")
        ->type_name("FILE");
    return [files](CommandContext&) { return view(*files); };
  };
  return command;
}

}  // namespace cohort
