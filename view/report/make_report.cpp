#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "planning/plan_files.hpp"
#include "planning/recorded_settings.hpp"
#include "view/report/report.hpp"
#include "view/report/sections.hpp"

namespace cohort {
namespace {

class ReportMaker {
 public:
  ReportMaker(std::span<const ReportFile> files, const ReportOptions& options) : files_(files), options_(options) {}

  Result<Report> make() {
    report_.made = options_.made;
    for (const ReportFile& file : files_) {
      report_.files.push_back(&file);
      add(file);
      if (options_.cancel != nullptr) COHORT_CHECK(options_.cancel->check());
    }
    for (PlanSection& section : report_.plans) compare_runs(section);
    if (options_.predict) {
      COHORT_CHECK(predict_plans());
      COHORT_CHECK(recommend_for_profiles());
      COHORT_CHECK(predict_recordings());
    }
    say_what_is_missing();
    report_.title = title();
    return std::move(report_);
  }

 private:
  void add(const ReportFile& file) {
    if (const Plan* plan = file.plan()) {
      section_of(*plan).files.push_back(&file);
    } else if (const Trace* predicted = file.trace(TraceKind::kPredicted)) {
      add_of_plan(file, *predicted);
    } else if (const Trace* measured = file.trace(TraceKind::kMeasured)) {
      add_of_plan(file, *measured);
    } else if (const Trace* profile = file.trace(TraceKind::kProfile)) {
      report_.profiles.push_back({&file, summarize(*profile), summarize_profile(*profile)});
    } else if (const Trace* recorded = file.trace(TraceKind::kRecorded)) {
      add_recording(file, *recorded);
    } else if (const StepTimes* times = file.step_times()) {
      add_step_times(file, *times);
    }
  }

  void add_recording(const ReportFile& file, const Trace& trace) {
    RecordingSection& section = report_.recordings.emplace_back();
    section.file = &file;
    section.summary = summarize(trace);
    section.gpu = summarize_gpu(trace);
  }

  void add_step_times(const ReportFile& file, const StepTimes& times) {
    if (!options_.predict) {
      report_.missing.push_back(fmt::format("What several processes of {} gain is not shown, as it is predicted.",
                                            file.path.filename().string()));
      return;
    }
    int most = std::clamp(options_.models, 2, kMostMpsClients);
    for (const StepTime& row : times.rows) most = std::max(most, std::min(row.processes, kMostMpsClients));
    std::vector<int> counts(static_cast<std::size_t>(most) - 1);
    std::iota(counts.begin(), counts.end(), 2);
    TimedModel model = timed_model(file.path, times, Bytes{});
    auto rows = equal_processes(model, {}, counts);
    if (rows) {
      report_.processes.push_back({&file, std::move(model), std::move(*rows)});
    } else {
      report_.missing.push_back(fmt::format("What several processes gain is not shown: {}.", rows.error().message));
    }
  }

  /// A trace of a plan belongs to it; one of a what-if, or of a plan that cannot be read, stands alone.
  void add_of_plan(const ReportFile& file, const Trace& trace) {
    const auto plan = recorded_plan(file.path, trace.info);
    if (!plan) {
      add_recording(file, trace);
      if (!trace.info.plan.empty()) {
        report_.missing.push_back(
            fmt::format("The plan within {} cannot be read: {}.", file.path.string(), plan.error().message));
      }
      return;
    }
    PlanSection& section = section_of(*plan);
    section.files.push_back(&file);
    if (trace.info.kind == TraceKind::kMeasured) {
      section.runs.push_back({&file, std::nullopt, {}});
    } else if (section.predicted == nullptr) {
      section.predicted = &file;
    } else {
      report_.missing.push_back(fmt::format("{} predicts the same plan as {}; the page shows the latter.",
                                            file.path.string(), section.predicted->path.string()));
    }
  }

  PlanSection& section_of(const Plan& plan) {
    const std::string print = fingerprint(plan);
    for (PlanSection& section : report_.plans) {
      if (fingerprint(section.plan) == print) return section;
    }
    PlanSection section;
    section.plan = plan;
    return report_.plans.emplace_back(std::move(section));
  }

  static void compare_runs(PlanSection& section) {
    for (RunSection& run : section.runs) {
      if (section.predicted == nullptr) {
        run.not_compared = "no file predicts this plan";
        continue;
      }
      auto comparison =
          compare(*section.predicted->trace(TraceKind::kPredicted), *run.file->trace(TraceKind::kMeasured));
      if (comparison) {
        run.comparison = std::move(*comparison);
      } else {
        run.not_compared = comparison.error().message;
      }
    }
  }

  [[nodiscard]] ForecastOptions forecast_options() const { return {options_.cancel, options_.progress}; }

  /// Profiles by what they are of; of several of one source the first.
  [[nodiscard]] std::map<ModelSource, const ProfileSection*> profiled() const {
    std::map<ModelSource, const ProfileSection*> sources;
    for (const ProfileSection& profile : report_.profiles) {
      const auto source = source_of(profile.file->path, profile.file->trace(TraceKind::kProfile)->info);
      if (source) sources.emplace(*source, &profile);
    }
    return sources;
  }

  Result<void> predict_plans() {
    const auto sources = profiled();
    for (PlanSection& section : report_.plans) {
      std::set<const ProfileSection*> wanted;
      std::set<std::string> lacking;
      for (const Member& member : section.plan.members) {
        const auto found = sources.find(member.source);
        if (found == sources.end()) {
          lacking.insert(fmt::format("{} at minibatch {}", member.source.model, member.source.minibatch));
        } else {
          wanted.insert(found->second);
        }
      }
      if (!lacking.empty()) {
        section.no_forecast = fmt::format("no file is a profile of {}", fmt::join(lacking, ", "));
        continue;
      }
      std::vector<NamedTrace> files;
      for (const ProfileSection& profile : report_.profiles) {
        if (!wanted.contains(&profile)) continue;
        files.push_back(named(*profile.file));
        section.files.push_back(profile.file);
      }
      add_runs(sources, files);
      COHORT_CHECK(keep(forecast(std::move(files), section.plan, forecast_options()), section));
    }
    return {};
  }

  /// A forecast, or why there is none; only an interrupt ends the report.
  template <class Section>
  static Result<void> keep(Result<Forecast> made, Section& section) {
    if (!made && made.error().code == ErrorCode::kInterrupted) return tl::unexpected<Error>(made.error());
    if (made) {
      section.forecast = std::move(*made);
    } else {
      section.no_forecast = made.error().message;
    }
    return {};
  }

  /// What profiles are good for where no plan uses them.
  Result<void> recommend_for_profiles() {
    for (const auto& each : profiled()) {
      const ProfileSection* const profile = each.second;
      const bool used = std::any_of(report_.plans.begin(), report_.plans.end(), [&](const PlanSection& section) {
        return std::find(section.files.begin(), section.files.end(), profile->file) != section.files.end();
      });
      if (used) continue;
      PlanSection section;
      section.recommended = true;
      section.files = {profile->file};
      COHORT_CHECK(keep(recommend({named(*profile->file)}, options_.models, forecast_options()), section));
      if (section.forecast) {
        section.plan = section.forecast->answer.plan.value_or(Plan{});
        report_.plans.push_back(std::move(section));
      } else {
        report_.missing.push_back(
            fmt::format("No plan could be made from {}: {}.", profile->file->path.string(), section.no_forecast));
      }
    }
    return {};
  }

  static NamedTrace named(const ReportFile& file) {
    return {file.path, std::get<std::shared_ptr<const Trace>>(file.content)};
  }

  /// Runs of plans of the profiled models: what was measured of any of them stands in the charts of all.
  void add_runs(const std::map<ModelSource, const ProfileSection*>& sources, std::vector<NamedTrace>& files) const {
    for (const PlanSection& section : report_.plans) {
      const bool profiled = std::all_of(section.plan.members.begin(), section.plan.members.end(),
                                        [&](const Member& member) { return sources.contains(member.source); });
      if (!profiled) continue;
      for (const RunSection& run : section.runs) files.push_back(named(*run.file));
    }
  }

  /// What several of a recorded program would do together.
  Result<void> predict_recordings() {
    for (RecordingSection& section : report_.recordings) {
      if (!section.gpu || section.file->trace(TraceKind::kRecorded) == nullptr) continue;
      COHORT_CHECK(keep(recommend({named(*section.file)}, options_.models, forecast_options()), section));
    }
    return {};
  }

  void say_what_is_missing() {
    const auto say = [&](std::string sentence) { report_.missing.push_back(std::move(sentence)); };
    for (const PlanSection& section : report_.plans) {
      const std::string of = fmt::format("of {}", members_text(section.plan));
      const auto file = std::find_if(section.files.begin(), section.files.end(),
                                     [](const ReportFile* each) { return each->plan() != nullptr; });
      const std::string plan = file != section.files.end() ? (*file)->path.filename().string() : "PLAN";
      if (section.recommended) {
        say(
            fmt::format("No file is a plan {}: the page shows what is recommended. `cohort plan {} -n {}` writes that "
                        "plan and its predicted trace, `cohort run` measures it.",
                        of, section.files.front()->path.filename().string(), section.plan.members.size()));
        continue;
      }
      if (section.predicted == nullptr) {
        say(fmt::format("No predicted trace of the plan {}: `cohort simulate PROFILE --plan {} -o predicted.json.gz`.",
                        of, plan));
      }
      if (section.runs.empty())
        say(fmt::format("No measured trace of the plan {}: `cohort run {}` measures it.", of, plan));
      if (options_.predict && !section.forecast) {
        say(
            fmt::format("Where the gain comes from, other plans and other numbers of models are not shown for the plan "
                        "{}: {}. `cohort profile MODEL` makes a profile.",
                        of, section.no_forecast));
      }
    }
    for (const RecordingSection& recording : report_.recordings) {
      if (!recording.no_forecast.empty()) {
        say(fmt::format("What several of the program in {} would do together is not shown: {}.",
                        recording.file->path.filename().string(), recording.no_forecast));
      }
    }
  }

  [[nodiscard]] std::string title() const {
    if (!report_.plans.empty()) {
      const PlanSection& first = report_.plans.front();
      std::string text = members_text(first.plan);
      if (first.plan.members.size() > 1) text += " together";
      if (report_.plans.size() > 1)
        text += fmt::format(", and {} more plan{}", report_.plans.size() - 1, report_.plans.size() == 2 ? "" : "s");
      return text;
    }
    return files_.empty() ? "No files" : files_.front().path.filename().string();
  }

  std::span<const ReportFile> files_;
  const ReportOptions& options_;
  Report report_;
};

}  // namespace

Result<Report> make_report(std::span<const ReportFile> files, const ReportOptions& options) {
  return ReportMaker(files, options).make();
}

}  // namespace cohort
