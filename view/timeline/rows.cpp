#include "view/timeline/rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <numeric>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "tracer/slice_kind.hpp"

namespace cohort {
namespace {

/// Slices of a stream that lie on rows of their own: ranges and waits would overlap all the work.
enum class SliceClass : std::uint8_t { kWork, kRange, kWait };
constexpr std::size_t kClasses = 3;

/// What the slices of a track are, which says what the track is.
struct TrackContent {
  std::size_t device = 0;
  std::size_t tasks = 0;
  std::size_t input = 0;
  std::size_t measured = 0;
  std::size_t host = 0;
  std::size_t all = 0;
};

std::string trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return std::string(text);
}

bool has_part(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

RowKind kind_of(const Track& track, const TrackContent& content) {
  if (content.device > 0 || content.tasks > 0) return RowKind::kStream;
  if (content.input > 0) return has_part(track.thread, "copy") ? RowKind::kCopyEngine : RowKind::kWorker;
  if (content.measured > 0) return RowKind::kMeasurement;
  if (content.host > 0 || track.process == "host") return RowKind::kHostThread;
  return RowKind::kOther;
}

bool is_host(SliceKind kind) {
  return is_call(kind) || kind == SliceKind::kOp || kind == SliceKind::kAnnotation ||
         kind == SliceKind::kPythonFunction || kind == SliceKind::kOverhead;
}

class Drafter {
 public:
  Drafter(const Trace& trace, std::uint32_t part, RowGrouping grouping)
      : trace_(trace), part_(part), grouping_(grouping), kinds_(trace.strings), content_(trace.tracks.size()) {
    const auto category = [&](std::string_view name) { return trace.strings.find(name); };
    task_ = category("task");
    input_ = category("input");
    profile_ = category("profile");
    members_ = category("members");
    member_ = category("member");
  }

  RowDrafts draft() {
    look_at_tracks();
    out_.classes = kClasses;
    out_.class_of_category.resize(trace_.strings.size());
    for (std::size_t s = 0; s < trace_.strings.size(); ++s) {
      Slice slice;
      slice.category = static_cast<StringId>(s);
      out_.class_of_category[s] = static_cast<std::uint8_t>(class_of(kinds_(slice)));
    }
    add_track_rows();
    grouping_ == RowGrouping::kTracks ? count_by_track() : regroup();
    return std::move(out_);
  }

 private:
  static SliceClass class_of(SliceKind kind) {
    if (kind == SliceKind::kDeviceAnnotation) return SliceClass::kRange;
    if (kind == SliceKind::kSynchronization || kind == SliceKind::kEventRecord) return SliceClass::kWait;
    return SliceClass::kWork;
  }

  void look_at_tracks() {
    enum class Sort : std::uint8_t { kOther, kDevice, kTask, kInput, kMeasured, kHost, kRange, kWait };
    std::vector<Sort> sorts(trace_.strings.size(), Sort::kOther);
    for (std::size_t s = 0; s < sorts.size(); ++s) {
      Slice slice;
      slice.category = static_cast<StringId>(s);
      const SliceKind kind = kinds_(slice);
      if (is_device_work(kind)) sorts[s] = Sort::kDevice;
      if (class_of(kind) == SliceClass::kRange) sorts[s] = Sort::kRange;
      if (class_of(kind) == SliceClass::kWait) sorts[s] = Sort::kWait;
      if (is_host(kind)) sorts[s] = Sort::kHost;
    }
    if (task_) sorts[to_index(*task_)] = Sort::kTask;
    if (input_) sorts[to_index(*input_)] = Sort::kInput;
    if (profile_) sorts[to_index(*profile_)] = Sort::kMeasured;
    std::vector<std::array<std::size_t, 8>> found(trace_.tracks.size());
    for (const Slice& slice : trace_.slices)
      ++found[to_index(slice.track)][static_cast<std::size_t>(sorts[to_index(slice.category)])];
    for (std::size_t t = 0; t < found.size(); ++t) {
      const auto of = [&](Sort sort) { return found[t][static_cast<std::size_t>(sort)]; };
      const std::size_t all = std::accumulate(found[t].begin(), found[t].end(), std::size_t{0});
      const std::size_t apart = of(Sort::kRange) + of(Sort::kWait);
      content_[t] = {of(Sort::kDevice) + apart, of(Sort::kTask), of(Sort::kInput),
                     of(Sort::kMeasured),       of(Sort::kHost), all};
      counts_.push_back({all - apart, of(Sort::kRange), of(Sort::kWait)});
    }
  }

  void add_track_rows() {
    out_.row_of_track.assign(trace_.tracks.size() * kClasses, 0);
    for (std::size_t t = 0; t < trace_.tracks.size(); ++t) {
      if (content_[t].all == 0) continue;
      const Track& track = trace_.tracks[t];
      const RowKind kind = kind_of(track, content_[t]);
      const std::string group = trimmed(track.process);
      std::string title = trimmed(track.thread);
      if (title.empty()) title = fmt::format("track {}", track.tid);
      // Where rows go together under one title, work has no row of its own here.
      const std::uint32_t row = add_row(kind, group, title, title, static_cast<TrackId>(t));
      for (std::size_t c = 0; c < kClasses; ++c) out_.row_of_track[t * kClasses + c] = row;
      if (kind != RowKind::kStream) continue;
      const auto put = [&](SliceClass apart, RowKind own, const char* what) {
        out_.row_of_track[t * kClasses + static_cast<std::size_t>(apart)] =
            add_row(own, group, fmt::format("{} {}", title, what), title, static_cast<TrackId>(t));
      };
      put(SliceClass::kRange, RowKind::kRanges, "ranges");
      put(SliceClass::kWait, RowKind::kWaits, "waits");
    }
  }

  void count_by_track() {
    out_.counts.resize(out_.rows.size());
    for (std::size_t t = 0; t < counts_.size(); ++t) {
      if (content_[t].all == 0) continue;
      for (std::size_t c = 0; c < kClasses; ++c) out_.counts[out_.row_of_track[t * kClasses + c]] += counts_[t][c];
    }
  }

  std::uint32_t add_row(RowKind kind, const std::string& group, std::string title, std::string base, TrackId track) {
    RowDrafts::Draft draft;
    draft.row.kind = kind;
    draft.row.part = part_;
    draft.row.group = group;
    draft.row.title = std::move(title);
    draft.base = std::move(base);
    draft.tracks.push_back(track);
    out_.rows.push_back(std::move(draft));
    return static_cast<std::uint32_t>(out_.rows.size() - 1);
  }

  /// Device work moves from its streams' rows to those of members or engines.
  void regroup() {
    std::vector<std::uint32_t> rows(trace_.slices.size());
    std::map<std::tuple<std::string, std::string>, std::uint32_t> known;
    std::set<std::pair<std::uint32_t, TrackId>> listed;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const Slice& slice = trace_.slices[i];
      const std::uint32_t own = out_.row_of(trace_, i);
      rows[i] = own;
      if (!is_device_row(out_.rows[own].row.kind)) continue;
      const std::string title = grouping_ == RowGrouping::kMembers ? member_title(slice) : engine_title(slice);
      if (title.empty()) continue;
      const std::string group = out_.rows[own].row.group;
      const RowKind kind = grouping_ == RowGrouping::kMembers ? RowKind::kMember
                           : title.starts_with("cop")         ? RowKind::kCopyEngine
                                                              : RowKind::kStream;
      const auto [found, is_new] = known.try_emplace({group, title}, 0);
      if (is_new) found->second = add_row(kind, group, title, title, slice.track);
      // add_row() has listed the first slice's track.
      if (listed.emplace(found->second, slice.track).second && !is_new)
        out_.rows[found->second].tracks.push_back(slice.track);
      rows[i] = found->second;
    }
    out_.counts.resize(out_.rows.size());
    for (const std::uint32_t row : rows) ++out_.counts[row];
    out_.row_of_slice = std::move(rows);
  }

  [[nodiscard]] std::string member_title(const Slice& slice) const {
    if (!slice.args) return {};
    for (const auto& [key, value] : trace_.args[to_index(*slice.args)]) {
      if (key == members_) {
        const auto* text = std::get_if<StringId>(&value);
        if (text != nullptr) {
          const std::string_view members = trace_.strings[*text];
          const bool several = members.find_first_of("-,") != std::string_view::npos;
          return fmt::format("{} {}", several ? "members" : "member", members);
        }
      }
      const auto* number = std::get_if<std::int64_t>(&value);
      if (key == member_ && number != nullptr) return fmt::format("member {}", *number);
    }
    return {};
  }

  [[nodiscard]] std::string engine_title(const Slice& slice) const {
    const SliceKind kind = kinds_(slice);
    if (kind == SliceKind::kMemset) return "memory set";
    if (kind == SliceKind::kKernel || kind == SliceKind::kGraph || slice.category == task_) return "kernels";
    if (kind != SliceKind::kCopy) return {};
    const std::string_view name = trace_.name(slice);
    if (has_part(name, "HtoD")) return "copies host to device";
    if (has_part(name, "DtoH")) return "copies device to host";
    if (has_part(name, "PtoP")) return "copies between devices";
    return "copies on the device";
  }

  const Trace& trace_;
  std::uint32_t part_;
  RowGrouping grouping_;
  SliceKinds kinds_;
  std::vector<TrackContent> content_;
  std::vector<std::array<std::size_t, kClasses>> counts_;  ///< by track and class
  std::optional<StringId> task_;
  std::optional<StringId> input_;
  std::optional<StringId> profile_;
  std::optional<StringId> members_;
  std::optional<StringId> member_;
  RowDrafts out_;
};

int rank_of(RowKind kind) {
  switch (kind) {
    case RowKind::kRanges:
    case RowKind::kStream:
    case RowKind::kCopyEngine:
    case RowKind::kWaits:
    case RowKind::kMember:
    case RowKind::kMeasurement:
      return 0;
    case RowKind::kWorker:
      return 1;
    case RowKind::kHostThread:
      return 2;
    case RowKind::kOther:
      break;
  }
  return 3;
}

/// Where an engine's row stands among a device's: those of streams come first.
int engine_rank(RowKind kind) { return kind == RowKind::kCopyEngine ? 1 : 0; }

std::vector<std::size_t> order_of_part(const std::vector<RowDrafts::Draft>& rows, std::vector<std::size_t> order) {
  std::map<std::pair<int, std::string_view>, Nanoseconds> activity;  // of groups
  for (const std::size_t i : order) activity[{rank_of(rows[i].row.kind), rows[i].row.group}] += rows[i].row.busy;
  const auto natural = [](const std::string& a, const std::string& b) {
    return naturally_before(a, b) ? -1 : naturally_before(b, a) ? 1 : 0;
  };
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const TimelineRow& x = rows[a].row;
    const TimelineRow& y = rows[b].row;
    const int rank = rank_of(x.kind);
    if (rank != rank_of(y.kind)) return rank < rank_of(y.kind);
    if (rank >= 2) {
      const Nanoseconds of_x = activity[{rank, x.group}];
      const Nanoseconds of_y = activity[{rank, y.group}];
      if (of_x != of_y) return of_x > of_y;
    }
    if (const int group = natural(x.group, y.group); group != 0) return group < 0;
    if (rank >= 2 && x.busy != y.busy) return x.busy > y.busy;
    if (engine_rank(x.kind) != engine_rank(y.kind)) return engine_rank(x.kind) < engine_rank(y.kind);
    if (const int base = natural(rows[a].base, rows[b].base); base != 0) return base < 0;
    return x.kind < y.kind;
  });
  return order;
}

}  // namespace

bool naturally_before(std::string_view a, std::string_view b) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  while (!a.empty() && !b.empty()) {
    if (is_digit(a.front()) && is_digit(b.front())) {
      const auto number = [&](std::string_view& text) {
        while (text.size() > 1 && text.front() == '0' && is_digit(text[1])) text.remove_prefix(1);
        std::size_t digits = 0;
        while (digits < text.size() && is_digit(text[digits])) ++digits;
        const std::string_view value = text.substr(0, digits);
        text.remove_prefix(digits);
        return value;
      };
      const std::string_view x = number(a);
      const std::string_view y = number(b);
      if (x.size() != y.size()) return x.size() < y.size();
      if (x != y) return x < y;
    } else {
      if (a.front() != b.front()) return a.front() < b.front();
      a.remove_prefix(1);
      b.remove_prefix(1);
    }
  }
  return a.empty() && !b.empty();
}

RowDrafts draft_rows(const Trace& trace, std::uint32_t part, RowGrouping grouping) {
  return Drafter(trace, part, grouping).draft();
}

std::vector<std::size_t> order_rows(const std::vector<RowDrafts::Draft>& rows, PartLayout layout) {
  std::map<std::uint32_t, std::vector<std::size_t>> by_part;
  for (std::size_t i = 0; i < rows.size(); ++i) by_part[rows[i].row.part].push_back(i);
  std::vector<std::vector<std::size_t>> parts;
  for (auto& [part, of_part] : by_part) parts.push_back(order_of_part(rows, std::move(of_part)));
  std::vector<std::size_t> order;
  std::vector<bool> placed(rows.size());
  const auto place = [&](std::size_t i) {
    if (!placed[i]) order.push_back(i);
    placed[i] = true;
  };
  // Of the same name and kind; where a part has one device only, whatever that is called.
  std::vector<std::map<RowKind, std::set<std::string_view>>> groups(parts.size());
  using Name = std::tuple<RowKind, std::string_view, std::string_view>;  // kind, title, group
  std::vector<std::map<Name, std::deque<std::size_t>>> open(parts.size());
  for (std::size_t p = 0; p < parts.size(); ++p) {
    for (const std::size_t i : parts[p]) {
      const TimelineRow& row = rows[i].row;
      groups[p][row.kind].insert(row.group);
      open[p][{row.kind, row.title, row.group}].push_back(i);
    }
  }
  for (std::size_t p = 0; p < parts.size(); ++p) {
    for (const std::size_t i : parts[p]) {
      place(i);
      if (layout != PartLayout::kOverlaid) continue;
      const TimelineRow& row = rows[i].row;
      for (std::size_t q = p + 1; q < parts.size(); ++q) {
        const auto& there = groups[q][row.kind];
        const bool any_group = groups[p][row.kind].size() == 1 && there.size() == 1;
        const auto alike = open[q].find({row.kind, row.title, any_group ? *there.begin() : row.group});
        if (alike == open[q].end()) continue;
        while (!alike->second.empty() && placed[alike->second.front()]) alike->second.pop_front();
        if (!alike->second.empty()) place(alike->second.front());
      }
    }
  }
  // Rows of later parts that have no partner stand after those of their sort.
  if (layout == PartLayout::kOverlaid) {
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return rank_of(rows[a].row.kind) < rank_of(rows[b].row.kind);
    });
  }
  return order;
}

}  // namespace cohort
