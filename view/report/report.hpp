#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/cancel.hpp"
#include "base/result.hpp"
#include "simulator/colocation/processes.hpp"
#include "simulator/plan/plan.hpp"
#include "simulator/report/compare.hpp"
#include "tracer/file/trace_file.hpp"
#include "tracer/summary/gpu_summary.hpp"
#include "tracer/summary/profile_summary.hpp"
#include "tracer/summary/summary.hpp"
#include "tracer/trace.hpp"
#include "view/report/forecast.hpp"

namespace cohort {

/// A file that a report is made from: a plan, a trace of any kind, or a table of step times.
struct ReportFile {
  std::filesystem::path path;
  std::variant<Plan, std::shared_ptr<const Trace>, StepTimes> content;

  [[nodiscard]] const Plan* plan() const { return std::get_if<Plan>(&content); }
  /// Null where the file is no table of step times.
  [[nodiscard]] const StepTimes* step_times() const { return std::get_if<StepTimes>(&content); }
  /// Null where the file is no trace.
  [[nodiscard]] const Trace* trace() const;
  /// Null where the file is no trace of this kind.
  [[nodiscard]] const Trace* trace(TraceKind kind) const;
};

/// Reads each file: a table of step times where its name ends in .csv, else a plan or a trace, as its content says.
/// Errors: those of read_step_times(), read_trace() and parse_plan(), naming the file.
Result<std::vector<ReportFile>> read_report_files(std::span<const std::filesystem::path> files,
                                                  const TraceReadOptions& read);

struct ReportOptions {
  int models = 8;         ///< to plan for, where profiles have no plan; of other programs' traces and step times
  bool predict = true;    ///< else the page has what the files hold alone
  std::string made = {};  ///< when and with what the page is made, for its foot
  const CancelToken* cancel = nullptr;
  std::function<void(std::string_view doing)> progress = {};
};

/// A measured trace of a plan.
struct RunSection {
  const ReportFile* file = nullptr;
  std::optional<Comparison> comparison;  ///< with the plan's predicted trace
  std::string not_compared;              ///< why there is none
};

/// A plan with all that the files say of it.
struct PlanSection {
  Plan plan;
  bool recommended = false;              ///< made for this report, as no file holds a plan of the profiles
  std::vector<const ReportFile*> files;  ///< that are of this plan
  const ReportFile* predicted = nullptr;
  std::vector<RunSection> runs;
  std::optional<Forecast> forecast;  ///< from the profiles, where there are those of all members' models
  std::string no_forecast;           ///< why there is none
};

/// A profile on its own.
struct ProfileSection {
  const ReportFile* file = nullptr;
  TraceSummary summary;
  std::vector<OpSummary> ops;
};

/// A trace that another tool recorded, or one of a run without a plan.
struct RecordingSection {
  const ReportFile* file = nullptr;
  TraceSummary summary;
  std::optional<GpuSummary> gpu;
  std::optional<Forecast> forecast;  ///< what several of it would do together
  std::string no_forecast;           ///< why there is none
};

/// Step times of one model on a GPU.
struct ProcessesSection {
  const ReportFile* file = nullptr;
  TimedModel model;
  std::vector<EqualProcesses> rows;  ///< of 2 processes up to as many as asked for, or measured
};

/// What a page shows. Points into the files it was made from, which must outlive it.
struct Report {
  std::string title;
  std::string made;
  std::vector<const ReportFile*> files;
  std::vector<PlanSection> plans;  ///< in the order of the files; plans are told apart by their fingerprint
  std::vector<ProfileSection> profiles;
  std::vector<RecordingSection> recordings;
  std::vector<ProcessesSection> processes;
  std::vector<std::string> missing;  ///< what would tell more, and how to get it: a sentence each
};

/// Sorts files by what they are of, compares what can be compared and predicts what can be predicted: what fails is
/// said in the report. Errors: kInterrupted where it was cancelled.
Result<Report> make_report(std::span<const ReportFile> files, const ReportOptions& options);

/// One self-contained page: no scripts, nothing loaded from elsewhere; for screens, light and dark, and for print.
/// HTML that is well-formed XML.
std::string to_html(const Report& report);

/// The page's numbers, times in whole nanoseconds.
nlohmann::ordered_json to_json(const Report& report);

}  // namespace cohort
