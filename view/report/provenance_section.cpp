#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <utility>

#include "base/statistics.hpp"
#include "simulator/plan/plan.hpp"
#include "view/report/sections.hpp"

namespace cohort {
namespace {

std::string kind_of(const ReportFile& file) {
  if (file.plan() != nullptr) return "plan";
  if (file.step_times() != nullptr) return "step times";
  return fmt::format("{} trace", to_string(file.trace()->info.kind));
}

/// How much longer steps take while they are traced.
std::string perturbation(const TraceInfo& info) {
  const std::pair<const char*, const char*> pairs[] = {{"plan", "plan traced"}, {"model untraced", "model traced"}};
  for (const auto& [without, with] : pairs) {
    const auto plain = median_of(info, without);
    const auto traced = median_of(info, with);
    if (plain && traced && *plain > Nanoseconds{})
      return fmt::format("{:+.1f}%", 100 * (seconds(*traced) / seconds(*plain) - 1));
  }
  return "";
}

std::string dropped_text(const TraceInfo& info) {
  std::vector<std::string> parts;
  for (const auto& [reason, count] : info.dropped) {
    if (count > 0) parts.push_back(fmt::format("{} {}", count, reason));
  }
  return parts.empty() ? "none" : fmt::format("{}", fmt::join(parts, ", "));
}

HtmlRow row_of(const ReportFile& file) {
  HtmlRow row = {{file.path.string()}, {kind_of(file)}};
  if (file.trace() == nullptr) {
    row.insert(row.end(), {{""}, {""}, {""}, {""}});
    return row;
  }
  const TraceInfo& info = file.trace()->info;
  const auto setting = [&](const char* key) {
    const auto found = info.settings.find(key);
    return found == info.settings.end() ? std::string() : found->second;
  };
  row.insert(row.end(), {{setting("date")}, {setting("cohort")}, {perturbation(info)}, {dropped_text(info)}});
  return row;
}

/// Devices that are alike are told of once.
void write_devices(HtmlWriter& html, const Report& report) {
  std::map<std::string, std::vector<std::string>> files_by_text;
  std::map<std::string, const DeviceInfo*> devices;
  for (const ReportFile* file : report.files) {
    const Trace* trace = file->trace();
    if (trace == nullptr) continue;
    std::string text = device_text(trace->info.device);
    for (const auto& [key, value] : trace->info.device.settings) text += fmt::format("\n{}={}", key, value);
    files_by_text[text].push_back(file->path.filename().string());
    devices.emplace(std::move(text), &trace->info.device);
  }
  for (const auto& [text, device] : devices) {
    html.heading(device_text(*device), 3);
    html.paragraph(fmt::format("Of {}.", fmt::join(files_by_text[text], ", ")), "faint");
    std::vector<std::pair<std::string, std::string>> facts(device->settings.begin(), device->settings.end());
    html.facts(facts);
  }
}

void write_settings(HtmlWriter& html, const ReportFile& file) {
  const Trace* trace = file.trace();
  if (trace == nullptr || trace->info.settings.empty()) return;
  std::string text;
  for (const auto& [key, value] : trace->info.settings) text += fmt::format("{}: {}\n", key, value);
  html.folded(fmt::format("All settings of {}", file.path.filename().string()), text);
}

}  // namespace

void write_provenance(HtmlWriter& html, const Report& report) {
  html.open_section("Where this comes from");
  std::vector<HtmlRow> rows;
  for (const ReportFile* file : report.files) rows.push_back(row_of(*file));
  html.table("The files of this page; tracing: how much longer steps took while they were traced.",
             {{"file"}, {"kind"}, {"made"}, {"by cohort"}, {"tracing"}, {"records dropped"}}, rows);
  write_devices(html, report);
  for (const ReportFile* file : report.files) write_settings(html, *file);
  for (const PlanSection& section : report.plans)
    html.folded(fmt::format("The plan of {} as JSON", members_text(section.plan)), write_plan(section.plan));
  html.close_section();
}

}  // namespace cohort
