#include "cli/man_page.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <sstream>
#include <utility>
#include <vector>

#include "base/file.hpp"

namespace cohort {
namespace {

/// `text` as roff shows it: no escapes, requests or typographic hyphens of its own.
std::string escaped(std::string_view text) {
  std::string out;
  bool starts_line = true;
  for (const char c : text) {
    if (starts_line && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
    starts_line = c == '\n';
  }
  return out;
}

std::string bold(std::string_view text) { return "\\fB" + escaped(text) + "\\fR"; }
std::string italic(std::string_view text) { return "\\fI" + escaped(text) + "\\fR"; }

/// "cohort-trace-info" of "cohort trace info".
std::string page_name(std::string path) {
  std::replace(path.begin(), path.end(), ' ', '-');
  return path;
}

/// "a, b and c", long names, by name: the parser keeps them by address.
std::string names_of(const std::set<CLI::Option*>& options) {
  std::vector<std::string> names;
  for (const CLI::Option* const option : options) names.push_back(bold(option->get_name()));
  std::sort(names.begin(), names.end());
  if (names.size() == 1) return names.front();
  const std::string last = std::move(names.back());
  names.pop_back();
  return fmt::format("{} and {}", fmt::join(names, ", "), last);
}

/// How many values an option takes, where that is not one.
std::string repeats(const CLI::Option& option) {
  if (option.get_expected_max() >= CLI::detail::expected_max_vector_size) return " ...";
  return option.get_expected_min() > 1 ? fmt::format(" x {}", option.get_expected_min()) : "";
}

void append_option(std::string& page, const CLI::Option& option) {
  page += ".TP\n";
  if (option.get_positional() && option.get_snames().empty() && option.get_lnames().empty()) {
    page += italic(option.get_name(true)) + repeats(option) + "\n";
  } else {
    std::vector<std::string> names;
    for (const std::string& name : option.get_snames()) names.push_back(bold("-" + name));
    for (const std::string& name : option.get_lnames()) names.push_back(bold("--" + name));
    page += fmt::format("{}", fmt::join(names, ", "));
    if (const std::string type = option.get_type_name(); !type.empty()) page += " " + italic(type);
    page += repeats(option) + "\n";
  }
  page += escaped(option.get_description());
  if (!page.ends_with('.')) page += '.';
  if (!option.get_default_str().empty()) page += fmt::format(" Default: {}.", escaped(option.get_default_str()));
  if (!option.get_needs().empty()) page += fmt::format(" Needs {}.", names_of(option.get_needs()));
  if (!option.get_excludes().empty()) page += fmt::format(" Not with {}.", names_of(option.get_excludes()));
  page += '\n';
}

using Options = std::vector<const CLI::Option*>;

/// Those that help shows.
Options shown_options(const CLI::App& app, bool positional) {
  return app.get_options([&](const CLI::Option* option) {
    return !option->get_group().empty() && option->get_positional() == positional;
  });
}

void append_synopsis(std::string& page, const CLI::App& app, const std::string& path) {
  page += fmt::format(".SH SYNOPSIS\n{} [{}]", bold(path), italic("OPTIONS"));
  for (const CLI::Option* const option : shown_options(app, true)) {
    const std::string name = italic(option->get_name(true)) + repeats(*option);
    page += option->get_required() ? " " + name : fmt::format(" [{}]", name);
  }
  if (app.get_require_subcommand_min() > 0) page += " " + italic("COMMAND");
  page += '\n';
}

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App* command) { return !command->get_group().empty(); });
}

void append_commands(std::string& page, const CLI::App& app, const std::string& path) {
  const std::vector<const CLI::App*> commands = commands_of(app);
  if (commands.empty()) return;
  page += ".SH COMMANDS\n";
  for (const CLI::App* const command : commands) {
    page += fmt::format(".TP\n.BR {} (1)\n{}.\n", escaped(page_name(path + " " + command->get_name())),
                        escaped(command->get_description()));
  }
}

/// Of the footer that help closes with, command lines below "Example:".
void append_examples(std::string& page, const std::string& footer) {
  std::istringstream lines(footer);
  std::string line;
  if (!std::getline(lines, line) || line != "Example:") return;
  page += ".SH EXAMPLES\n.nf\n";
  while (std::getline(lines, line)) page += escaped(line) + '\n';
  page += ".fi\n";
}

constexpr std::string_view kExitStatus = R"(.SH EXIT STATUS
.TP
.B 0
Done.
.TP
.B 1
The answer is no: nothing in the trace has such a name, or outputs are not what was expected.
.TP
.B 2
The command line is not understood.
.TP
.B 3
A file or a value in it is not what it must be.
.TP
.B 4
A device, or a library that it needs, is not there.
.TP
.B 5
It does not fit into memory or a limit.
.TP
.B 6
A recording is incomplete.
.TP
.B 130
Interrupted; what was measured by then is kept where that is of use.
)";

Result<void> write_pages_below(const CLI::App& app, const std::string& path, const std::filesystem::path& folder,
                               std::string_view version) {
  COHORT_CHECK(write_file(folder / (page_name(path) + ".1"), man_page(app, path, version), Overwrite::kAllow));
  for (const CLI::App* const command : commands_of(app))
    COHORT_CHECK(write_pages_below(*command, path + " " + command->get_name(), folder, version));
  return {};
}

}  // namespace

std::string man_page(const CLI::App& app, const std::string& path, std::string_view version) {
  const std::string name = page_name(path);
  std::string upper = name;
  std::transform(upper.begin(), upper.end(), upper.begin(), [](char c) { return c >= 'a' && c <= 'z' ? c - 32 : c; });
  const bool is_root = name == path;
  const std::string description = app.get_description();
  std::string page = fmt::format(".TH {} 1 \"\" \"Cohort {}\" \"Cohort\"\n", escaped(upper), version);
  // One line that apropos shows; a longer description has the rest.
  const std::string first = description.substr(0, description.find_first_of(":;."));
  page += fmt::format(".SH NAME\n{} \\- {}\n", escaped(name), escaped(first));
  append_synopsis(page, app, path);
  page += fmt::format(".SH DESCRIPTION\n{}\n", escaped(description));
  if (!page.ends_with(".\n")) page.insert(page.size() - 1, ".");
  append_commands(page, app, path);
  Options options = shown_options(app, true);
  for (const CLI::Option* const option : shown_options(app, false)) options.push_back(option);
  if (!options.empty()) page += ".SH OPTIONS\n";
  for (const CLI::Option* const option : options) append_option(page, *option);
  append_examples(page, app.get_footer());
  if (is_root) page += kExitStatus;
  if (!is_root) page += ".SH SEE ALSO\n.BR cohort (1)\n";
  return page;
}

Result<void> write_man_pages(const CLI::App& root, const std::filesystem::path& folder, std::string_view version) {
  return write_pages_below(root, root.get_name(), folder, version);
}

}  // namespace cohort
