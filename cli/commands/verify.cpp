#include <memory>
#include <nlohmann/json.hpp>
#include <regex>

#include "cli/command.hpp"
#include "cli/model_options.hpp"
#include "devices/devices.hpp"
#include "planning/verification.hpp"

namespace cohort {
namespace {

using nlohmann::ordered_json;

struct VerifyCommandOptions {
  std::vector<std::filesystem::path> folders;
  std::string device{default_device()};
  std::string filter;
  bool strict_nan = false;
};

std::string_view to_string(CaseStatus status) {
  switch (status) {
    case CaseStatus::kPassed:
      return "passed";
    case CaseStatus::kFailed:
      return "failed";
    case CaseStatus::kUnsupported:
      return "unsupported";
  }
  return "failed";
}

struct Counts {
  std::size_t passed = 0, failed = 0, unsupported = 0;
};

Counts count(const std::vector<CaseResult>& results) {
  Counts counts;
  for (const CaseResult& result : results) {
    counts.passed += result.status == CaseStatus::kPassed ? 1 : 0;
    counts.failed += result.status == CaseStatus::kFailed ? 1 : 0;
    counts.unsupported += result.status == CaseStatus::kUnsupported ? 1 : 0;
  }
  return counts;
}

ordered_json to_json(const std::vector<CaseResult>& results, const Counts& counts) {
  ordered_json cases = ordered_json::array();
  for (const CaseResult& result : results) {
    cases.push_back({{"name", result.name},
                     {"folder", result.folder.string()},
                     {"status", to_string(result.status)},
                     {"reason", result.reason}});
  }
  return {{"passed", counts.passed},
          {"failed", counts.failed},
          {"unsupported", counts.unsupported},
          {"cases", std::move(cases)}};
}

/// A reason can hold whatever a file's names hold; one case is one line.
std::string one_line(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20) c = ' ';
  }
  return text;
}

Result<std::vector<std::filesystem::path>> selected_cases(const VerifyCommandOptions& options) {
  COHORT_TRY(std::vector<std::filesystem::path> folders, find_cases(options.folders));
  if (options.filter.empty()) return folders;
  std::regex pattern;
  try {
    pattern = std::regex(options.filter);
  } catch (const std::regex_error& error) {
    return fail(ErrorCode::kUsage, "--filter: {} is no regular expression: {}", options.filter, error.what());
  }
  std::erase_if(folders, [&](const std::filesystem::path& folder) {
    return !std::regex_search(folder.filename().string(), pattern);
  });
  if (folders.empty()) return fail(ErrorCode::kUsage, "--filter: no case's name matches {}", options.filter);
  return folders;
}

Result<void> run(const VerifyCommandOptions& options, CommandContext& context) {
  COHORT_TRY(const auto backend, open_device(options.device));
  COHORT_TRY(const auto folders, selected_cases(options));
  std::vector<CaseResult> results;
  for (const std::filesystem::path& folder : folders) {
    context.console.progress(
        fmt::format("{} of {}: {}", results.size() + 1, folders.size(), folder.filename().string()));
    COHORT_TRY(results.emplace_back(), run_case(folder, *backend, options.strict_nan, context.cancel));
  }
  context.console.clear_progress();
  const Counts counts = count(results);
  if (context.json) {
    context.console.print_json(to_json(results, counts));
  } else {
    for (const CaseResult& result : results) {
      if (result.status == CaseStatus::kPassed) continue;
      context.console.print(
          fmt::format("{:<11} {}: {}\n", to_string(result.status), result.name, one_line(result.reason)));
    }
    context.console.print(fmt::format("{} passed, {} failed, {} unsupported on {}\n", counts.passed, counts.failed,
                                      counts.unsupported, backend->info().id));
  }
  if (counts.failed > 0)
    return fail(ErrorCode::kNegativeAnswer, "{} of {} cases failed", counts.failed, results.size());
  if (counts.passed == 0)
    return fail(ErrorCode::kNegativeAnswer, "nothing was verified: no case is supported, {} in all", results.size());
  return {};
}

}  // namespace

Command verify_command() {
  Command command;
  command.name = "verify";
  command.help =
      "Run ONNX test cases on a device and compare every element with the expected outputs; a case is a folder with "
      "model.onnx and test_data_set_*. An element may differ by atol + rtol * |expected|, as the case's data.json sets "
      "them; else rtol is 1e-3, and atol 1e-7 or a millionth of the tensor's largest element, whichever is more. NaN "
      "equals NaN, and an infinity the same infinity";
  command.example =
      "cohort verify /usr/lib/python3/dist-packages/onnx/backend/test/data --filter '^test_conv_'\n  (these cases are "
      "in Debian's package libonnx-testdata)";
  command.setup = [](CLI::App& app) -> RunFunction {
    const auto options = std::make_shared<VerifyCommandOptions>();
    app.add_option("DIR", options->folders, "Folders to search, at any depth")->required();
    app.add_option("--device", options->device, "Device to run on (cohort devices lists them)")->capture_default_str();
    app.add_option("--filter", options->filter, "Run only cases whose folder name matches")->type_name("REGEX");
    app.add_flag("--strict-nan", options->strict_nan, kStrictNanHelp);
    return [options](CommandContext& context) { return run(*options, context); };
  };
  return command;
}

}  // namespace cohort
