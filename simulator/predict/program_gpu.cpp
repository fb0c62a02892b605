#include "simulator/predict/program_gpu.hpp"

#include <algorithm>
#include <cmath>

namespace cohort {
namespace {

/// Bytes that lie in memory: what a stride of zero repeats is there once.
std::int64_t stored_bytes(const Operand& operand) {
  if (const auto* weights = std::get_if<WeightView>(&operand)) {
    return element_count(weights->shape) * element_bytes(weights->type);
  }
  const View& view = std::get<View>(operand);
  std::int64_t count = 1;
  for (std::size_t i = 0; i < view.shape.size(); ++i) {
    if (i >= view.strides.size() || view.strides[i] != 0) count *= view.shape[i];
  }
  return count * element_bytes(view.type);
}

const Shape& shape_of(const Operand& operand) {
  return std::visit([](const auto& view) -> const Shape& { return view.shape; }, operand);
}

/// Multiply-adds for each output of a product; absent for other ops.
std::optional<std::int64_t> depth_of(const OpCall& call) {
  const bool has_two = call.inputs.size() > 1;
  if (std::holds_alternative<Convolution>(call.attributes) && has_two) {
    const Shape& weights = shape_of(call.inputs[1]);
    if (!weights.empty() && weights[0] > 0) return element_count(weights) / weights[0];
  }
  const bool matrix = std::holds_alternative<Gemm>(call.attributes) || std::holds_alternative<MatMul>(call.attributes);
  if (matrix && has_two && !shape_of(call.inputs[0]).empty()) return shape_of(call.inputs[0]).back();
  return std::nullopt;
}

/// What the copy writes at the link's rate, all of DRAM would take in less.
CopyDemand upload_demand(Nanoseconds time, const GpuProfile& gpu) {
  CopyDemand demand;
  demand.time_ns = static_cast<double>(time.count());
  demand.dram_ns = demand.time_ns * gpu.to_device.per_second / gpu.dram.per_second;
  return demand;
}

Nanoseconds in_nanoseconds(double time) { return Nanoseconds(std::llround(1e9 * time)); }

double part(double work, double rate, Nanoseconds time) {
  return rate > 0 ? std::min(1.0, work / rate / seconds(time)) : 0;
}

/// What kernels ask of the slots in which an SM issues instructions, in multiply-adds. By Nsight Compute on an H200
/// (resnet18 and alexnet5, minibatch 1, traces/h200): cuDNN's implicit products in float32, which are mostly the
/// fastest convolutions, issue 1.5 to 1.9 instructions for each multiply-add (its direct kernels 3.2 to 3.4, grouped
/// products of CUTLASS 1.1), own kernels of pooling and of elementwise ops 170 to 500 for each output; and kernels that
/// fill the SMs mostly get three of four slots (0.6 to 0.83).
constexpr double kUsableSlots = 0.75;
constexpr double kIssuedByProducts = 1.9 / kUsableSlots;  ///< for each multiply-add
constexpr double kIssuedByOthers = 200 / kUsableSlots;    ///< for each output

/// The pipes that a call's arithmetic goes through, and how long it would take with all of them: products in less than
/// float32 go through tensor cores where there are any that take their precision, tf32 at half of their rate.
struct Pipe {
  Throughput throughput = Throughput::kIssue;
  double seconds = 0;  ///< that the call would take of all of them
};
bool has_tensor_cores_for(Precision precision, const GpuProfile& gpu) {
  if (precision == Precision::kFloat32 || gpu.tensor.per_second <= 0) return false;
  return precision == Precision::kFloat16 || gpu.capability.major >= 8;
}

/// Multiply-adds that the SMs' schedulers can issue, each of a warp a cycle: from 7.0 to 8.0 twice as many as their 64
/// float32 lanes compute.
double issue_rate(const GpuProfile& gpu) {
  const auto [major, minor] = gpu.capability;
  const int lanes = major < 8 || (major == 8 && minor == 0) ? 64 : 128;
  return gpu.fma.per_second * 32 * gpu.sm.partitions / lanes;
}

/// The mean part of the SMs that a launch's blocks cover, wave by wave, each wave spread over as many as there are.
double covered_part(const LaunchShape& launch, const GpuProfile& gpu) {
  const Result<Occupancy> resident = occupancy(launch, gpu.sm);
  const std::int64_t places = std::int64_t{gpu.sms} * (resident ? std::max(1, resident->blocks_per_sm) : 1);
  const std::int64_t full = launch.blocks / places;
  const std::int64_t rest = launch.blocks % places;
  const double last = std::min(1.0, static_cast<double>(rest) / gpu.sms);
  return (static_cast<double>(full) + last) / static_cast<double>(full + (rest > 0 ? 1 : 0));
}

Pipe pipe_of(const CallWork& work, const GpuProfile& gpu) {
  const auto flops = static_cast<double>(work.flops.value);
  if (work.is_product && has_tensor_cores_for(work.precision, gpu)) {
    return {Throughput::kTensor, flops / gpu.tensor.per_second * (work.precision == Precision::kTf32 ? 2 : 1)};
  }
  const double issued =
      work.is_product ? flops * kIssuedByProducts : 2 * static_cast<double>(work.outputs) * kIssuedByOthers;
  return {Throughput::kIssue, issue_rate(gpu) > 0 ? issued / issue_rate(gpu) : 0};
}

}  // namespace

CallWork work_of(const OpCall& call) {
  CallWork work;
  work.precision = call.precision;
  if (!call.parts.empty()) {
    work.is_product = true;
    for (const OpCall& part : parts_of(call)) {
      const CallWork one = work_of(part);
      work.flops += one.flops;
      work.traffic += one.traffic;
      work.outputs += one.outputs;
      work.is_product = work.is_product && one.is_product;
    }
    return work;
  }
  for (const View& view : call.outputs) {
    work.outputs += element_count(view.shape);
    work.traffic += Bytes{element_count(view.shape) * element_bytes(view.type)};
  }
  for (const Operand& operand : call.inputs) work.traffic += Bytes{stored_bytes(operand)};
  const std::optional<std::int64_t> depth = depth_of(call);
  work.is_product = depth.has_value();
  work.flops = Flops{work.outputs * (depth ? 2 * *depth : 1)};
  return work;
}

CallWork part_of(const CallWork& all, int members) {
  CallWork one = all;
  one.flops.value /= members;
  one.traffic.value /= members;
  one.outputs /= members;
  return one;
}

CallWork call_work_of(const Model& model, const Op& op, Precision precision) {
  const OpWork known = work_of(model, op);
  CallWork work;
  work.flops = known.flops;
  work.traffic = Bytes{(known.read + known.written).value * element_bytes(storage_of(precision)) /
                       element_bytes(DataType::kFloat32)};
  work.precision = precision;
  for (const TensorId out : op.outputs) work.outputs += element_count(model.tensor(out).shape);
  const OpAttributes& attributes = op.attributes;
  work.is_product = std::holds_alternative<Convolution>(attributes) || std::holds_alternative<Gemm>(attributes) ||
                    std::holds_alternative<MatMul>(attributes);
  return work;
}

LaunchShape launch_shape_of(const CallWork& work) {
  constexpr std::int64_t kTile = std::int64_t{32} * 64;
  constexpr int kThreads = 256;
  constexpr std::int64_t kEach = std::int64_t{4} * kThreads;
  constexpr int kProductRegisters = 255;
  constexpr int kOtherRegisters = 32;
  constexpr std::int64_t kProductShared = 32 << 10;
  LaunchShape shape;
  const std::int64_t each = work.is_product ? kTile : kEach;
  shape.blocks = std::max<std::int64_t>(1, (work.outputs + each - 1) / each);
  shape.threads = kThreads;
  shape.registers = work.is_product ? kProductRegisters : kOtherRegisters;
  shape.shared_memory = Bytes{work.is_product ? kProductShared : 0};
  return shape;
}

LaunchShape launch_shape_of(const OpCall& call) {
  LaunchShape shape = launch_shape_of(work_of(call));
  if (call.parts.empty()) return shape;
  shape.blocks = 0;
  for (const OpCall& part : parts_of(call)) shape.blocks += launch_shape_of(work_of(part)).blocks;
  return shape;
}

Nanoseconds roofline_time(const CallWork& work, const GpuProfile& gpu) {
  double arithmetic = gpu.fma.per_second > 0 ? static_cast<double>(work.flops.value) / gpu.fma.per_second : 0;
  if (const Pipe pipe = pipe_of(work, gpu); pipe.throughput == Throughput::kTensor) arithmetic = pipe.seconds;
  return in_nanoseconds(std::max(arithmetic, static_cast<double>(work.traffic.value) / gpu.dram.per_second));
}

Nanoseconds rough_time(const CallWork& work, const GpuProfile& gpu) {
  constexpr double kOfArithmetic = 0.5;  // what libraries' products commonly reach
  const double filled = covered_part(launch_shape_of(work), gpu);
  CallWork slower = work;
  if (work.is_product)
    slower.flops.value = std::llround(static_cast<double>(work.flops.value) / kOfArithmetic / filled);
  return roofline_time(slower, gpu);
}

double GpuDemands::share(const CallWork& work, Nanoseconds time) const {
  const LaunchShape launch = launch_shape_of(work);
  const Result<Occupancy> resident = occupancy(launch, profile_.sm);
  if (time <= Nanoseconds(0) || !resident || resident->blocks_per_sm < 1) return 1;
  const double places = static_cast<double>(profile_.sms) * resident->blocks_per_sm;
  const auto traffic = static_cast<double>(work.traffic.value);
  return std::max({std::min(1.0, static_cast<double>(launch.blocks) / places),
                   part(pipe_of(work, profile_).seconds, 1, time), part(traffic, profile_.l2.per_second, time),
                   part(traffic, profile_.dram.per_second, time)});
}

Nanoseconds GpuDemands::together(std::span<const Part> parts) const {
  Nanoseconds longest{};
  double shared = 0;
  for (const Part& each : parts) {
    longest = std::max(longest, each.time);
    shared += static_cast<double>(each.time.count()) * share(each.work, each.time) * static_cast<double>(each.count);
  }
  return std::max(longest, Nanoseconds(static_cast<std::int64_t>(shared)));
}

Result<const KernelDemand*> GpuDemands::demand(const Step& step, Nanoseconds time) {
  const auto key = std::tuple(step.cost, time);
  const auto found = known_.find(key);
  if (found != known_.end()) return &found->second;
  const CallWork work = work_of(step.call);
  SoloRun solo;
  solo.time = time;
  const auto traffic = static_cast<double>(work.traffic.value);
  const auto of = [&](Throughput throughput) -> double& {
    return solo.utilisation[static_cast<std::size_t>(throughput)];
  };
  const Pipe pipe = pipe_of(work, profile_);
  of(pipe.throughput) = part(pipe.seconds, 1, time);
  of(Throughput::kL2) = part(traffic, profile_.l2.per_second, time);
  of(Throughput::kDram) = part(traffic, profile_.dram.per_second, time);
  solo.footprint = work.traffic;
  const std::optional<LaunchShape> recorded = launches_.find(step.cost);
  const LaunchShape launch = recorded ? *recorded : launch_shape_of(step.call);
  if (!recorded) of(Throughput::kIssue) = std::max(of(Throughput::kIssue), covered_part(launch, profile_));
  auto demand = demand_of(launch, solo, profile_);
  if (!demand) return in_context(step.task, demand.error());
  if (!recorded) demand->persistent = false;  // an assumed grid tells nothing of that
  return &known_.emplace(key, *std::move(demand)).first->second;
}

Result<GpuWork> GpuDemands::work(const Program& program, const TaskGraph& graph) {
  GpuWork work;
  work.profile = profile_;
  work.tasks.resize(graph.tasks.size());
  std::map<const KernelDemand*, std::uint32_t> numbers;
  std::map<Nanoseconds, std::uint32_t> copies;
  for (std::size_t i = 0; i < graph.tasks.size(); ++i) {
    const Task& task = graph.tasks[i];
    if (task.kind == TaskKind::kCopy) {
      const auto [place, is_new] = copies.try_emplace(task.duration, static_cast<std::uint32_t>(work.copies.size()));
      if (is_new) work.copies.push_back(upload_demand(task.duration, profile_));
      work.tasks[i] = CopyTask{place->second};
      continue;
    }
    if (task.kind != TaskKind::kStep || !task.step || task.duration <= Nanoseconds(0)) continue;
    COHORT_TRY(const KernelDemand* kernel, demand(program.steps[*task.step], task.duration));
    const auto [place, is_new] = numbers.try_emplace(kernel, static_cast<std::uint32_t>(work.kernels.size()));
    if (is_new) work.kernels.push_back(*kernel);
    work.tasks[i] = KernelTask{place->second};
  }
  return work;
}

}  // namespace cohort
