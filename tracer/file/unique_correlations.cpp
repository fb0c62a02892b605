#include "tracer/file/unique_correlations.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tracer/correlation_ids.hpp"
#include "tracer/slice_kind.hpp"

namespace cohort {
namespace {

/// What a device's clock may be behind the host's.
constexpr Nanoseconds kJitter(100'000);

struct Entry {
  std::int64_t id = 0;
  std::int64_t pid = 0;  ///< of a call its process, of other records their device
  Nanoseconds start{};
  Nanoseconds end{};
  std::uint32_t slice = 0;
  bool is_work = false;

  [[nodiscard]] auto key() const { return std::tuple(id, pid, start, -end.count(), slice); }
  friend bool operator<(const Entry& a, const Entry& b) { return a.key() < b.key(); }
};

using Entries = std::vector<Entry>;

class Renamer {
 public:
  explicit Renamer(Trace& trace)
      : trace_(trace),
        correlation_(trace.strings.find("correlation")),
        device_(trace.strings.find("device")),
        recording_(trace.strings.find("wait_on_cuda_event_record_corr_id")) {}

  void run() {
    if (!correlation_) return;
    collect();
    constexpr std::int64_t kMostId = std::numeric_limits<std::int64_t>::max() / 2;
    if (!repeats() || most_ > kMostId) return;
    std::sort(others_.begin(), others_.end());
    pair_processes();
    for (std::size_t first = 0; first < calls_.size();) {
      std::size_t end = first;
      while (end < calls_.size() && calls_[end].id == calls_[first].id) ++end;
      rename(first, end);
      first = end;
    }
    rename_recordings();
  }

 private:
  void collect() {
    const SliceKinds kinds(trace_.strings);
    const CorrelationIds ids(trace_);
    for (std::uint32_t i = 0; i < trace_.slices.size(); ++i) {
      const Slice& slice = trace_.slices[i];
      const SliceKind kind = kinds(slice);
      const bool work = is_device_work(kind);
      const bool sync = kind == SliceKind::kSynchronization || kind == SliceKind::kEventRecord;
      if (!is_call(kind) && !work && !sync) continue;
      const auto id = ids.of(slice);
      if (!id) continue;
      most_ = std::max(most_, *id);
      const std::int64_t pid = trace_.tracks[to_index(slice.track)].pid;
      const std::int64_t place = is_call(kind) ? pid : trace_.integer_arg(slice, device_).value_or(pid);
      (is_call(kind) ? calls_ : others_).push_back({*id, place, slice.start, slice.end(), i, work});
    }
    if (!std::is_sorted(calls_.begin(), calls_.end())) std::sort(calls_.begin(), calls_.end());
  }

  /// Of two calls of one id the second lies within the first: a driver call within a runtime call.
  [[nodiscard]] bool is_nested(const Entry& outer, const Entry& inner) const {
    return inner.pid == outer.pid && inner.start < outer.end &&
           trace_.slices[inner.slice].track == trace_.slices[outer.slice].track;
  }

  [[nodiscard]] bool repeats() const {
    std::size_t outer = 0;
    for (std::size_t i = 1; i < calls_.size(); ++i) {
      if (calls_[i].id != calls_[outer].id) {
        outer = i;
      } else if (!is_nested(calls_[outer], calls_[i])) {
        return true;
      }
    }
    return false;
  }

  [[nodiscard]] std::pair<Entries::const_iterator, Entries::const_iterator> others_of(std::int64_t id) const {
    const auto less = [](const Entry& entry, std::int64_t wanted) { return entry.id < wanted; };
    const auto first = std::lower_bound(others_.begin(), others_.end(), id, less);
    auto end = first;
    while (end != others_.end() && end->id == id) ++end;
    return {first, end};
  }

  /// Which process each device works for.
  void pair_processes() {
    std::set<std::int64_t> processes;
    std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> votes;  // device and process
    for (std::size_t i = 0; i < calls_.size(); ++i) {
      processes.insert(calls_[i].pid);
      const bool alone =
          (i == 0 || calls_[i - 1].id != calls_[i].id) && (i + 1 == calls_.size() || calls_[i + 1].id != calls_[i].id);
      if (!alone) continue;
      const auto [first, end] = others_of(calls_[i].id);
      for (auto other = first; other != end; ++other) ++votes[{other->pid, calls_[i].pid}];
    }
    std::map<std::int64_t, std::int64_t> totals;
    for (const auto& [pair, count] : votes) totals[pair.first] += count;
    for (const auto& [pair, count] : votes) {
      if (count > totals[pair.first] / 10 * 9) process_of_[pair.first] = pair.second;  // others are strays
    }
    std::set<std::int64_t> devices;
    for (const Entry& other : others_) devices.insert(other.pid);
    if (votes.empty() && devices.size() == processes.size()) {
      auto process = processes.begin();
      for (const std::int64_t device : devices) process_of_[device] = *process++;
    }
  }

  /// Calls [first, end) have one id: each that is not within another gets one of its own, but for the first.
  void rename(std::size_t first, std::size_t end) {
    Entries outer;
    std::vector<std::vector<std::uint32_t>> slices;  // by outer call
    for (std::size_t i = first; i < end; ++i) {
      const bool nested = !outer.empty() && is_nested(outer.back(), calls_[i]);
      if (!nested) {
        outer.push_back(calls_[i]);
        slices.emplace_back();
      }
      slices.back().push_back(calls_[i].slice);
    }
    if (outer.size() < 2) return;
    std::vector<std::int64_t> ids = {outer.front().id};
    while (ids.size() < outer.size()) ids.push_back(++most_);
    for (std::size_t k = 0; k < outer.size(); ++k) {
      for (const std::uint32_t slice : slices[k]) set(slice, correlation_, ids[k]);
      by_process_[outer[k].pid].push_back(k);
      Entry renamed = outer[k];
      renamed.id = ids[k];
      renamed_[outer[k].id].push_back(renamed);
    }
    rename_others(outer, ids);
    by_process_.clear();
  }

  void rename_others(const Entries& outer, const std::vector<std::int64_t>& ids) {
    const auto [begin, end] = others_of(outer.front().id);
    for (auto first = begin; first != end;) {  // one device after another, each in order of time
      auto last = first;
      std::size_t works = 0;
      for (; last != end && last->pid == first->pid; ++last) works += last->is_work ? 1U : 0U;
      std::vector<std::size_t> calls = candidates(first->pid, outer.size());
      std::stable_sort(calls.begin(), calls.end(),  // of several processes, too
                       [&](std::size_t a, std::size_t b) { return outer[a].start < outer[b].start; });
      const bool in_turn = works == calls.size();
      std::size_t turn = 0;
      for (; first != last; ++first) {
        std::size_t call = latest(outer, calls, *first);
        if (in_turn && first->is_work) {
          if (outer[calls[turn]].start <= first->start + kJitter) call = calls[turn];
          ++turn;
        }
        set(first->slice, correlation_, ids[call]);
      }
    }
  }

  /// A wait for an event names the call that recorded it: the latest of its process.
  void rename_recordings() {
    for (const Entry& wait : others_) {
      const auto id = wait.is_work ? std::nullopt : trace_.integer_arg(trace_.slices[wait.slice], recording_);
      const auto found = id ? renamed_.find(*id) : renamed_.end();
      if (found == renamed_.end()) continue;
      const auto process = process_of_.find(wait.pid);
      const Entry* best = nullptr;
      for (const Entry& call : found->second) {
        const bool own = process == process_of_.end() || process->second == call.pid;
        if (own && call.start <= wait.start + kJitter && (best == nullptr || call.start > best->start)) best = &call;
      }
      if (best != nullptr) set(wait.slice, recording_, best->id);
    }
  }

  /// Calls of one id that may have put work on a device: those of its process, else all.
  const std::vector<std::size_t>& candidates(std::int64_t device, std::size_t calls) {
    const auto process = process_of_.find(device);
    if (process != process_of_.end()) {
      const auto own = by_process_.find(process->second);
      if (own != by_process_.end()) return own->second;
    }
    all_.clear();
    for (std::size_t k = 0; k < calls; ++k) all_.push_back(k);
    return all_;
  }

  [[nodiscard]] static std::size_t latest(const Entries& outer, const std::vector<std::size_t>& calls,
                                          const Entry& other) {
    std::optional<std::size_t> best;
    for (const std::size_t k : calls) {
      if (outer[k].start > other.start) continue;
      if (!best || outer[k].start > outer[*best].start) best = k;
    }
    return best.value_or(calls.front());
  }

  void set(std::uint32_t slice, std::optional<StringId> key, std::int64_t id) {
    for (auto& [name, value] : trace_.args[to_index(*trace_.slices[slice].args)]) {
      if (name == *key) value = id;
    }
  }

  Trace& trace_;
  std::optional<StringId> correlation_;
  std::optional<StringId> device_;
  std::optional<StringId> recording_;
  std::int64_t most_ = 0;
  Entries calls_;
  Entries others_;                                               ///< device work and records of synchronisation
  std::map<std::int64_t, std::int64_t> process_of_;              ///< by device
  std::map<std::int64_t, std::vector<std::size_t>> by_process_;  ///< calls of the id at hand
  std::vector<std::size_t> all_;
  std::map<std::int64_t, Entries> renamed_;  ///< by the id they shared: calls, with their own
};

}  // namespace

void make_correlations_unique(Trace& trace) { Renamer(trace).run(); }

}  // namespace cohort
