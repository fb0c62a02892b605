#include <algorithm>
#include <map>

#include "base/statistics.hpp"
#include "simulator/trace_graph/draft.hpp"

namespace cohort::trace_graph {
namespace {

/// Host and device clocks differ by about as much.
constexpr Nanoseconds kClockSkew(2000);
/// A call returns within this of the work that it waited for.
constexpr Nanoseconds kPromptReturn(50'000);

class WaitFinder {
 public:
  explicit WaitFinder(Draft& draft) : draft_(draft), records_(draft.records) {}

  void run() {
    used_by_.resize(records_.threads.size());
    for (std::uint32_t op = 0; op < records_.ops.size(); ++op) {
      const auto call = records_.ops[op].call;
      if (!call) continue;
      op_of_call_.try_emplace(*call, op);
      used_by_[records_.calls[*call].thread].emplace_back(records_.calls[*call].start, records_.ops[op].stream);
    }
    for (auto& used : used_by_) {  // of a launch on several streams the first counts
      std::sort(used.begin(), used.end(), [](const auto& a, const auto& b) {
        return std::pair(a.first, b.second) < std::pair(b.first, a.second);
      });
    }
    for (const std::uint32_t call : draft_.call_order) find(call);
    find_launch_queue();
    find_launch_lock();
    settle();
  }

 private:
  void find(std::uint32_t index) {
    const RecordedCall& call = records_.calls[index];
    switch (call.kind) {
      case CallKind::kDeviceSynchronize:
        return wait_for_device(index);
      case CallKind::kFree:
        return find_free(index);
      case CallKind::kStreamSynchronize:
        return find_stream_sync(index);
      case CallKind::kEventSynchronize:
        return find_event_sync(index);
      case CallKind::kCopy:
      case CallKind::kMemset:
        return find_copy(index);
      default:
        return;
    }
  }

  [[nodiscard]] bool explains(std::uint32_t op, const RecordedCall& call) const {
    return records_.ops[op].end <= call.end + kClockSkew;
  }

  void add(std::uint32_t call, std::uint32_t op, EdgeKind kind = EdgeKind::kSynchronisation) {
    Dependency dependency;
    dependency.op = op;
    dependency.kind = kind;
    draft_.calls[call].dependencies.push_back(dependency);
  }

  /// Returns whether what the stream had to finish explains when the call returned.
  bool wait_for_stream(std::uint32_t index, std::uint32_t stream) {
    const RecordedCall& call = records_.calls[index];
    const auto op = last_launched(draft_, stream, call.start);
    if (!op) return true;  // an empty stream: nothing to wait for
    if (!explains(*op, call)) return false;
    add(index, *op);
    return true;
  }

  /// When all that was launched on the streams before the call had ended, where that explains when the call returned.
  [[nodiscard]] std::optional<Nanoseconds> explaining_end(const std::vector<std::uint32_t>& streams,
                                                          const RecordedCall& call) const {
    std::optional<Nanoseconds> last;
    for (const std::uint32_t stream : streams) {
      const auto op = last_launched(draft_, stream, call.start);
      if (op && !explains(*op, call)) return std::nullopt;
      if (op) last = std::max(last.value_or(Nanoseconds::min()), records_.ops[*op].end);
    }
    return last;
  }

  /// Streams on which the call's process launches, by device.
  [[nodiscard]] std::map<std::int64_t, std::vector<std::uint32_t>> devices_of(const RecordedCall& call) const {
    std::map<std::int64_t, std::vector<std::uint32_t>> devices;
    for (std::uint32_t s = 0; s < records_.streams.size(); ++s) {
      if (is_of_process(s, call)) devices[records_.streams[s].device].push_back(s);
    }
    return devices;
  }

  /// The call waits for its thread's device. Where no record says which that is, for those that can have made it return
  /// when it did.
  void wait_for_device(std::uint32_t index) {
    const RecordedCall& call = records_.calls[index];
    auto devices = devices_of(call);
    const auto sync = records_.syncs.find(index);
    if (sync != records_.syncs.end() && sync->second.device && devices.count(*sync->second.device) > 0)
      std::erase_if(devices, [&](const auto& each) { return each.first != *sync->second.device; });
    // Not by one that was done before the call began, if the call took long.
    const auto explained = [&](const auto& each) {
      const auto end = explaining_end(each.second, call);
      return end && (call.end - call.start < kPromptReturn || *end > call.start);
    };
    if (std::any_of(devices.begin(), devices.end(), explained))
      std::erase_if(devices, [&](const auto& each) { return !explained(each); });
    bool all = true;
    for (const auto& [device, streams] : devices) {
      for (const std::uint32_t stream : streams) all = wait_for_stream(index, stream) && all;
    }
    if (!all) ++draft_.result.counts.unresolved_waits;
  }

  /// Whether the call's process launches what runs on the stream.
  [[nodiscard]] bool is_of_process(std::uint32_t stream, const RecordedCall& call) const {
    const auto process = records_.streams[stream].process;
    return !process || *process == records_.process_of(call);
  }

  /// What the stream was to wait for behind its last op of then.
  void wait_for_waits(std::uint32_t index, std::uint32_t stream, Nanoseconds before) {
    for (const std::uint32_t op : waited_for_behind(draft_, stream, before)) {
      if (explains(op, records_.calls[index])) add(index, op);
    }
  }

  /// Frees wait for a device where something ran when they began and all had ended when they returned.
  void find_free(std::uint32_t index) {
    const RecordedCall& call = records_.calls[index];
    bool any = false;
    for (const auto& [device, streams] : devices_of(call)) {
      const auto end = explaining_end(streams, call);
      if (!end || *end <= call.start || call.end - *end >= kPromptReturn) continue;
      any = true;
      for (const std::uint32_t stream : streams) {
        if (const auto op = last_launched(draft_, stream, call.start)) add(index, *op);
      }
    }
    if (any) ++draft_.result.counts.inferred_waits;
  }

  void find_stream_sync(std::uint32_t index) {
    const RecordedCall& call = records_.calls[index];
    const auto wait_for = [&](std::uint32_t stream) {
      wait_for_waits(index, stream, call.start);
      if (!wait_for_stream(index, stream)) ++draft_.result.counts.unresolved_waits;
    };
    const auto sync = records_.syncs.find(index);
    if (sync != records_.syncs.end() && sync->second.stream) return wait_for(*sync->second.stream);
    // No record says which stream: the one that the thread used last.
    const auto& used = used_by_[call.thread];
    const auto next = std::lower_bound(used.begin(), used.end(), call.start,
                                       [](const auto& use, Nanoseconds time) { return use.first < time; });
    if (next == used.begin()) return;
    ++draft_.result.counts.inferred_waits;
    wait_for(std::prev(next)->second);
  }

  void find_event_sync(std::uint32_t index) {
    const RecordedCall& call = records_.calls[index];
    const auto sync = records_.syncs.find(index);
    if (sync != records_.syncs.end()) {
      const auto record = recording_of(records_, index, sync->second);
      if (record && sync->second.source) {
        wait_for_waits(index, *sync->second.source, records_.calls[*record].start);
        const auto op = last_launched(draft_, *sync->second.source, records_.calls[*record].start);
        if (op && explains(*op, call)) add(index, *op);
        if (op && !explains(*op, call)) ++draft_.result.counts.unresolved_waits;
        return;
      }
    }
    // Unknown event: what ended last before the call returned, if that was during the call.
    std::optional<std::uint32_t> latest;
    for (std::uint32_t s = 0; s < draft_.by_stream.size(); ++s) {
      if (!is_of_process(s, call)) continue;
      const std::vector<Launched>& queue = draft_.by_stream[s];
      const auto last = std::lower_bound(queue.begin(), queue.end(), call.start,
                                         [](const Launched& op, Nanoseconds time) { return op.time < time; });
      for (auto it = last; it != queue.begin();) {
        --it;
        const Nanoseconds end = records_.ops[it->op].end;
        if (end <= call.start) break;
        if (explains(it->op, call) && (!latest || end > records_.ops[*latest].end)) latest = it->op;
      }
    }
    if (latest && call.end - records_.ops[*latest].end < kPromptReturn) {
      ++draft_.result.counts.inferred_waits;
      add(index, *latest);
    } else if (call.end - call.start > kPromptReturn) {
      ++draft_.result.counts.unresolved_waits;
    }
  }

  /// Copies that are synchronous by name, or from or to pageable memory, where they did end first.
  void find_copy(std::uint32_t index) {
    const RecordedCall& call = records_.calls[index];
    const auto op = op_of_call_.find(index);
    if (op == op_of_call_.end() || !explains(op->second, call)) return;
    if (call.synchronous || records_.ops[op->second].pageable) add(index, op->second);
  }

  /// A stream takes so many ops; then a launch waits until one has ended. Launches that were long
  /// with always the same number of ops ahead of them show it; those of whole graphs say nothing of places.
  void find_launch_queue() {
    constexpr std::size_t kLeastDepth = 256;
    constexpr std::size_t kLeastEvidence = 8;
    constexpr int kLong = 8;
    std::map<std::size_t, std::size_t> votes;
    for (const std::vector<Launched>& queue : draft_.by_stream) {
      std::size_t done = 0;
      for (std::size_t i = 0; i < queue.size(); ++i) {
        const auto call = records_.ops[queue[i].op].call;
        if (!call || draft_.calls[*call].launched > 1) continue;
        const RecordedCall& launch = records_.calls[*call];
        while (done < i && records_.ops[queue[done].op].end <= launch.start) ++done;
        if (launch.end - launch.start > draft_.result.typical.launch * kLong) ++votes[i - done];
      }
    }
    const auto most =
        std::max_element(votes.begin(), votes.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    if (most == votes.end() || most->first < kLeastDepth || most->second < kLeastEvidence) return;
    const std::size_t depth = most->first;
    draft_.result.counts.launch_queue = depth;
    for (const std::vector<Launched>& queue : draft_.by_stream) {
      for (std::size_t i = depth; i < queue.size(); ++i) {
        const auto call = records_.ops[queue[i].op].call;
        if (!call || !draft_.calls[*call].selected || draft_.calls[*call].launched > 1) continue;
        const std::uint32_t ahead = queue[i - depth].op;
        if (records_.ops[ahead].end <= records_.calls[*call].end) add(*call, ahead, EdgeKind::kResource);
      }
    }
  }

  /// Launches of several threads that overlap got the driver's lock in the order of completion.
  void find_launch_lock() {
    std::vector<std::uint32_t> by_end;
    for (const std::uint32_t call : draft_.call_order) {
      if (puts_work(records_.calls[call].kind)) by_end.push_back(call);
    }
    std::stable_sort(by_end.begin(), by_end.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return records_.calls[a].end < records_.calls[b].end; });
    for (std::size_t i = 0; i < by_end.size(); ++i) {
      const RecordedCall& call = records_.calls[by_end[i]];
      for (std::size_t k = i; k-- > 0 && records_.calls[by_end[k]].end > call.start;) {
        const RecordedCall& other = records_.calls[by_end[k]];
        if (other.thread == call.thread || records_.process_of(other) != records_.process_of(call)) continue;
        Dependency dependency;
        dependency.call = by_end[k];
        dependency.kind = EdgeKind::kResource;
        draft_.calls[by_end[i]].dependencies.push_back(dependency);
        break;
      }
    }
  }

  [[nodiscard]] Nanoseconds end_of(const Dependency& dependency) const {
    return dependency.op ? records_.ops[*dependency.op].end : records_.calls[*dependency.call].end;
  }

  /// How long each call takes without waiting: its whole length where nothing held it up, else what
  /// calls of its name take that were not held up.
  void settle() {
    std::map<StringId, std::vector<Nanoseconds>> free_lengths;
    std::vector<Nanoseconds> residuals;
    const auto last_end = [&](std::uint32_t index) {
      Nanoseconds last = Nanoseconds::min();
      for (const Dependency& dependency : draft_.calls[index].dependencies) last = std::max(last, end_of(dependency));
      return last;
    };
    for (const std::uint32_t index : draft_.call_order) {
      const RecordedCall& call = records_.calls[index];
      CallPlan& plan = draft_.calls[index];
      plan.own = call.end - call.start;
      if (plan.dependencies.empty()) {
        free_lengths[draft_.trace.slice(call.slice).name].push_back(plan.own);
        continue;
      }
      ++draft_.result.counts.waits;
      if (last_end(index) <= call.start) {
        free_lengths[draft_.trace.slice(call.slice).name].push_back(plan.own);
      } else if (!puts_work(call.kind)) {
        residuals.push_back(std::max(Nanoseconds(0), call.end - last_end(index)));
      }
    }
    TypicalTimes& typical = draft_.result.typical;
    if (!residuals.empty()) typical.return_latency = median(std::move(residuals));
    std::map<StringId, Nanoseconds> usual;
    for (auto& [name, lengths] : free_lengths) usual[name] = median(std::move(lengths));
    for (const std::uint32_t index : draft_.call_order) {
      const RecordedCall& call = records_.calls[index];
      CallPlan& plan = draft_.calls[index];
      if (plan.dependencies.empty() || last_end(index) <= call.start) continue;
      const auto known = usual.find(draft_.trace.slice(call.slice).name);
      plan.own = std::min(plan.own, known != usual.end() ? known->second : typical.launch);
    }
  }

  Draft& draft_;
  const Records& records_;
  std::map<std::uint32_t, std::uint32_t> op_of_call_;  ///< the first it launched
  /// By thread: when it launched something, and on which stream.
  std::vector<std::vector<std::pair<Nanoseconds, std::uint32_t>>> used_by_;
};

}  // namespace

void find_waits(Draft& draft) { WaitFinder(draft).run(); }

}  // namespace cohort::trace_graph
