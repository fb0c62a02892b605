#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "view/report/html_writer.hpp"
#include "view/report/report.hpp"

namespace cohort {

// The parts of the page, each where there is anything to show.

/// A plan: what it is, why, what else there would be, its memory, and its runs.
void write_plan(HtmlWriter& html, const PlanSection& section);
/// Why, other ways, other numbers of models. `what` it is of: "this plan".
void write_forecast(HtmlWriter& html, const Forecast& forecast, const std::string& what);
void write_run(HtmlWriter& html, const PlanSection& section, const RunSection& run);
void write_profile(HtmlWriter& html, const ProfileSection& section);
void write_recording(HtmlWriter& html, const RecordingSection& section);
void write_processes(HtmlWriter& html, const ProcessesSection& section);
/// Where all of it comes from.
void write_provenance(HtmlWriter& html, const Report& report);

// Words that parts share.

/// "16 lenet5", "3 lenet5 and 2 mlp"; of many models the first and how many more.
std::string members_text(const Plan& plan);
/// "0-7, 9".
std::string positions_text(const std::vector<std::uint32_t>& positions);
/// "1.50x".
std::string ratio_text(double ratio);
/// "+3.2%"; "-" where it is not known.
std::string error_text(std::optional<double> error);
/// "180 us (median of 9, 159 us to 227 us), 11 disturbed ones left out".
std::string wall_text(const WallTimes& wall);
std::optional<Nanoseconds> median_of(const TraceInfo& info, std::string_view what);
/// "AMD EPYC (cpu:0), 2 cores, 23.5 GiB".
std::string device_text(const DeviceInfo& device);

}  // namespace cohort
