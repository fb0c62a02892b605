// ModelBatch's experiments on paper: 16 models of five layers, and 64 fully connected layers, on a P100, predicted from
// published figures alone.
//
//     build/release/bin/modelbatch_on_paper > bench/results/modelbatch_on_paper.md
//
// Nothing is measured and nothing is fitted to the paper's speedups. Kernels cost what a roofline of tiles says, they
// share the P100 by docs/contention.md, and preprocessing is what the paper's own figures say of it, in two readings.
// The paper: Narayanan, Santhanam, Zaharia, "Accelerating Model Search with Model Batching", SysML 2018.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "models/networks/networks.hpp"
#include "simulator/engine/simulate.hpp"
#include "simulator/transform/buffers.hpp"

namespace {

using namespace cohort;

// What libraries' kernels of the time commonly reach of their limit. The largest tile's share and DRAM's were stated
// before any result was seen; the smaller tiles came after, as 16 rows do not take what 128 take.
constexpr double kOfDram = 0.7;
/// Tiles that libraries' products come in; of the FMA peak smaller ones reach less. The fastest is taken.
struct TileKind {
  std::int64_t rows, columns;
  int threads, registers;
  double of_fma;
};
constexpr std::array<TileKind, 3> kTiles = {{{128, 64, 128, 120, 0.5}, {64, 64, 128, 80, 0.4}, {32, 32, 64, 64, 0.25}}};
constexpr double kOfFma = 0.5;  // the most of it that kernels use
constexpr std::int64_t kElementsPerBlock = 1024;
constexpr int kElementThreads = 256, kElementRegisters = 32;

constexpr int kMembers = 16;
constexpr int kLayers = 64;                // of figure 2
constexpr double kPublishedLayers = 5.63;  // 1000 x 1000 at a minibatch of 64
/// Up to, with 16 models: over one model of ModelBatch's own, and over TensorFlow.
struct PublishedGain {
  double over_one, over_tensorflow;
};
constexpr PublishedGain kTraining{9.2, 7.2};
constexpr PublishedGain kInference{13.5, 10.9};
constexpr double kShareAlone = 0.815;       // of preprocessing in a training step, one model
constexpr double kShareOfSixteen = 0.0194;  // the same where 16 share it
constexpr int kCores = 28;

struct Kernel {
  std::string name;
  LaunchShape launch;
  double flops = 0;
  double bytes = 0;
  Nanoseconds time{};
};

std::int64_t parts(std::int64_t of, std::int64_t size) { return (of + size - 1) / size; }

class Roofline {
 public:
  explicit Roofline(GpuProfile gpu) : gpu_(std::move(gpu)) {}

  /// A product of [rows, inner] and [inner, columns], a block for each tile of the result.
  [[nodiscard]] Kernel product(const std::string& name, std::int64_t rows, std::int64_t columns, double flops,
                               double bytes) const {
    std::optional<Kernel> best;
    for (const TileKind& kind : kTiles) {
      Kernel kernel{name, {}, flops, bytes, {}};
      kernel.launch.blocks = parts(rows, kind.rows) * parts(columns, kind.columns);
      kernel.launch.threads = kind.threads;
      kernel.launch.registers = kind.registers;
      // A partly filled tile takes as long as a full one; tiles are dealt to SMs in turn.
      const double inner = flops / (2.0 * static_cast<double>(rows) * static_cast<double>(columns));
      const double tile = 2.0 * static_cast<double>(kind.rows * kind.columns) * inner;
      const double per_sm = kind.of_fma * gpu_.fma.per_second / gpu_.sms;
      const double compute = static_cast<double>(parts(kernel.launch.blocks, gpu_.sms)) * tile / per_sm;
      kernel.time = time_of(std::max(compute, memory_seconds(kernel)));
      if (!best || kernel.time < best->time) best = std::move(kernel);
    }
    return *best;
  }

  [[nodiscard]] Kernel elementwise(std::string name, std::int64_t elements, double flops, double bytes) const {
    Kernel kernel{std::move(name), {}, flops, bytes, {}};
    kernel.launch.blocks = parts(elements, kElementsPerBlock);
    kernel.launch.threads = kElementThreads;
    kernel.launch.registers = kElementRegisters;
    kernel.time = time_of(memory_seconds(kernel));
    return kernel;
  }

  /// As the contention model asks: what the kernel used of each resource while it ran alone.
  [[nodiscard]] Result<KernelDemand> demand(const Kernel& kernel) const {
    SoloRun solo;
    solo.time = kernel.time;
    const double time = seconds(kernel.time);
    solo.utilisation[static_cast<std::size_t>(Throughput::kIssue)] =
        std::min(1.0, kernel.flops / gpu_.fma.per_second / kOfFma / time);
    solo.utilisation[static_cast<std::size_t>(Throughput::kDram)] =
        std::min(1.0, kernel.bytes / gpu_.dram.per_second / kOfDram / time);
    return demand_of(kernel.launch, solo, gpu_);
  }
  [[nodiscard]] const GpuProfile& gpu() const { return gpu_; }

 private:
  /// A few blocks reach no more than their SMs' ports.
  [[nodiscard]] double memory_seconds(const Kernel& kernel) const {
    const double ports =
        static_cast<double>(std::min<std::int64_t>(kernel.launch.blocks, gpu_.sms)) * gpu_.sm_port.per_second;
    return kernel.bytes / (kOfDram * std::min(gpu_.dram.per_second, ports));
  }
  [[nodiscard]] Nanoseconds time_of(double work) const {
    return gpu_.launch.kernel_fixed + Nanoseconds(std::llround(work * 1e9));
  }
  GpuProfile gpu_;
};

double bytes_of(const OpWork& work) { return static_cast<double>((work.read + work.written).value); }

/// Rows and columns of the product that a convolution or fully connected op is; absent for others.
std::optional<std::pair<std::int64_t, std::int64_t>> product_of(const Model& model, const Op& op) {
  const Shape& shape = model.tensor(op.outputs.front()).shape;
  if (std::holds_alternative<Convolution>(op.attributes)) {
    return std::pair(element_count(shape) / shape[1], shape[1]);
  }
  if (std::holds_alternative<Gemm>(op.attributes)) return std::pair(shape[0], shape[1]);
  return std::nullopt;
}

/// Forward; then, in training, the gradients by data and weights, each a product of the same work, and an update with
/// momentum of each weight (read w, dw, v; written w, v). Pooling and activations go back by moving as much again.
std::vector<Kernel> kernels_of(const Model& model, const Roofline& roofline, bool training) {
  std::vector<Kernel> kernels;
  std::vector<Kernel> backward;
  bool first = true;
  for (const Op& op : model.ops) {
    const OpWork work = work_of(model, op);
    const auto flops = static_cast<double>(work.flops.value);
    const std::int64_t elements = element_count(model.tensor(op.outputs.front()).shape);
    if (std::holds_alternative<Reshape>(op.attributes)) continue;
    if (const auto product = product_of(model, op)) {
      kernels.push_back(roofline.product(op.name, product->first, product->second, flops, bytes_of(work)));
      backward.push_back(kernels.back());
      backward.back().name = op.name + " weights' gradient";
      if (!first) {
        backward.push_back(kernels.back());
        backward.back().name = op.name + " data's gradient";
      }
      const std::int64_t weights = work.parameters.value / 4;
      backward.push_back(roofline.elementwise(op.name + " update", weights, 4.0 * static_cast<double>(weights),
                                              5.0 * static_cast<double>(work.parameters.value)));
      first = false;
    } else {
      kernels.push_back(roofline.elementwise(op.name, elements, flops, bytes_of(work)));
      backward.push_back(kernels.back());
      backward.back().name = op.name + " gradient";
    }
  }
  if (training) kernels.insert(kernels.end(), backward.rbegin(), backward.rend());
  return kernels;
}

struct Setting {
  int members = 1;
  bool streams = false;    ///< of their own; else members one after another on one
  bool pipelined = false;  ///< preprocessing of the next minibatch beside this one's computation, double-buffered
  Nanoseconds preprocessing{};
};

/// Input once for all members, its copy, and all members' kernels, launched member by member in turn by one thread.
class StepGraph {
 public:
  StepGraph(const std::vector<Kernel>& kernels, const Roofline& roofline, Nanoseconds copy, const Setting& setting)
      : kernels_(kernels), roofline_(roofline), setting_(setting) {
    const ResourceId thread = graph_.add_resource("thread", ResourceKind::kHostThread);
    const ResourceId worker = graph_.add_resource("preprocessing", ResourceKind::kDecodeWorker);
    const ResourceId copies = graph_.add_resource("copies", ResourceKind::kStream);
    for (int m = 0; m < (setting.streams ? setting.members : 1); ++m) {
      streams_.push_back(
          graph_.add_resource(fmt::format("stream {}", m), ResourceKind::kStream, Discipline::kOverlapping));
    }
    const TaskId input = add("preprocess", TaskKind::kInput, worker, setting.preprocessing, 0);
    const TaskId moved = add("copy", TaskKind::kCopy, copies, copy, 0);
    graph_.add_edge(input, moved, EdgeKind::kEvent);
    add_members(thread, moved);
  }

  /// Time between steps once buffers are filled.
  Result<Nanoseconds> step_time() {
    constexpr int kFilling = 2;
    constexpr int kSteps = 5;
    COHORT_TRY(const Nanoseconds few, makespan(kFilling));
    COHORT_TRY(const Nanoseconds more, makespan(kSteps));
    return (more - few) / (kSteps - kFilling);
  }

 private:
  TaskId add(const std::string& name, TaskKind kind, ResourceId resource, Nanoseconds duration, int member) {
    Task task;
    task.label = graph_.add_label(name);
    task.kind = kind;
    task.resource = resource;
    task.cores = 0;
    task.duration = duration;
    task.member = member;
    task.position = static_cast<std::int64_t>(graph_.tasks.size());
    return graph_.add_task(task);
  }

  void add_members(ResourceId thread, TaskId moved) {
    const LaunchCosts& costs = roofline_.gpu().launch;
    std::vector<std::optional<TaskId>> last(streams_.size());
    const auto launch = [&](std::size_t k, int m) {
      const std::size_t stream = setting_.streams ? static_cast<std::size_t>(m) : 0;
      const TaskId call = add("launch", TaskKind::kLaunch, thread, costs.call, m);
      if (k == 0) graph_.add_edge(moved, call, EdgeKind::kSynchronisation);
      const TaskId kernel = add(kernels_[k].name, TaskKind::kKernel, streams_[stream], kernels_[k].time, m);
      kernel_of_.emplace_back(kernel, k);
      graph_.add_edge(call, kernel, EdgeKind::kLaunch, costs.latency, Anchor::kStart);
      if (last[stream]) graph_.add_edge(*last[stream], kernel, EdgeKind::kStreamOrder, costs.gap);
      last[stream] = kernel;
    };
    if (setting_.streams) {
      for (std::size_t k = 0; k < kernels_.size(); ++k) {
        for (int m = 0; m < setting_.members; ++m) launch(k, m);
      }
    } else {
      for (int m = 0; m < setting_.members; ++m) {
        for (std::size_t k = 0; k < kernels_.size(); ++k) launch(k, m);
      }
    }
    const TaskId end = add("end", TaskKind::kWait, thread, Nanoseconds(0), 0);
    for (const auto& each : last) graph_.add_edge(*each, end, EdgeKind::kSynchronisation);
  }

  Result<Nanoseconds> makespan(int steps) {
    TaskGraph graph = graph_;
    COHORT_CHECK(repeat(graph, steps, roofline_.gpu().launch.gap));
    Selection inputs, ends;
    for (std::size_t i = 0; i < graph.tasks.size(); ++i) {
      if (graph.tasks[i].kind == TaskKind::kInput) inputs.push_back(TaskId(i));
      if (graph.tasks[i].kind == TaskKind::kWait) ends.push_back(TaskId(i));
    }
    COHORT_CHECK(double_buffer(graph, inputs, ends, setting_.pipelined ? 2 : 1));
    SimulationOptions options;
    GpuWork work;
    work.profile = roofline_.gpu();
    work.tasks.resize(graph.tasks.size());
    for (const Kernel& kernel : kernels_) {
      auto demand = roofline_.demand(kernel);
      if (!demand) return in_context(kernel.name, demand.error());
      work.kernels.push_back(std::move(*demand));
    }
    for (int step = 0; step < steps; ++step) {
      for (const auto& [task, kernel] : kernel_of_) {
        const std::size_t at = to_index(task) + static_cast<std::size_t>(step) * graph_.tasks.size();
        work.tasks[at] = KernelTask{static_cast<std::uint32_t>(kernel)};
      }
    }
    options.gpu = std::move(work);
    COHORT_TRY(const Schedule schedule, simulate(graph, options));
    return schedule.makespan;
  }

  const std::vector<Kernel>& kernels_;
  const Roofline& roofline_;
  const Setting& setting_;
  TaskGraph graph_;
  std::vector<ResourceId> streams_;
  std::vector<std::pair<TaskId, std::size_t>> kernel_of_;
};

class Paper {
 public:
  Paper() : roofline_(*published_gpu_profile("Tesla P100-PCIE-16GB")) {}

  Result<void> print() {
    print_assumptions();
    COHORT_CHECK(print_layers());
    for (const bool training : {true, false}) {
      const PublishedGain& published = training ? kTraining : kInference;
      fmt::print("\n## {}\n\n", training ? "Training" : "Inference");
      fmt::print(
          "One step of all 16 members; \"times\" is how many times faster than 16 models one after another, each "
          "preprocessing for itself, not pipelined. Published: up to {}x.\n\n",
          published.over_one);
      fmt::print(
          "| minibatch | reading | preprocessing | compute of 1 | preprocessing's share, 1 model | 16 sharing | "
          "sharing | "
          "+ streams | + pipelining | all, against a pipelined baseline | streams alone, input on the device |\n"
          "|---|---|---|---|---|---|---|---|---|---|---|\n");
      std::array<double, 2> most{};
      for (const int minibatch : {16, 64, 128, 256}) {
        for (const bool from_one : {true, false}) {
          COHORT_TRY(const double gain, print_row(minibatch, training, from_one));
          most[from_one ? 0 : 1] = std::max(most[from_one ? 0 : 1], gain);
        }
      }
      print_tensorflow(published, most);
    }
    return {};
  }

 private:
  void print_assumptions() const {
    const GpuProfile& gpu = roofline_.gpu();
    fmt::print(
        "# ModelBatch on paper\n\nMade by `build/release/bin/modelbatch_on_paper`. Predicted from published figures "
        "alone; "
        "nothing ran on a GPU, nothing was fitted to the paper's speedups.\n\nAssumptions:\n\n"
        "- device: {}, {} SMs at {:.0f} MHz, {:.1f} TFLOP/s float32, {:.0f} GB/s ({}); the paper says \"P100\"\n"
        "- network: alexnet5, three convolutions and two fully connected layers at 227x227, our reading of "
        "\"5-layer\"\n"
        "- products in the fastest of tiles of 128x64, 64x64 and 32x32 at 50%, 40% and 25% of the FMA peak on each SM; "
        "everything else moves its bytes once at {:.0f}% of DRAM's rate; a kernel takes {} more, a launch {}, a gap "
        "{}\n"
        "- training: both gradients cost what forward costs each, pooling and activations go back like forward, an "
        "update "
        "with momentum moves five times the weights\n"
        "- one thread launches for all members, kernel by kernel in turn; no graphs (CUDA 8)\n"
        "- preprocessing takes as long for one model as for 16 that share it; its time follows from the paper, see "
        "below\n\n",
        gpu.device, gpu.sms, gpu.clock.hertz / 1e6, gpu.fma.per_second / 1e12, gpu.dram.per_second / 1e9, gpu.source,
        100 * kOfDram, format_time(gpu.launch.kernel_fixed), format_time(gpu.launch.call), format_time(gpu.launch.gap));
    const double ratio_one = kShareAlone / (1 - kShareAlone);
    const double ratio_sixteen = kMembers * kShareOfSixteen / (1 - kShareOfSixteen);
    fmt::print(
        "The paper's figure 3 says that preprocessing is {:.1f}% of a training step with one model and {:.2f}% with 16 "
        "that "
        "share it, members computed serially and not pipelined. Both cannot hold of the same ratio P/C of "
        "preprocessing "
        "to one model's compute, since P/(P + N C) fixes it:\n\n"
        "- *read from 1 model*: P/C = {:.2f}; 16 sharers would see {:.1f}%, not {:.2f}%; sharing alone gains at most "
        "{:.2f}x\n"
        "- *read from 16*: P/C = {:.2f}; 1 model would see {:.1f}%, not {:.1f}%; sharing alone gains at most {:.2f}x\n",
        100 * kShareAlone, 100 * kShareOfSixteen, ratio_one, 100 * ratio_one / (ratio_one + kMembers),
        100 * kShareOfSixteen, kMembers * (ratio_one + 1) / (ratio_one + kMembers), ratio_sixteen,
        100 * ratio_sixteen / (ratio_sixteen + 1), 100 * kShareAlone,
        kMembers * (ratio_sixteen + 1) / (ratio_sixteen + kMembers));
  }

  Result<Nanoseconds> step(const std::vector<Kernel>& kernels, Nanoseconds copy, const Setting& setting) const {
    return StepGraph(kernels, roofline_, copy, setting).step_time();
  }

  /// The paper's figure 2: the forward pass of layers that have weights and input of their own.
  Result<void> print_layers() const {
    fmt::print(
        "\n## 64 fully connected layers\n\n"
        "The paper's figure 2: the forward pass of 64 layers, each on a stream of its own, against the same one after "
        "another on one stream; weights and input of their own, on the device. Published: {}x for 1000x1000 at a "
        "minibatch of 64, and less for 4000x4000, of which its text gives no figure.\n\n"
        "| layer | minibatch | kernel alone | of the SMs its blocks fill | one after another | in parallel | predicted "
        "| "
        "published |\n"
        "|---|---|---|---|---|---|---|---|\n",
        kPublishedLayers);
    for (const std::int64_t width : {1000, 4000}) {
      for (const std::int64_t minibatch : {1, 4, 16, 64, 256, 1024, 2048}) COHORT_CHECK(print_layer(width, minibatch));
    }
    return {};
  }

  Result<void> print_layer(std::int64_t width, std::int64_t minibatch) const {
    const auto flops = 2.0 * static_cast<double>(minibatch * width * width);
    const auto bytes = 4.0 * static_cast<double>(width * (width + 2 * minibatch));
    const std::vector<Kernel> layer = {roofline_.product("layer", minibatch, width, flops, bytes)};
    const Nanoseconds none{};
    COHORT_TRY(const Nanoseconds serial, step(layer, none, {kLayers, false, false, none}));
    COHORT_TRY(const Nanoseconds parallel, step(layer, none, {kLayers, true, false, none}));
    const auto sms = static_cast<double>(roofline_.gpu().sms);
    const bool is_published = width == 1000 && minibatch == 64;
    fmt::print("| {0}x{0} | {1} | {2} | {3:.0f}% | {4} | {5} | {6:.2f}x | {7} |\n", width, minibatch,
               format_time(layer.front().time),
               100 * std::min(1.0, static_cast<double>(layer.front().launch.blocks) / sms), format_time(serial),
               format_time(parallel), seconds(serial) / seconds(parallel),
               is_published ? fmt::format("{}x", kPublishedLayers) : "");
    return {};
  }

  /// `most`: read from 1 model, read from 16.
  static void print_tensorflow(const PublishedGain& published, const std::array<double, 2>& most) {
    const double faster = published.over_one / published.over_tensorflow;
    fmt::print(
        "\nAgainst TensorFlow, published: up to {}x. What TensorFlow 1.3 costs beside its kernels is not known here; "
        "if "
        "both published maxima are of one minibatch, one model of TensorFlow is {:.2f} times as fast as one of "
        "ModelBatch, and the prediction against it is up to {:.2f}x read from 1, {:.2f}x read from 16.\n",
        published.over_tensorflow, faster, most[0] / faster, most[1] / faster);
  }

  /// Returns how many times faster all is: sharing, streams and pipelining.
  Result<double> print_row(int minibatch, bool training, bool from_one) const {
    COHORT_TRY(const Model model, make_network("alexnet5", minibatch, {}));
    const std::vector<Kernel> trained = kernels_of(model, roofline_, true);
    const std::vector<Kernel> kernels = kernels_of(model, roofline_, training);
    const auto bytes = static_cast<double>(element_count(model.tensor(model.inputs.front()).shape) * 4);
    const Nanoseconds copy = roofline_.gpu().launch.copy_latency +
                             Nanoseconds(std::llround(bytes / roofline_.gpu().to_device.per_second * 1e9));
    const Nanoseconds none{};
    // The shares are of training steps; inference preprocesses the same images.
    COHORT_TRY(const Nanoseconds training_step, step(trained, none, {1, false, false, none}));
    const double ratio =
        from_one ? kShareAlone / (1 - kShareAlone) : kMembers * kShareOfSixteen / (1 - kShareOfSixteen);
    const Nanoseconds input(std::llround(ratio * static_cast<double>(training_step.count())));
    COHORT_TRY(const Nanoseconds compute, step(kernels, none, {1, false, false, none}));
    COHORT_TRY(const Nanoseconds alone, step(kernels, copy, {1, false, false, input}));
    COHORT_TRY(const Nanoseconds alone_pipelined, step(kernels, copy, {1, false, true, input}));
    COHORT_TRY(const Nanoseconds shared, step(kernels, copy, {kMembers, false, false, input}));
    COHORT_TRY(const Nanoseconds streams, step(kernels, copy, {kMembers, true, false, input}));
    COHORT_TRY(const Nanoseconds pipelined, step(kernels, copy, {kMembers, true, true, input}));
    COHORT_TRY(const Nanoseconds serial_resident, step(kernels, none, {kMembers, false, false, none}));
    COHORT_TRY(const Nanoseconds resident, step(kernels, none, {kMembers, true, false, none}));
    const auto times = [](Nanoseconds slow, Nanoseconds fast) { return seconds(slow) / seconds(fast); };
    fmt::print(
        "| {} | {} | {} ({:.0f} ms of a core an image) | {} | {:.1f}% | {:.1f}% | {:.2f}x | {:.2f}x | {:.2f}x | "
        "{:.2f}x | "
        "{:.2f}x |\n",
        minibatch, from_one ? "from 1" : "from 16", format_time(input), 1e3 * seconds(input) * kCores / minibatch,
        format_time(compute), 100 * times(input, alone), 100 * times(input, shared), times(alone * kMembers, shared),
        times(alone * kMembers, streams), times(alone * kMembers, pipelined),
        times(alone_pipelined * kMembers, pipelined), times(serial_resident, resident));
    return times(alone * kMembers, pipelined);
  }

  Roofline roofline_;
};

}  // namespace

int main() {
  if (const Result<void> done = Paper().print(); !done) {
    fmt::print(stderr, "{}\n", done.error().message);
    return 1;
  }
  return 0;
}
