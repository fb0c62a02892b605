#include "tracer/summary/profile_summary.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/statistics.hpp"
#include "tracer/summary/report_text.hpp"

namespace cohort {
namespace {

constexpr std::string_view kAlone = "serial";

bool is_op(std::string_view signature) {
  constexpr std::array kOthers{kStepOverheadRecord, kLaunchOverheadRecord, kHandoffRecord,
                               kSpinTimeRecord,     kRoundTripRecord,      kEventOverheadRecord,
                               kInputReadRecord,    kInputDecodeRecord,    kInputResizeRecord};
  return !signature.starts_with("Copy ") && std::find(kOthers.begin(), kOthers.end(), signature) == kOthers.end();
}

auto way_key(const ProfileRecord& record) {
  return std::tie(record.strategy, record.width, record.threads, record.algorithm);
}

bool is_warm_and_alone(const ProfileRecord& record) {
  const bool is_warm = record.state == ProfileState::kWarm || record.state == ProfileState::kInModel;
  return is_warm && record.neighbours == 0 && record.around == 0;
}

auto case_key(const ProfileRecord& record) {
  return std::tuple(way_key(record), record.state, record.neighbours, record.around, record.footprint, record.workspace,
                    record.packed_weights);
}

bool comes_first(const WaySummary& a, const WaySummary& b) {
  const auto rank = [](const WaySummary& way) {
    const ProfileRecord& record = way.record;
    return std::tuple(record.strategy != kAlone, std::string_view(record.strategy), record.width, record.state,
                      record.time, record.threads, std::string_view(record.algorithm), record.neighbours, record.around,
                      record.footprint, record.workspace, record.packed_weights);
  };
  return rank(a) < rank(b);
}

/// The records of one case, ascending by time.
WaySummary summarize_way(std::span<const ProfileRecord> records) {
  std::vector<Nanoseconds> times;
  for (const ProfileRecord& record : records) times.push_back(record.time);
  WaySummary way;
  way.record = records.front();
  way.record.time = median(times);
  way.samples = static_cast<std::int64_t>(times.size());
  way.p10 = quantile(times, 0.1);
  way.p90 = quantile(times, 0.9);
  return way;
}

OpSummary summarize_op(std::string name, std::vector<ProfileRecord> records) {
  OpSummary op{std::move(name), records.front().signature, {}, {}};
  std::sort(records.begin(), records.end(), [](const ProfileRecord& a, const ProfileRecord& b) {
    return std::tuple(case_key(a), a.time) < std::tuple(case_key(b), b.time);
  });
  for (auto begin = records.begin(); begin != records.end();) {
    const auto end =
        std::find_if(begin, records.end(), [&](const ProfileRecord& r) { return case_key(r) != case_key(*begin); });
    WaySummary way = summarize_way({begin, end});
    // Footprints ascend within a way that is warm and alone.
    way.is_plain = is_warm_and_alone(way.record) && (op.ways.empty() || !is_warm_and_alone(op.ways.back().record) ||
                                                     way_key(op.ways.back().record) != way_key(way.record));
    op.ways.push_back(std::move(way));
    begin = end;
  }
  std::sort(op.ways.begin(), op.ways.end(), comes_first);
  const auto best = std::find_if(op.ways.begin(), op.ways.end(),
                                 [](const WaySummary& way) { return way.is_plain && way.record.strategy == kAlone; });
  if (best != op.ways.end()) op.best = best->record.time;
  return op;
}

/// Without what is as usual, and without weights: "Convolution kernel=3x3 + Relu x[1,64,56,56] -> [1,64,56,56]".
std::string short_signature(const std::string& signature) {
  constexpr std::array<std::string_view, 4> kUsual{"stride=1x1", "pad=0x0+0x0", "dilation=1x1", "groups=1"};
  std::string text;
  for (std::size_t at = 0; at < signature.size();) {
    const bool is_weight = signature.compare(at, 2, "w[") == 0;
    const std::size_t end = std::min(signature.find(is_weight ? ']' : ' ', at), signature.size());
    const std::string_view word = std::string_view(signature).substr(at, end - at);
    at = std::min(signature.find_first_not_of(is_weight ? "] " : " ", end), signature.size());
    if (is_weight || std::find(kUsual.begin(), kUsual.end(), word) != kUsual.end()) continue;
    text += text.empty() || text.ends_with(',') ? "" : " ";
    text += word;
  }
  return text;
}

std::string way_text(const ProfileRecord& record) {
  std::string text = record.algorithm.empty() ? std::string("first choice") : record.algorithm;
  text += fmt::format(", {} thread{}", record.threads, plural(record.threads));
  if (record.strategy != kAlone) text += fmt::format(", {} of {}", record.strategy, record.width);
  return text;
}

}  // namespace

std::vector<OpSummary> summarize_profile(const Trace& trace) {
  if (trace.info.kind != TraceKind::kProfile) return {};
  std::map<std::string, std::pair<std::string, std::vector<ProfileRecord>>> found;
  for (const Slice& slice : trace.slices) {
    auto record = profile_record_of(trace, slice);
    if (!record || !is_op(record->signature)) continue;
    auto& [name, records] = found[record->signature];
    if (records.empty()) name = trace.name(slice);
    records.push_back(*std::move(record));
  }
  std::vector<OpSummary> ops;
  for (auto& [signature, op] : found) ops.push_back(summarize_op(std::move(op.first), std::move(op.second)));
  std::stable_sort(ops.begin(), ops.end(), [](const OpSummary& a, const OpSummary& b) { return a.best > b.best; });
  return ops;
}

std::string format_profile_summary(const std::vector<OpSummary>& ops, std::size_t most) {
  if (ops.empty()) return {};
  std::string out = "ops, weights in the caches, nothing beside them; the time of a fused way is of all its members\n";
  line(out, "  {:>9}  {:>9}  {:>9}  {:>9}  way", "median", "p10", "p90", "workspace");
  for (std::size_t i = 0; i < std::min(most, ops.size()); ++i) {
    line(out, "  {}: {}", ops[i].name, shortened(short_signature(ops[i].signature)));
    for (const WaySummary& way : ops[i].ways) {
      if (!way.is_plain) continue;
      line(out, "  {:>9}  {:>9}  {:>9}  {:>9}  {}", format_time(way.record.time), format_time(way.p10),
           format_time(way.p90), format_bytes(way.record.workspace), way_text(way.record));
    }
  }
  if (most < ops.size()) line(out, "  ... and {} more", ops.size() - most);
  return out;
}

}  // namespace cohort
