#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <vector>

#include "base/standard_error.hpp"
#include "cli/command.hpp"
#include "cli/console.hpp"
#include "cli/interrupt.hpp"
#include "cli/man_page.hpp"
#include "cli/process_environment.hpp"

namespace cohort {
namespace {

/// In the order in which help lists them.
std::vector<Command> commands() {
  return {
      profile_command(),   plan_command(),    run_command(),      compare_command(),    report_command(),
      export_command(),    train_command(),   simulate_command(), models_command(),     dataset_synth_command(),
      calibrate_command(), devices_command(), colocate_command(), trace_info_command(), trace_convert_command(),
      verify_command(),    view_command(),
  };
}

/// Families of commands: "trace info" stands under "trace".
constexpr std::pair<const char*, const char*> kFamilies[] = {
    {"trace", "Inspect and convert trace files"},
    {"dataset", "Make image data sets"},
};

/// A command's place in the parser, with the options all commands share.
struct Entry {
  CLI::App* app = nullptr;
  RunFunction run;
  bool json = false;
  bool quiet = false;
  bool progress = false;
  bool force = false;
  std::uint64_t most_inflated = TraceReadOptions{}.most_inflated_bytes;
};

constexpr const char* kMostInflated = "--most-inflated";

/// Null where `app` has no such subcommand.
CLI::App* find_subcommand(CLI::App& app, std::string_view name) {
  const auto found = app.get_subcommands([&](CLI::App* sub) { return sub->get_name() == name; });
  return found.empty() ? nullptr : found.front();
}

CLI::App* family_of(CLI::App& root, const std::string& name) {
  if (CLI::App* known = find_subcommand(root, name)) return known;
  for (const auto& [family, help] : kFamilies) {
    if (name != family) continue;
    CLI::App* app = root.add_subcommand(name, help);
    app->require_subcommand(1);
    return app;
  }
  return &root;
}

void declare(CLI::App& root, const Command& command, Entry& entry) {
  const std::size_t space = command.name.find(' ');
  CLI::App* parent = space == std::string::npos ? &root : family_of(root, command.name.substr(0, space));
  entry.app = parent->add_subcommand(command.name.substr(space == std::string::npos ? 0 : space + 1), command.help);
  entry.run = command.setup(*entry.app);
  entry.app->add_flag("--json", entry.json, "Print results as JSON, times in nanoseconds");
  auto* quiet = entry.app->add_flag("-q,--quiet", entry.quiet, "Print only results and errors");
  entry.app
      ->add_flag("--progress", entry.progress,
                 "Print progress as lines of JSON on standard error, such as {\"progress\":\"loading\"}, even where "
                 "that is not a terminal")
      ->excludes(quiet);
  if (command.writes_files) entry.app->add_flag("-f,--force", entry.force, "Overwrite existing files");
  if (command.reads_traces) {
    entry.app
        ->add_option(kMostInflated, entry.most_inflated, "Refuse traces whose unpacked JSON is larger, such as 2GB")
        ->transform(CLI::AsSizeValue(false))
        ->type_name("BYTES")
        ->capture_default_str();
  }
  entry.app->footer("Example:\n  " + command.example);
}

int report(const Error& error) {
  write_standard_error(fmt::format("cohort: {}\n", error.message));
  return static_cast<int>(error.code);
}

/// The command the user got to, for its help: "cohort trace info".
std::string path_of(const CLI::App& root) {
  std::string path = "cohort";
  const CLI::App* app = &root;
  while (!app->get_subcommands().empty()) {
    app = app->get_subcommands().back();
    path += " " + app->get_name();
  }
  return path;
}

/// What the parser could do nothing with, in the order it was typed; its own message turns that around.
std::string unexpected(const CLI::App& root) {
  std::vector<std::string> left = root.remaining();
  for (const CLI::App* app = &root; !app->get_subcommands().empty();) {
    app = app->get_subcommands().back();
    const std::vector<std::string> more = app->remaining();
    left.insert(left.end(), more.begin(), more.end());
  }
  return fmt::format("{} not expected: {}", left.size() > 1 ? "these arguments were" : "this argument was",
                     fmt::join(left, " "));
}

/// A first word that is no command; the parser would only say that one is missing.
Result<void> check_command(CLI::App& root, const std::vector<std::string>& words) {
  CLI::App* app = &root;
  std::string path = "cohort";
  for (const std::string& word : words) {
    if (app->get_require_subcommand_min() == 0) return {};
    if (word.starts_with('-')) return {};
    CLI::App* next = find_subcommand(*app, word);
    if (next == nullptr)
      return fail(ErrorCode::kUsage, "there is no command '{} {}'\nTry '{} --help'.", path, word, path);
    app = next;
    path += " " + word;
  }
  return {};
}

int run(Entry& entry, std::vector<std::string> program) {
  Console console(entry.quiet, entry.progress ? ProgressForm::kJson : ProgressForm::kLine);
  const CancelToken& cancel = cancel_on_interrupt();
  CommandContext context{console,
                         cancel,
                         entry.json,
                         entry.force ? Overwrite::kAllow : Overwrite::kNever,
                         TraceReadOptions{entry.most_inflated, kMostInflated, &cancel},
                         std::move(program)};
  const Result<void> result = entry.run(context);
  const Result<void> written = console.finish();
  if (!result) return report(result.error());
  if (!written) return report(written.error());
  return 0;
}

int print_and_finish(const std::string& text) {
  Console console(false);
  console.print(text);
  const Result<void> written = console.finish();
  return written ? 0 : report(written.error());
}

/// Cuts "-- PROGRAM ..." off the words of a command that takes another program.
std::vector<std::string> cut_program(const std::vector<Command>& table, std::vector<std::string>& words) {
  const auto takes = [&](const Command& command) { return command.takes_program && command.name == words.front(); };
  if (words.empty() || std::none_of(table.begin(), table.end(), takes)) return {};
  const auto dashes = std::find(words.begin(), words.end(), "--");
  if (dashes == words.end()) return {};
  std::vector<std::string> program(dashes + 1, words.end());
  words.erase(dashes, words.end());
  return program;
}

int parse_and_run(std::vector<std::string> words) {
  CLI::App root("Cohort predicts what you gain by running models together on one device, and runs them.", "cohort");
  root.set_version_flag("--version", "cohort " COHORT_VERSION);
  root.require_subcommand(1);
  root.footer("Help of a command: cohort COMMAND --help");
  const std::vector<Command> table = commands();
  const std::vector<std::string> program = cut_program(table, words);
  std::vector<Entry> entries(table.size());
  for (std::size_t i = 0; i < table.size(); ++i) declare(root, table[i], entries[i]);
  // Of the build, and so in no help: the manual's pages, from what is declared here.
  if (words.size() == 2 && words[0] == "--man-pages") {
    const Result<void> written = write_man_pages(root, words[1], COHORT_VERSION);
    return written ? 0 : report(written.error());
  }
  if (const auto known = check_command(root, words); !known) return report(known.error());
  try {
    root.parse(std::vector<std::string>(words.rbegin(), words.rend()));
  } catch (const CLI::CallForVersion& version) {
    return print_and_finish(fmt::format("{}\n", version.what()));
  } catch (const CLI::CallForHelp&) {
    return print_and_finish(root.help());
  } catch (const CLI::ExtrasError&) {
    return report({ErrorCode::kUsage, fmt::format("{}\nTry '{} --help'.", unexpected(root), path_of(root))});
  } catch (const CLI::ParseError& error) {
    return report({ErrorCode::kUsage, fmt::format("{}\nTry '{} --help'.", error.what(), path_of(root))});
  }
  for (Entry& entry : entries) {
    if (entry.app->parsed()) return run(entry, program);
  }
  return static_cast<int>(ErrorCode::kUsage);
}

/// A file opened while standard output is closed would get its number, and the results with it.
void fill_closed_standard_streams() {
  for (int fd = 0; fd <= 2; ++fd) {
    if (::fcntl(fd, F_GETFD) < 0 && ::open("/dev/null", O_RDONLY) < 0) return;
  }
}

}  // namespace
}  // namespace cohort

int main(int argc, char** argv) {
  using cohort::ErrorCode;
  cohort::set_process_environment(argv);
  cohort::fill_closed_standard_streams();
  // A closed pipe or a file that grows too large is an error of the write and ends no work.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  try {
    return cohort::parse_and_run({argv + 1, argv + argc});
  } catch (const std::bad_alloc&) {
    return cohort::report({ErrorCode::kDoesNotFit, "not enough memory"});
  } catch (const std::exception& error) {
    return cohort::report({ErrorCode::kInvalidInput, error.what()});
  }
}
