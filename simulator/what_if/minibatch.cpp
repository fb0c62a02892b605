#include "simulator/what_if/minibatch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>

#include "base/text.hpp"
#include "simulator/costs/recorded_gpu_work.hpp"
#include "tracer/slice_kind.hpp"

namespace cohort {
namespace {

bool is_work(const Task& task) { return is_device_work(task.kind) || task.kind == TaskKind::kStep; }

/// Device work by resource's name, in order of launch.
std::map<std::string, std::vector<TaskId>> work_by_stream(const TaskGraph& graph) {
  std::map<std::string, std::vector<TaskId>> streams;
  for (std::size_t i = 0; i < graph.tasks.size(); ++i) {
    if (is_work(graph.tasks[i])) streams[graph.resources[to_index(graph.tasks[i].resource)].name].push_back(TaskId(i));
  }
  for (auto& [name, ops] : streams) {
    std::stable_sort(ops.begin(), ops.end(),
                     [&](TaskId a, TaskId b) { return graph.task(a).position < graph.task(b).position; });
  }
  return streams;
}

using Extents = std::vector<std::int64_t>;

/// Of an op's inputs, in order: empty for scalars, and for lists of tensors.
using Inputs = std::vector<Extents>;

/// "[[16,559],[],[1024,1]]": the inputs' extents.
Inputs parse_dims(std::string_view text) {
  Inputs inputs;
  int depth = 0;
  Extents extents;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '[') {
      ++depth;
      extents.clear();
    } else if (text[i] == ']') {
      if (depth-- == 2) inputs.push_back(extents);
      extents.clear();
    } else if (depth == 2 && is_digit(text[i])) {
      std::int64_t extent = 0;
      const auto read = std::from_chars(text.data() + i, text.data() + text.size(), extent);
      if (read.ec != std::errc()) return {};
      extents.push_back(extent);
      i = static_cast<std::size_t>(read.ptr - text.data()) - 1;
    }
  }
  return inputs;
}

bool tells_shapes(const Inputs& inputs) {
  return std::any_of(inputs.begin(), inputs.end(), [](const Extents& extents) { return !extents.empty(); });
}

/// PyTorch's ops that have weights among their inputs.
struct WeightedOp {
  std::string_view name;
  std::size_t data;  ///< the input that is none; all others are weights, or scalars
};
constexpr WeightedOp kWeightedOps[] = {
    {"aten::conv1d", 0},           {"aten::conv2d", 0},           {"aten::conv3d", 0},
    {"aten::conv_transpose1d", 0}, {"aten::conv_transpose2d", 0}, {"aten::conv_transpose3d", 0},
    {"aten::convolution", 0},      {"aten::linear", 0},           {"aten::batch_norm", 0},
    {"aten::layer_norm", 0},       {"aten::group_norm", 0},       {"aten::instance_norm", 0},
    {"aten::embedding", 1},
};

/// Finds for each call the innermost op around it whose inputs' extents were recorded.
class OpShapes {
 public:
  explicit OpShapes(const Trace& trace) : trace_(trace), by_track_(trace.tracks.size()) {
    const auto key = trace.strings.find("Input Dims");
    if (!key) return;
    const SliceKinds kinds(trace.strings);
    for (std::uint32_t i = 0; i < trace.slices.size(); ++i) {
      const Slice& slice = trace.slices[i];
      if (kinds(slice) != SliceKind::kOp || !slice.args) continue;
      for (const auto& [name, value] : trace.args[to_index(*slice.args)]) {
        const auto* nested = std::get_if<NestedJson>(&value);
        if (name == *key && nested != nullptr) by_track_[to_index(slice.track)].push_back({i, nested->text});
      }
    }
    for (auto& ops : by_track_) {
      std::stable_sort(ops.begin(), ops.end(), [&](const Op& a, const Op& b) {
        return trace.slices[a.slice].start < trace.slices[b.slice].start;
      });
    }
  }

  [[nodiscard]] bool any() const {
    return std::any_of(by_track_.begin(), by_track_.end(), [](const auto& ops) { return !ops.empty(); });
  }

  /// Ops around a call, innermost first: an op's own may be empty, as of aten::empty.
  const Inputs* around(std::uint32_t call) {
    const Slice& slice = trace_.slices[call];
    const auto& ops = by_track_[to_index(slice.track)];
    auto it = std::upper_bound(ops.begin(), ops.end(), slice.start,
                               [&](Nanoseconds time, const Op& op) { return time < trace_.slices[op.slice].start; });
    constexpr int kFarthest = 256;
    for (int i = 0; it != ops.begin() && i < kFarthest; ++i) {
      --it;
      if (trace_.slices[it->slice].end() <= slice.start) continue;
      const Inputs& inputs = parsed(it->dims);
      if (tells_shapes(inputs)) return &inputs;
    }
    return nullptr;
  }

  /// Calls `function(name, inputs)`.
  template <class Function>
  void each(const Function& function) {
    for (const auto& ops : by_track_) {
      for (const Op& op : ops) function(trace_.strings[trace_.slices[op.slice].name], parsed(op.dims));
    }
  }

 private:
  struct Op {
    std::uint32_t slice = 0;
    StringId dims{};
  };

  const Inputs& parsed(StringId dims) {
    const auto [place, is_new] = parsed_.try_emplace(dims);
    if (is_new) place->second = parse_dims(trace_.strings[dims]);
    return place->second;
  }

  const Trace& trace_;
  std::vector<std::vector<Op>> by_track_;
  std::unordered_map<StringId, Inputs> parsed_;
};

/// What grows with the minibatch. Weights may begin with an extent that grows, and at a minibatch of 1 most do: their
/// shapes are known from the ops that have them as weights.
class Growth {
 public:
  Growth(OpShapes& shapes, std::int64_t minibatch) {
    std::vector<const Extents*> data;
    shapes.each([&](std::string_view op, const Inputs& inputs) {
      for (const Extents& extents : inputs) {
        if (!extents.empty() && extents.front() == minibatch) add_rows(extents);
      }
      const auto weighted = std::find_if(std::begin(kWeightedOps), std::end(kWeightedOps),
                                         [&](const WeightedOp& each) { return each.name == op; });
      if (weighted == std::end(kWeightedOps)) return;
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        if (i != weighted->data) weights_.insert(inputs[i]);
        if (i == weighted->data && !inputs[i].empty()) data.push_back(&inputs[i]);
      }
    });
    for (const Extents* extents : data) forget_weights_like(*extents);
  }

  [[nodiscard]] bool of(const Inputs& inputs) const {
    return std::any_of(inputs.begin(), inputs.end(), [&](const Extents& extents) {
      return !extents.empty() && rows_.count(extents.front()) > 0 && weights_.count(extents) == 0;
    });
  }

 private:
  /// Products of leading extents of a tensor that begins with the minibatch, as of samples and words.
  void add_rows(const Extents& extents) {
    std::int64_t rows = 1;
    for (const std::int64_t extent : extents) {
      if (extent < 1 || rows > kMostRows / extent) break;
      rows_.insert(rows *= extent);
    }
  }

  /// A shape that data has, too, also once its leading extents are one, tells no weights.
  void forget_weights_like(Extents data) {
    weights_.erase(data);
    while (data.size() > 1 && data[0] > 0 && data[1] > 0 && data[0] <= kMostRows / data[1]) {
      data[1] *= data[0];
      data.erase(data.begin());
      weights_.erase(data);
    }
  }

  static constexpr std::int64_t kMostRows = std::int64_t{1} << 40;
  std::set<std::int64_t> rows_;
  std::set<Extents> weights_;
};

/// By task: the slice of the call that launched it.
std::vector<std::optional<std::uint32_t>> launching_calls(const TaskGraph& graph) {
  std::vector<std::optional<std::uint32_t>> calls(graph.tasks.size());
  for (const Edge& edge : graph.edges) {
    if (edge.kind == EdgeKind::kLaunch) calls[to_index(edge.to)] = graph.task(edge.from).step;
  }
  return calls;
}

void set_time(Task& task, double time, Change& change) {
  // One that takes longer is refused with its graph.
  constexpr auto kMost = 2 * static_cast<double>(kLongestGraph.count());
  const Nanoseconds duration(time > 0 ? std::llround(std::min(time, kMost)) : 0);  // 0 for what is no number, too
  if (duration != task.duration) ++change.tasks_changed;
  task.duration = duration;
}

}  // namespace

Result<MinibatchChange> interpolate_minibatch(TaskGraph& graph, const RecordedStep& first, const RecordedStep& second,
                                              int wanted) {
  if (first.minibatch == second.minibatch || first.minibatch < 1 || second.minibatch < 1 || wanted < 1) {
    return fail(ErrorCode::kUsage, "recordings at minibatches of {} and {}: two that differ are needed",
                first.minibatch, second.minibatch);
  }
  const auto streams = work_by_stream(graph);
  const auto others = work_by_stream(second.graph->graph);
  MinibatchChange result;
  const double along =
      static_cast<double>(wanted - first.minibatch) / static_cast<double>(second.minibatch - first.minibatch);
  const double smaller = std::min(1.0, static_cast<double>(wanted) / std::min(first.minibatch, second.minibatch));
  Nanoseconds all{};
  Nanoseconds renamed{};
  for (const auto& [name, ops] : streams) {
    const auto other = others.find(name);
    if (other == others.end() || other->second.size() != ops.size()) {
      return fail(ErrorCode::kNegativeAnswer,
                  "--minibatch: the recordings do not launch the same ops: {} on {} at {}, {} at {}", ops.size(), name,
                  first.minibatch, other == others.end() ? 0 : other->second.size(), second.minibatch);
    }
    for (std::size_t i = 0; i < ops.size(); ++i) {
      Task& task = graph.tasks[to_index(ops[i])];
      const Task& twin = second.graph->graph.task(other->second[i]);
      all += task.duration;
      if (graph.label(ops[i]) != second.graph->graph.label(other->second[i])) renamed += task.duration;
      const auto mine = static_cast<double>(task.duration.count());
      const auto its = static_cast<double>(twin.duration.count());
      set_time(task, std::max(mine + along * (its - mine), smaller * std::min(mine, its)), result.change);
      task.waves = std::max(task.waves + static_cast<float>(along) * (twin.waves - task.waves),
                            static_cast<float>(smaller) * std::min(task.waves, twin.waves));
    }
  }
  const bool outside = along < 0 || along > 1;
  result.doubts.push_back(fmt::format("times of kernels at a minibatch of {} lie on lines {} recordings at {} and {}",
                                      wanted, outside ? "through and beyond" : "between", first.minibatch,
                                      second.minibatch));
  if (renamed > Nanoseconds(0)) {
    result.doubts.push_back(fmt::format("kernels with {:.0f}% of the time have other names in the second recording",
                                        100 * seconds(renamed) / seconds(all)));
  }
  return result;
}

Result<MinibatchChange> scale_minibatch(TaskGraph& graph, const RecordedStep& recorded, int wanted, Nanoseconds fixed) {
  OpShapes shapes(*recorded.trace);
  if (!shapes.any()) {
    return fail(ErrorCode::kNegativeAnswer,
                "--minibatch: the trace does not tell what grows with the minibatch; record shapes (PyTorch's "
                "record_shapes=True), or give a second recording at another minibatch");
  }
  const Growth growth(shapes, recorded.minibatch);
  const double times = static_cast<double>(wanted) / recorded.minibatch;
  const auto calls = launching_calls(graph);
  MinibatchChange result;
  Nanoseconds all{};
  Nanoseconds unknown{};
  Nanoseconds growing{};
  for (std::size_t i = 0; i < graph.tasks.size(); ++i) {
    Task& task = graph.tasks[i];
    if (!is_device_work(task.kind)) continue;
    all += task.duration;
    const Inputs* inputs = calls[i] ? shapes.around(*calls[i]) : nullptr;
    if (inputs == nullptr) {
      unknown += task.duration;
      continue;
    }
    if (!growth.of(*inputs)) continue;
    growing += task.duration;
    const Nanoseconds start = std::min(task.duration, fixed);
    const auto work = static_cast<double>((task.duration - start).count());
    double more = times;
    if (task.kind == TaskKind::kKernel && task.waves > 0) {
      const double waves = task.waves;
      more = std::ceil(waves * times) / std::ceil(waves);
      task.waves = static_cast<float>(waves * times);
    }
    set_time(task, static_cast<double>(start.count()) + work * more, result.change);
  }
  if (growing == Nanoseconds(0)) {
    return fail(ErrorCode::kNegativeAnswer, "--minibatch: no op of the step has an input whose first extent is {}",
                recorded.minibatch);
  }
  constexpr std::int64_t kMostUnknown = 5;  // one part of so many
  if (unknown * kMostUnknown > all) {
    return fail(ErrorCode::kNegativeAnswer,
                "--minibatch: ops without recorded shapes take {:.0f}% of the device's time",
                100 * seconds(unknown) / seconds(all));
  }
  result.doubts.push_back(fmt::format(
      "kernels with {:.0f}% of the device's time are taken to grow by blocks, from {} to {} samples; none was recorded",
      100 * seconds(growing) / seconds(all), recorded.minibatch, wanted));
  if (unknown > Nanoseconds(0)) {
    result.doubts.push_back(fmt::format("ops without recorded shapes, {:.0f}% of the time, are taken not to grow",
                                        100 * seconds(unknown) / seconds(all)));
  }
  return result;
}

}  // namespace cohort
