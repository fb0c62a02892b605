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

/// Finds what encloses each call: ranges that the program or its framework marked on the same thread.
class ScopeFinder {
 public:
  explicit ScopeFinder(Draft& draft) : draft_(draft), external_key_(draft.trace.strings.find("External id")) {
    if (!external_key_) external_key_ = draft.trace.strings.find("external id");
  }

  void run() {
    std::vector<std::vector<std::uint32_t>> ranges(draft_.trace.tracks.size());
    const SliceKinds kinds(draft_.trace.strings);
    for (std::uint32_t i = 0; i < draft_.trace.slices.size(); ++i) {
      const Slice& slice = draft_.trace.slices[i];
      if (!is_scope(kinds(slice), draft_.trace.name(slice))) continue;
      ranges[to_index(slice.track)].push_back(i);
      if (const auto id = external_id(slice)) by_external_.try_emplace(*id, i);
    }
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
    if (!external_key_ || !slice.args) return std::nullopt;
    for (const auto& [name, value] : draft_.trace.args[to_index(*slice.args)]) {
      if (name != *external_key_) continue;
      if (const auto* id = std::get_if<std::int64_t>(&value)) return *id;
    }
    return std::nullopt;
  }

  ScopeId scope(std::optional<ScopeId> parent, StringId name) {
    const LabelId label = draft_.label(name);
    const auto [place, is_new] = scopes_.try_emplace({parent, label}, ScopeId(draft_.result.graph.scopes.size()));
    if (is_new) draft_.result.graph.scopes.push_back({label, parent});
    return place->second;
  }

  void sweep(std::vector<std::uint32_t>& ranges, const std::vector<std::uint32_t>& calls) {
    if (calls.empty()) return;
    const std::vector<Slice>& slices = draft_.trace.slices;
    std::stable_sort(ranges.begin(), ranges.end(), [&](std::uint32_t a, std::uint32_t b) {
      return slices[a].start != slices[b].start ? slices[a].start < slices[b].start : slices[a].end() > slices[b].end();
    });
    std::vector<std::uint32_t> open;
    std::size_t next = 0;
    for (const std::uint32_t index : calls) {
      const RecordedCall& call = draft_.records.calls[index];
      for (; next < ranges.size() && slices[ranges[next]].start <= call.start; ++next) {
        while (!open.empty() && slices[open.back()].end() <= slices[ranges[next]].start) open.pop_back();
        open.push_back(ranges[next]);
      }
      while (!open.empty() && slices[open.back()].end() <= call.start) open.pop_back();
      std::optional<ScopeId> innermost;
      for (const std::uint32_t range : open) innermost = scope(innermost, slices[range].name);
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
  std::unordered_map<std::int64_t, std::uint32_t> by_external_;
  std::map<std::pair<std::optional<ScopeId>, LabelId>, ScopeId> scopes_;
  std::vector<std::optional<ScopeId>> call_scopes_;  ///< by call
};

}  // namespace

void add_scopes(Draft& draft) { ScopeFinder(draft).run(); }

}  // namespace cohort::trace_graph
