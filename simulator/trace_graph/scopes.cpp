#include <algorithm>
#include <map>
#include <unordered_map>

#include "simulator/trace_graph/draft.hpp"
#include "tracer/slice_kind.hpp"

namespace cohort::trace_graph {
namespace {

bool is_scope(SliceKind kind, std::string_view name) {
  if (kind == SliceKind::kOp || kind == SliceKind::kAnnotation) return true;
  return kind == SliceKind::kPythonFunction && name.rfind("nn.Module", 0) == 0;
}

/// Ranges by track, those that begin first and enclose others in front.
using Ranges = std::vector<std::vector<std::uint32_t>>;

void sort_by_nesting(const std::vector<Slice>& slices, Ranges& ranges) {
  for (std::vector<std::uint32_t>& track : ranges) {
    std::stable_sort(track.begin(), track.end(), [&](std::uint32_t a, std::uint32_t b) {
      return slices[a].start != slices[b].start ? slices[a].start < slices[b].start : slices[a].end() > slices[b].end();
    });
  }
}

/// Which layers a backward op belongs to. It runs on a thread of the engine, outside of all that the program marked;
/// the op of the forward pass whose gradient it computes has the same "Sequence number". Threads count for themselves,
/// so that what the engine's thread computes again (checkpointing) has numbers of its own: other threads' ops come
/// first.
class BackwardLayers {
 public:
  BackwardLayers(const Trace& trace, const SliceKinds& kinds, const Ranges& ranges)
      : trace_(trace),
        sequence_key_(trace.strings.find("Sequence number")),
        thread_key_(trace.strings.find("Fwd thread id")) {
    if (!sequence_key_ || !thread_key_) return;
    around_.resize(trace.slices.size());
    for (const std::vector<std::uint32_t>& track : ranges) {
      std::vector<std::uint32_t> open;  // layers
      for (const std::uint32_t range : track) {
        while (!open.empty() && trace.slices[open.back()].end() <= trace.slices[range].start) open.pop_back();
        if (!open.empty()) around_[range] = open.back();
        if (kinds(trace.slices[range]) != SliceKind::kOp) {
          open.push_back(range);
        } else if (const auto sequence = integer(range, sequence_key_); sequence && !is_backward(range)) {
          forward_[*sequence].push_back(range);
        }
      }
    }
    for (auto& [sequence, ops] : forward_) {
      std::stable_sort(ops.begin(), ops.end(),
                       [&](std::uint32_t a, std::uint32_t b) { return trace.slices[a].start < trace.slices[b].start; });
    }
  }

  /// Of another range than a backward op's, none. The outermost first.
  [[nodiscard]] std::vector<std::uint32_t> of(std::uint32_t range) const {
    std::vector<std::uint32_t> layers;
    if (!is_backward(range)) return layers;
    const auto sequence = integer(range, sequence_key_);
    const auto found = sequence ? forward_.find(*sequence) : forward_.end();
    if (found == forward_.end()) return layers;
    const auto op = forward_of(range, found->second);
    for (auto layer = op ? around_[*op] : std::nullopt; layer; layer = around_[*layer]) layers.push_back(*layer);
    std::reverse(layers.begin(), layers.end());
    return layers;
  }

 private:
  /// Ops around and before the one that needs a gradient have its number, too: the last to begin is the one.
  [[nodiscard]] std::optional<std::uint32_t> forward_of(std::uint32_t backward,
                                                        const std::vector<std::uint32_t>& ops) const {
    const Slice& slice = trace_.slices[backward];
    const auto behind = std::lower_bound(ops.begin(), ops.end(), slice.start, [&](std::uint32_t op, Nanoseconds time) {
      return trace_.slices[op].start < time;
    });
    constexpr std::ptrdiff_t kMostLooks = 64;
    const auto least = behind - std::min(kMostLooks, behind - ops.begin());
    for (auto op = behind; op != least;) {
      if (trace_.slices[*--op].track != slice.track) return *op;
    }
    return behind == ops.begin() ? std::nullopt : std::optional(*std::prev(behind));
  }
  [[nodiscard]] std::optional<std::int64_t> integer(std::uint32_t range, std::optional<StringId> key) const {
    return trace_.integer_arg(trace_.slices[range], key);
  }
  [[nodiscard]] bool is_backward(std::uint32_t range) const { return integer(range, thread_key_).value_or(0) > 0; }

  const Trace& trace_;
  std::optional<StringId> sequence_key_, thread_key_;
  std::vector<std::optional<std::uint32_t>> around_;                      ///< by slice: the innermost layer around it
  std::unordered_map<std::int64_t, std::vector<std::uint32_t>> forward_;  ///< by sequence number
};

/// Finds what encloses each call: ranges that the program or its framework marked on the same thread.
class ScopeFinder {
 public:
  explicit ScopeFinder(Draft& draft) : draft_(draft), external_key_(draft.trace.strings.find("External id")) {
    if (!external_key_) external_key_ = draft.trace.strings.find("external id");
  }

  void run() {
    Ranges ranges(draft_.trace.tracks.size());
    const SliceKinds kinds(draft_.trace.strings);
    for (std::uint32_t i = 0; i < draft_.trace.slices.size(); ++i) {
      const Slice& slice = draft_.trace.slices[i];
      if (!is_scope(kinds(slice), draft_.trace.name(slice))) continue;
      ranges[to_index(slice.track)].push_back(i);
      if (const auto id = external_id(slice)) by_external_.try_emplace(*id, i);
    }
    sort_by_nesting(draft_.trace.slices, ranges);
    backward_.emplace(draft_.trace, kinds, ranges);
    std::vector<std::vector<std::uint32_t>> calls(draft_.trace.tracks.size());
    for (const std::uint32_t call : draft_.call_order) {
      calls[to_index(draft_.records.threads[draft_.records.calls[call].thread])].push_back(call);
    }
    call_scopes_.resize(draft_.calls.size());
    for (std::size_t track = 0; track < calls.size(); ++track) sweep(ranges[track], calls[track]);
    assign();
  }

 private:
  [[nodiscard]] std::optional<std::int64_t> external_id(const Slice& slice) const {
    return draft_.trace.integer_arg(slice, external_key_);
  }

  ScopeId scope(std::optional<ScopeId> parent, StringId name) {
    const LabelId label = draft_.label(name);
    const auto [place, is_new] = scopes_.try_emplace({parent, label}, ScopeId(draft_.result.graph.scopes.size()));
    if (is_new) draft_.result.graph.scopes.push_back({label, parent});
    return place->second;
  }

  /// The scope of ranges that enclose each other, the outermost first.
  std::optional<ScopeId> scope_of(const std::vector<std::uint32_t>& ranges) {
    std::optional<ScopeId> innermost;
    bool in_layers = false;
    for (const std::uint32_t range : ranges) {
      const std::vector<std::uint32_t> layers = in_layers ? std::vector<std::uint32_t>() : backward_->of(range);
      for (const std::uint32_t layer : layers) {
        const bool around = std::find(ranges.begin(), ranges.end(), layer) != ranges.end();  // of both passes
        if (!around) innermost = scope(innermost, draft_.trace.slices[layer].name);
      }
      in_layers = in_layers || !layers.empty();
      innermost = scope(innermost, draft_.trace.slices[range].name);
    }
    return innermost;
  }

  void sweep(const std::vector<std::uint32_t>& ranges, const std::vector<std::uint32_t>& calls) {
    if (calls.empty()) return;
    const std::vector<Slice>& slices = draft_.trace.slices;
    std::vector<std::uint32_t> open;
    std::size_t next = 0;
    for (const std::uint32_t index : calls) {
      const RecordedCall& call = draft_.records.calls[index];
      for (; next < ranges.size() && slices[ranges[next]].start <= call.start; ++next) {
        while (!open.empty() && slices[open.back()].end() <= slices[ranges[next]].start) open.pop_back();
        open.push_back(ranges[next]);
      }
      while (!open.empty() && slices[open.back()].end() <= call.start) open.pop_back();
      std::optional<ScopeId> innermost = scope_of(open);
      if (!innermost) {
        const auto id = external_id(draft_.trace.slice(call.slice));
        const auto found = id ? by_external_.find(*id) : by_external_.end();
        if (found != by_external_.end()) innermost = scope(std::nullopt, slices[found->second].name);
      }
      call_scopes_[index] = innermost;
    }
  }

  void assign() {
    std::vector<Task>& tasks = draft_.result.graph.tasks;
    for (const std::uint32_t call : draft_.call_order) {
      if (!draft_.calls[call].task) continue;  // of a thread that was left out
      tasks[to_index(*draft_.calls[call].task)].scope = call_scopes_[call];
      if (draft_.calls[call].wait) tasks[to_index(*draft_.calls[call].wait)].scope = call_scopes_[call];
    }
    for (std::size_t op = 0; op < draft_.op_tasks.size(); ++op) {
      const auto call = draft_.records.ops[op].call;
      if (draft_.op_tasks[op] && call) tasks[to_index(*draft_.op_tasks[op])].scope = call_scopes_[*call];
    }
  }

  Draft& draft_;
  std::optional<StringId> external_key_;
  std::optional<BackwardLayers> backward_;
  std::unordered_map<std::int64_t, std::uint32_t> by_external_;
  std::map<std::pair<std::optional<ScopeId>, LabelId>, ScopeId> scopes_;
  std::vector<std::optional<ScopeId>> call_scopes_;  ///< by call
};

}  // namespace

void add_scopes(Draft& draft) { ScopeFinder(draft).run(); }

}  // namespace cohort::trace_graph
