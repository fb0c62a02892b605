#include "view/compare/difference_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include "base/csv.hpp"
#include "base/statistics.hpp"

namespace cohort {
namespace {

constexpr PerSide<CompareSide> kTableSides{CompareSide::kPredicted, CompareSide::kMeasured};

DifferenceRow row_named(const SliceIdentity& identity, DifferencesBy by) {
  DifferenceRow row;
  switch (by) {
    case DifferencesBy::kSlice:
    case DifferencesBy::kTask:
      row.name = identity.name;
      row.op = identity.op;
      row.group = identity.group;
      break;
    case DifferencesBy::kOp:
      row.name = row.op = identity.op.empty() ? identity.name : identity.op;
      break;
    case DifferencesBy::kOpType:
      row.name = identity.op_type.empty() ? "other" : identity.op_type;
      break;
    case DifferencesBy::kGroup:
      row.name = row.group = identity.group.empty() ? "no group" : identity.group;
      break;
  }
  return row;
}

Nanoseconds& time_of(ComparedTime& time, CompareSide side) {
  return side == CompareSide::kPredicted ? time.predicted : time.measured;
}

/// Mean of start shifts, by what they are of.
struct MeanShift {
  Nanoseconds sum{};
  std::int64_t pairs = 0;
};

/// Rows by name while they are summed up.
class Rows {
 public:
  Rows(const TraceComparison& comparison, const Overlay& overlay, DifferencesBy by)
      : comparison_(&comparison), overlay_(&overlay), by_(by) {}

  std::vector<DifferenceRow> sum() {
    for (const CompareSide side : kTableSides) add(side);
    add_shifts();
    std::vector<DifferenceRow> rows;
    for (auto& [name, row] : rows_) {
      for (const CompareSide side : kTableSides) in_order_of_start(side, row.slices[to_index(side)]);
      rows.push_back(std::move(row));
    }
    return rows;
  }

 private:
  /// Two identities of one name may differ in op or category.
  [[nodiscard]] std::string key_of(IdentityId id) const {
    const SliceIdentity& identity = comparison_->identity(id);
    if (by_ == DifferencesBy::kTask) return fmt::format("{}\n{}\n{}", identity.name, identity.op, identity.category);
    return row_named(identity, by_).name;
  }

  DifferenceRow& row_of(IdentityId id) {
    const auto [found, is_new] = rows_.try_emplace(key_of(id));
    if (is_new) found->second = row_named(comparison_->identity(id), by_);
    return found->second;
  }

  [[nodiscard]] bool in_scope(const KeyedSlice& slice, CompareSide side) const {
    return overlay_->settings.scope == CompareScope::kAllSteps ||
           slice.step == *overlay_->settings.step[to_index(side)];
  }

  /// One identity after another: its time in each step, of these the median.
  void add(CompareSide side) {
    const std::vector<KeyedSlice>& slices = comparison_->keyed().sides[to_index(side)].slices;
    const Trace& trace = comparison_->trace(side);
    std::size_t i = 0;
    while (i < slices.size()) {
      const IdentityId identity = slices[i].identity;
      DifferenceRow* row = nullptr;
      std::vector<Nanoseconds> of_steps;
      std::optional<std::uint32_t> step;
      for (; i < slices.size() && slices[i].identity == identity; ++i) {
        if (!in_scope(slices[i], side)) continue;
        if (row == nullptr) row = &row_of(identity);
        if (step != slices[i].step) of_steps.emplace_back(0);
        step = slices[i].step;
        of_steps.back() += trace.slice(slices[i].slice).duration;
        row->slices[to_index(side)].push_back(slices[i].slice);
      }
      if (row != nullptr) time_of(row->time, side) += median(std::move(of_steps));
    }
  }

  void add_shifts() {
    std::map<DifferenceRow*, MeanShift> shifts;
    std::vector<DifferenceRow*> by_identity(comparison_->keyed().identities.size());
    for (const SlicePair& pair : overlay_->pairs) {
      if (!overlay_->in_scope(pair)) continue;
      DifferenceRow*& row = by_identity[to_index(pair.identity)];
      if (row == nullptr) row = &row_of(pair.identity);
      MeanShift& shift = shifts[row];
      shift.sum += start_shift(*comparison_, *overlay_, pair);
      ++shift.pairs;
    }
    for (const auto& [row, shift] : shifts) row->start_shift = shift.sum / shift.pairs;
  }

  void in_order_of_start(CompareSide side, std::vector<SliceId>& slices) const {
    const Trace& trace = comparison_->trace(side);
    std::sort(slices.begin(), slices.end(), [&](SliceId a, SliceId b) {
      return std::tuple(trace.slice(a).start, a) < std::tuple(trace.slice(b).start, b);
    });
  }

  const TraceComparison* comparison_;
  const Overlay* overlay_;
  DifferencesBy by_;
  std::map<std::string, DifferenceRow> rows_;
};

std::vector<DifferenceRow> by_slice(const TraceComparison& comparison, const Overlay& overlay) {
  std::vector<DifferenceRow> rows;
  for (const SlicePair& pair : overlay.pairs) {
    if (!overlay.in_scope(pair)) continue;
    DifferenceRow row = row_named(comparison.identity(pair.identity), DifferencesBy::kSlice);
    row.time = times_of(comparison, pair);
    row.start_shift = start_shift(comparison, overlay, pair);
    row.slices = {{{pair.slice[0]}, {pair.slice[1]}}};
    rows.push_back(std::move(row));
  }
  return rows;
}

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool contains(std::string_view text, std::string_view part) {
  return std::search(text.begin(), text.end(), part.begin(), part.end(),
                     [](char a, char b) { return lower(a) == lower(b); }) != text.end();
}

}  // namespace

std::string_view to_string(DifferencesBy by) {
  switch (by) {
    case DifferencesBy::kSlice:
      return "slice";
    case DifferencesBy::kTask:
      return "task";
    case DifferencesBy::kOp:
      return "op";
    case DifferencesBy::kOpType:
      return "kind of work";
    case DifferencesBy::kGroup:
      return "group";
  }
  return "";
}

std::vector<DifferenceRow> differences(const TraceComparison& comparison, const Overlay& overlay, DifferencesBy by) {
  std::vector<DifferenceRow> rows =
      by == DifferencesBy::kSlice ? by_slice(comparison, overlay) : Rows(comparison, overlay, by).sum();
  sort_differences(rows, DifferenceOrder::kTime);
  return rows;
}

void sort_differences(std::vector<DifferenceRow>& rows, DifferenceOrder order) {
  const auto size = [order](const DifferenceRow& row) {
    if (order == DifferenceOrder::kTime) return static_cast<double>(std::abs(row.difference().count()));
    const auto error = row.relative_error();
    return error ? std::abs(*error) : std::numeric_limits<double>::lowest();
  };
  std::stable_sort(rows.begin(), rows.end(), [&](const DifferenceRow& a, const DifferenceRow& b) {
    const double of_a = size(a);
    const double of_b = size(b);
    return of_a != of_b ? of_a > of_b : a.name < b.name;
  });
}

bool matches(const DifferenceRow& row, std::string_view text) {
  return contains(row.name, text) || contains(row.op, text) || contains(row.group, text);
}

std::string differences_csv(std::span<const DifferenceRow> rows) {
  std::string csv =
      "name,op,group,predicted_slices,measured_slices,predicted_ns,measured_ns,difference_ns,relative_error,"
      "start_shift_ns\r\n";
  for (const DifferenceRow& row : rows) {
    const auto error = row.relative_error();
    csv += fmt::format("{},{},{},{},{},{},{},{},{},{}\r\n", csv_field(row.name), csv_field(row.op),
                       csv_field(row.group), row.slices[0].size(), row.slices[1].size(), row.time.predicted.count(),
                       row.time.measured.count(), row.difference().count(), error ? fmt::format("{:.4f}", *error) : "",
                       row.start_shift ? fmt::format("{}", row.start_shift->count()) : "");
  }
  return csv;
}

}  // namespace cohort
