#include "simulator/colocation/step_times.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <tuple>

#include "base/csv.hpp"
#include "base/file.hpp"

namespace cohort {
namespace {

using Columns = std::map<std::string, std::size_t, std::less<>>;  // places by name

constexpr std::array<std::string_view, 4> kTimeColumns{"step_ms", "step_us", "samples_per_s", "samples_per_s_each"};
constexpr std::array<std::string_view, 2> kShareColumns{"gpcs", "sm_percent"};
constexpr std::array<std::string_view, 5> kOtherColumns{"minibatch", "processes", "gpu_busy_ms", "dram_percent",
                                                        "part"};

template <std::size_t N>
std::vector<std::string_view> there(const Columns& columns, const std::array<std::string_view, N>& names) {
  std::vector<std::string_view> found;
  std::copy_if(names.begin(), names.end(), std::back_inserter(found),
               [&](std::string_view name) { return columns.contains(name); });
  return found;
}

/// One row while it is read.
class Row {
 public:
  Row(const Columns& columns, const std::vector<std::string>& fields, std::size_t line)
      : columns_(columns), fields_(fields), line_(line) {}

  /// Nothing where there is no such column, or nothing in it.
  [[nodiscard]] Result<std::optional<double>> number(std::string_view name, double least, double most) const {
    const std::string field = text(name);
    if (field.find_first_not_of(" \t") == std::string::npos) return std::nullopt;
    const auto value = csv_number(field);
    if (!value)
      return fail(ErrorCode::kInvalidInput, "line {}: column {} must be a number, not \"{}\"", line_, name, field);
    if (*value < least || *value > most)
      return fail(ErrorCode::kInvalidInput, "line {}: column {} must be {:g} to {:g}, not {}", line_, name, least, most,
                  field);
    return value;
  }
  [[nodiscard]] Result<std::optional<std::int64_t>> count(std::string_view name, double most) const {
    COHORT_TRY(const std::optional<double> value, number(name, 1, most));
    if (!value) return std::nullopt;
    if (*value != std::floor(*value))
      return fail(ErrorCode::kInvalidInput, "line {}: column {} must be a whole number, not {:g}", line_, name, *value);
    return static_cast<std::int64_t>(*value);
  }
  [[nodiscard]] std::string text(std::string_view name) const {
    const auto place = columns_.find(name);
    return place == columns_.end() ? std::string() : fields_[place->second];
  }

 private:
  const Columns& columns_;
  const std::vector<std::string>& fields_;
  std::size_t line_;
};

Nanoseconds milliseconds(double time) { return Nanoseconds(std::llround(time * 1e6)); }

constexpr std::size_t kMostRows = 10'000;  // each is held against each
constexpr double kMostMinibatch = 1e6;
constexpr double kLeastTime = 1e-3;  // in ms
constexpr double kMostTime = 1e7;

Result<StepTime> step_time_of(const Row& row, std::string_view time_column, std::string_view share_column,
                              std::size_t line) {
  StepTime step;
  step.line = line;
  step.part = row.text("part");
  COHORT_TRY(const auto minibatch, row.count("minibatch", kMostMinibatch));
  if (!minibatch) return fail(ErrorCode::kInvalidInput, "line {}: column minibatch is empty", line);
  step.minibatch = *minibatch;
  COHORT_TRY(const auto processes, row.count("processes", kMostMpsClients));
  step.processes = static_cast<int>(processes.value_or(1));
  if (!share_column.empty()) {
    COHORT_TRY(const auto share, row.number(share_column, 1, share_column == "gpcs" ? 16 : 100));
    if (!share) return fail(ErrorCode::kInvalidInput, "line {}: column {} is empty", line, share_column);
    step.share = *share;
  }
  const bool rate = time_column.starts_with("samples");
  COHORT_TRY(const auto time, row.number(time_column, rate ? 1e-6 : kLeastTime, rate ? 1e12 : 1e3 * kMostTime));
  if (!time) return fail(ErrorCode::kInvalidInput, "line {}: column {} is empty", line, time_column);
  const double factor = time_column == "step_us" ? 1e-3 : 1;
  step.step = milliseconds(rate ? 1e3 * static_cast<double>(step.minibatch) / *time : factor * *time);
  if (step.step <= Nanoseconds(0))
    return fail(ErrorCode::kInvalidInput, "line {}: column {}: a step would take no time at all", line, time_column);
  COHORT_TRY(const auto busy, row.number("gpu_busy_ms", kLeastTime, kMostTime));
  if (busy) {
    step.gpu_busy = milliseconds(*busy);
    if (*step.gpu_busy > step.step)
      return fail(ErrorCode::kInvalidInput, "line {}: the GPU is busy for {}, longer than the step of {}", line,
                  format_time(*step.gpu_busy), format_time(step.step));
  }
  COHORT_TRY(const auto dram, row.number("dram_percent", 0, 100));
  if (dram) step.dram = *dram / 100;
  return step;
}

/// A larger minibatch, or less of the GPU, cannot make a step this much shorter; smaller differences are noise, and
/// libraries that choose other algorithms.
constexpr double kContradiction = 0.6;

Result<void> check_rows(const std::vector<StepTime>& rows) {
  std::map<std::tuple<std::int64_t, double, std::string, int>, std::size_t> lines;
  for (const StepTime& row : rows) {
    const auto [known, is_new] = lines.try_emplace({row.minibatch, row.share, row.part, row.processes}, row.line);
    if (!is_new)
      return fail(ErrorCode::kInvalidInput,
                  "line {}: the same minibatch, share and number of processes as in line {}; keep one of them",
                  row.line, known->second);
  }
  for (const StepTime& row : rows) {
    for (const StepTime& other : rows) {
      if (row.processes != 1 || other.processes != 1 || row.part != other.part) continue;
      const bool more_work = row.minibatch >= other.minibatch && row.share <= other.share;
      if (more_work && seconds(row.step) < kContradiction * seconds(other.step))
        return fail(
            ErrorCode::kInvalidInput,
            "line {}: a step of {} with minibatch {} contradicts line {}: {} with minibatch {} on as much of the "
            "GPU or more; correct or leave out the wrong one",
            row.line, format_time(row.step), row.minibatch, other.line, format_time(other.step), other.minibatch);
    }
  }
  return {};
}

}  // namespace

std::string share_text(ShareUnit unit, double share) {
  if (unit == ShareUnit::kAll) return "all";
  return unit == ShareUnit::kGpcs ? fmt::format("{:g} GPCs", share) : fmt::format("{:g}%", share);
}

Result<StepTimes> parse_step_times(std::string_view text) {
  CsvReader reader(text);
  std::vector<std::string> fields;
  COHORT_TRY(const bool any, reader.next(fields));
  if (!any) return fail(ErrorCode::kInvalidInput, "is empty; the first line must name the columns");
  COHORT_CHECK(check_csv_columns(fields));
  Columns columns;
  for (std::size_t i = 0; i < fields.size(); ++i) columns.emplace(fields[i], i);
  if (!columns.contains("minibatch"))
    return fail(ErrorCode::kInvalidInput, "the first line names no column minibatch, but {}", fmt::join(fields, ", "));
  const auto times = there(columns, kTimeColumns);
  if (times.size() != 1)
    return fail(ErrorCode::kInvalidInput, "the first line must name one of {}, and names {}",
                fmt::join(kTimeColumns, ", "), times.empty() ? "none" : fmt::format("{}", fmt::join(times, ", ")));
  const auto shares = there(columns, kShareColumns);
  if (shares.size() > 1)
    return fail(ErrorCode::kInvalidInput, "the first line names gpcs and sm_percent; keep one of them");
  const std::string_view share = shares.empty() ? std::string_view() : shares.front();

  StepTimes table;
  table.unit = share.empty() ? ShareUnit::kAll : share == "gpcs" ? ShareUnit::kGpcs : ShareUnit::kPercent;
  for (const std::string& name : fields) {
    const bool known = name == times.front() || name == share ||
                       std::find(kOtherColumns.begin(), kOtherColumns.end(), name) != kOtherColumns.end();
    if (!known) table.unused.push_back(name);
  }
  const std::size_t count = fields.size();
  while (true) {
    COHORT_TRY(const bool more, reader.next(fields));
    if (!more) break;
    if (fields.size() != count)
      return fail(ErrorCode::kInvalidInput, "line {}: {} fields; the first line names {} columns", reader.line(),
                  fields.size(), count);
    COHORT_TRY(StepTime row, step_time_of(Row(columns, fields, reader.line()), times.front(), share, reader.line()));
    table.rows.push_back(std::move(row));
    if (table.rows.size() > kMostRows)
      return fail(ErrorCode::kInvalidInput, "has more than {} rows; give one for each case, such as the median",
                  kMostRows);
  }
  const auto alone = [](const StepTime& row) { return row.processes == 1; };
  if (std::none_of(table.rows.begin(), table.rows.end(), alone))
    return fail(ErrorCode::kInvalidInput, "has no row of one process alone, from which several could be predicted");
  COHORT_CHECK(check_rows(table.rows));
  return table;
}

Result<StepTimes> read_step_times(const std::filesystem::path& file) {
  COHORT_TRY(const std::string text, read_file(file));
  auto times = parse_step_times(text);
  if (!times) return in_context(file.string(), times.error());
  return times;
}

std::optional<MeasuredTogether> measured_together(const StepTimes& times, const StepTime& alone, int processes) {
  const auto row = [&](int count) {
    return std::find_if(times.rows.begin(), times.rows.end(), [&](const StepTime& each) {
      return each.processes == count && each.minibatch == alone.minibatch && each.share == alone.share &&
             each.part == alone.part;
    });
  };
  const auto found = row(processes);
  if (processes < 2 || found == times.rows.end()) return std::nullopt;
  constexpr double kEqual = 0.002;
  const auto fewer = row(processes - 1);
  const bool one_died = fewer != times.rows.end() &&
                        std::abs(seconds(found->step) - seconds(fewer->step)) < kEqual * seconds(fewer->step);
  return MeasuredTogether{found->step, processes * seconds(alone.step) / seconds(found->step), one_died};
}

}  // namespace cohort
