#include "simulator/contention/fit_profile.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <tuple>

#include "base/device.hpp"
#include "base/statistics.hpp"
#include "simulator/contention/fit_sharing.hpp"
#include "tracer/microbenchmark_record.hpp"

namespace cohort {
namespace {

using Records = std::vector<MicrobenchmarkRecord>;

Nanoseconds rounded(double time) { return Nanoseconds(std::llround(std::max(0.0, time))); }

Records of(const Records& records, Microbenchmark benchmark) {
  Records chosen;
  std::copy_if(records.begin(), records.end(), std::back_inserter(chosen),
               [&](const MicrobenchmarkRecord& record) { return record.benchmark == benchmark; });
  return chosen;
}

/// y = offset + slope x with the least sum of squared *relative* errors, so that long runs do not drown short ones.
struct Line {
  double offset = 0;
  double slope = 0;
};
std::optional<Line> line_through(const std::vector<std::pair<double, double>>& points) {
  double w = 0;
  double x = 0;
  double y = 0;
  double xx = 0;
  double xy = 0;
  for (const auto& [px, py] : points) {
    if (py <= 0) continue;
    const double weight = 1 / (py * py);
    w += weight;
    x += weight * px;
    y += weight * py;
    xx += weight * px * px;
    xy += weight * px * py;
  }
  const double spread = w * xx - x * x;
  if (points.size() < 2 || spread <= 1e-12 * w * xx) return std::nullopt;
  const double slope = (w * xy - x * y) / spread;
  return Line{(y - slope * x) / w, slope};
}

void add_residual(GpuFit& fit, std::string what, Nanoseconds measured, double predicted) {
  fit.residuals.push_back({std::move(what), measured, rounded(predicted), false});
}

/// Device time of graphs that are one chain of empty kernels.
std::optional<Line> chain_of_nodes(const Records& records) {
  std::vector<std::pair<double, double>> chain;
  for (const MicrobenchmarkRecord& record : of(records, Microbenchmark::kEmptyGraph)) {
    if (record.instances == 1) chain.emplace_back(record.launches, ns(record.time));
  }
  return line_through(chain);
}

/// Spin kernels: how long a kernel takes beyond its blocks. That holds what the events around it take as well, so no
/// more than an empty kernel takes in a graph.
void fit_fixed_part(const Records& records, GpuFit& fit) {
  std::vector<double> beyond;
  for (const MicrobenchmarkRecord& record : of(records, Microbenchmark::kSpin)) {
    const Result<Occupancy> held = occupancy(record.launch, fit.profile.sm);
    if (record.instances != 1 || !record.partner.empty() || !held) continue;
    const double resident = static_cast<double>(held->blocks_per_sm) * fit.profile.sms;
    const double waves = std::ceil(static_cast<double>(record.launch.blocks) / resident);
    beyond.push_back(ns(record.time) - waves * ns(record.block_time));
  }
  if (beyond.empty()) {
    fit.kept.emplace_back("launch.kernel_fixed_ns");
    return;
  }
  const auto nodes = chain_of_nodes(records);
  const double fixed = median(beyond);
  fit.profile.launch.kernel_fixed = rounded(nodes ? std::min(fixed, nodes->slope) : fixed);
}

void fit_launches(const Records& records, GpuFit& fit) {
  LaunchCosts& launch = fit.profile.launch;
  std::vector<std::pair<double, double>> host;
  std::vector<std::pair<double, double>> device;
  std::vector<std::pair<double, double>> behind_gate;  // all launched before the first could begin
  for (const MicrobenchmarkRecord& record : of(records, Microbenchmark::kEmptyKernels)) {
    if (!record.partner.empty()) {
      behind_gate.emplace_back(record.launches, ns(record.time));
      continue;
    }
    host.emplace_back(record.launches, ns(record.host_time));
    if (record.instances == 1) device.emplace_back(record.launches, ns(record.time));
  }
  if (const auto line = line_through(host)) {
    launch.call = rounded(line->slope);
  } else {
    fit.kept.emplace_back("launch.call_ns");
  }
  const auto line = line_through(behind_gate.empty() ? device : behind_gate);
  // Kernels that come no faster than they are launched tell nothing of the gap between them.
  if (line && (!behind_gate.empty() || line->slope > 1.1 * ns(launch.call))) {
    launch.gap = rounded(line->slope - ns(launch.kernel_fixed));
  } else {
    fit.kept.emplace_back("launch.gap_ns");
  }
  std::vector<double> latency;
  for (const MicrobenchmarkRecord& record : of(records, Microbenchmark::kLaunchLatency)) {
    latency.push_back(ns(record.time) - ns(launch.kernel_fixed));
  }
  if (latency.empty()) {
    fit.kept.emplace_back("launch.latency_ns");
  } else {
    launch.latency = rounded(median(latency));
  }
}

/// Launches of several threads at a time: the lock is what each of them takes at best. `launch.call` is known by then.
void fit_launch_lock(const Trace& trace, GpuFit& fit) {
  LaunchCosts& launch = fit.profile.launch;
  std::map<std::int64_t, std::vector<double>> each;  // by threads
  const auto name = trace.strings.find(kThreadedLaunchesRecord);
  for (const Slice& slice : trace.slices) {
    if (!name || slice.name != *name) continue;
    const std::int64_t threads = trace.integer_arg(slice, kLaunchThreadsArg).value_or(0);
    const std::int64_t launches = trace.integer_arg(slice, kLaunchesOfThreadArg).value_or(0);
    if (threads > 1 && launches > 0)
      each[threads].push_back(ns(slice.duration) / static_cast<double>(threads * launches));
  }
  if (each.empty()) {
    launch.lock = launch.call;  // as where nothing is known of it
    fit.kept.emplace_back("launch.lock_ns");
    return;
  }
  double least = ns(launch.call);
  for (const auto& [threads, times] : each) least = std::min(least, median(times));
  launch.lock = rounded(least);
}

/// Host times of launching graphs, of one chain or of several: a line through the numbers of nodes.
std::optional<Line> graph_calls(const Records& graphs, bool one_chain) {
  std::vector<std::pair<double, double>> host;
  for (const MicrobenchmarkRecord& record : graphs) {
    if ((record.instances <= 1) == one_chain) host.emplace_back(record.launches, ns(record.host_time));
  }
  return line_through(host);
}

/// Of graphs of several chains, on average: those beside the first.
double further_streams(const Records& graphs) {
  double sum = 0;
  double count = 0;
  for (const MicrobenchmarkRecord& record : graphs) {
    if (record.instances <= 1) continue;
    sum += record.instances - 1;
    ++count;
  }
  return sum / count;
}

void fit_graphs(const Records& records, GpuFit& fit) {
  LaunchCosts& launch = fit.profile.launch;
  const Records graphs = of(records, Microbenchmark::kEmptyGraph);
  const auto chain = graph_calls(graphs, true);
  const auto several = graph_calls(graphs, false);
  if (chain) {
    launch.graph_call = rounded(chain->offset);
    launch.graph_chain_node = rounded(chain->slope);
  } else {
    fit.kept.emplace_back("launch.graph_call_ns");
    fit.kept.emplace_back("launch.graph_chain_node_ns");
  }
  if (several) {
    launch.graph_node = rounded(several->slope);
    launch.graph_stream = rounded(std::max(0.0, several->offset - ns(launch.graph_call)) / further_streams(graphs));
  } else {
    fit.kept.emplace_back("launch.graph_node_ns");
    fit.kept.emplace_back("launch.graph_stream_ns");
  }
  if (const auto nodes = chain_of_nodes(records)) {
    launch.graph_gap = rounded(nodes->slope - ns(launch.kernel_fixed));
  } else {
    fit.kept.emplace_back("launch.graph_gap_ns");
  }
  for (const MicrobenchmarkRecord& record : graphs) {
    const bool one_chain = record.instances <= 1;
    const std::string what = fmt::format("empty graph, {} nodes in {} chains", record.launches, record.instances);
    add_residual(fit, "launch of " + what, record.host_time,
                 ns(graph_launch_time(launch, record.launches, record.instances)));
    if (one_chain) {
      add_residual(fit, what, record.time,
                   ns(launch.kernel_fixed * record.launches + launch.graph_gap * (record.launches - 1)));
    }
  }
}

/// Launches of graphs whose chains cross, held against what plain branches told.
void test_crossing_graphs(const Trace& trace, GpuFit& fit) {
  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<double>> host;  // by nodes and chains
  const auto name = trace.strings.find(kCrossingGraphRecord);
  for (const Slice& slice : trace.slices) {
    if (!name || slice.name != *name) continue;
    const auto nodes = trace.integer_arg(slice, kGraphNodesArg);
    const auto chains = trace.integer_arg(slice, kGraphChainsArg);
    const auto time = trace.integer_arg(slice, kGraphHostTimeArg);
    if (nodes && chains && time) host[{*nodes, *chains}].push_back(static_cast<double>(*time));
  }
  for (const auto& [graph, times] : host) {
    const auto& [nodes, chains] = graph;
    fit.residuals.push_back({fmt::format("launch of empty graph, {} nodes in {} chains that cross", nodes, chains),
                             rounded(median(times)), graph_launch_time(fit.profile.launch, nodes, chains), true});
  }
}

/// Rates that a line over the number of SMs tells, without the kernel's fixed part.
void fit_copies(const Records& records, GpuFit& fit) {
  GpuProfile& gpu = fit.profile;
  const Records sweep = of(records, Microbenchmark::kCopySweep);
  const auto rate = [&](const MicrobenchmarkRecord& record) {
    return static_cast<double>(record.work.dram.value) / std::max(1.0, ns(record.time - gpu.launch.kernel_fixed)) * 1e9;
  };
  double most = 0;
  for (const MicrobenchmarkRecord& record : sweep) most = std::max(most, rate(record));
  std::vector<double> flat;
  std::vector<double> port;
  for (const MicrobenchmarkRecord& record : sweep) {
    if (rate(record) > 0.95 * most) flat.push_back(rate(record));
    if (rate(record) < 0.7 * most) port.push_back(rate(record) / static_cast<double>(record.launch.blocks));
  }
  if (flat.empty()) {
    fit.kept.emplace_back("dram_bytes_per_second");
  } else {
    gpu.dram = {median(flat)};
  }
  if (port.empty()) {
    fit.kept.emplace_back("sm_port_bytes_per_second");
  } else {
    gpu.sm_port = {median(port)};
  }
  for (const MicrobenchmarkRecord& record : sweep) {
    const double reached =
        std::min(gpu.dram.per_second, gpu.sm_port.per_second * static_cast<double>(record.launch.blocks));
    add_residual(fit, fmt::format("copy on {} SMs", record.launch.blocks), record.time,
                 static_cast<double>(record.work.dram.value) / reached * 1e9 + ns(gpu.launch.kernel_fixed));
  }
}

void fit_transfers(const Records& records, GpuFit& fit) {
  std::optional<double> latency;
  for (const auto& [direction, name, rate] :
       {std::tuple{CopyDirection::kHostToDevice, "to_device_bytes_per_second", &fit.profile.to_device},
        {CopyDirection::kDeviceToHost, "to_host_bytes_per_second", &fit.profile.to_host}}) {
    std::vector<std::pair<double, double>> points;
    for (const MicrobenchmarkRecord& record : of(records, Microbenchmark::kTransfer)) {
      if (record.pinned && record.direction == direction) {
        points.emplace_back(static_cast<double>(record.bytes.value), ns(record.time));
      }
    }
    const auto line = line_through(points);
    if (!line || line->slope <= 0) {
      fit.kept.emplace_back(name);
      continue;
    }
    *rate = {1e9 / line->slope};
    if (!latency) latency = line->offset;
    for (const auto& [bytes, time] : points) {
      add_residual(fit, fmt::format("copy {}, {:.0f} bytes", to_string(direction), bytes), rounded(time),
                   line->offset + line->slope * bytes);
    }
  }
  if (latency) {
    fit.profile.launch.copy_latency = rounded(*latency);
  } else {
    fit.kept.emplace_back("launch.copy_latency_ns");
  }
}

void fit_chains(const Records& records, GpuFit& fit) {
  GpuProfile& gpu = fit.profile;
  struct Peak {
    const char* name;
    double* rate;
    std::function<std::int64_t(const KernelWork&)> amount;
  };
  const Records chains = of(records, Microbenchmark::kChain);
  for (const Peak& peak :
       {Peak{"fma_flops_per_second", &gpu.fma.per_second, [](const KernelWork& w) { return w.fma.value; }},
        Peak{"tensor_flops_per_second", &gpu.tensor.per_second, [](const KernelWork& w) { return w.tensor.value; }},
        Peak{"shared_bytes_per_second", &gpu.shared.per_second, [](const KernelWork& w) { return w.shared.value; }},
        Peak{"l2_bytes_per_second", &gpu.l2.per_second, [](const KernelWork& w) { return w.l2.value; }}}) {
    double most = 0;
    for (const MicrobenchmarkRecord& record : chains) {
      // TF32 has half the rate of bfloat16; the profile holds the latter.
      if (record.kernel == "tensor tf32") continue;
      const double time = std::max(1.0, ns(record.time - gpu.launch.kernel_fixed));
      most = std::max(most, static_cast<double>(peak.amount(record.work)) / time * 1e9);
    }
    // Since Hopper instructions of a whole warp group reach more than those of a warp, of which the chain is made.
    const bool is_bound = peak.rate == &gpu.tensor.per_second && gpu.capability.major >= 9 && most < *peak.rate;
    if (most > 0 && !is_bound) {
      *peak.rate = most;
    } else {
      fit.kept.emplace_back(peak.name);
    }
  }
}

}  // namespace

std::vector<Measurement> measurements_of(const Trace& trace) {
  std::vector<Measurement> result;
  Records same;
  bool held_out = false;
  const auto close = [&] {
    if (same.empty()) return;
    const auto median_of = [&](Nanoseconds MicrobenchmarkRecord::*field) {
      std::vector<double> values;
      for (const MicrobenchmarkRecord& record : same) values.push_back(ns(record.*field));
      return rounded(median(values));
    };
    MicrobenchmarkRecord record = same.front();
    record.time = median_of(&MicrobenchmarkRecord::time);
    record.partner_time = median_of(&MicrobenchmarkRecord::partner_time);
    record.host_time = median_of(&MicrobenchmarkRecord::host_time);
    result.push_back({std::move(record), held_out});
    same.clear();
  };
  for (const Slice& slice : trace.slices) {
    const auto record = microbenchmark_record_of(trace, slice);
    if (!record) continue;
    MicrobenchmarkRecord first = same.empty() ? *record : same.front();
    first.time = record->time;
    first.partner_time = record->partner_time;
    first.host_time = record->host_time;
    if (!(first == *record)) close();
    held_out = trace.integer_arg(slice, "held out").value_or(0) != 0;
    same.push_back(*record);
  }
  close();
  return result;
}

double FitResidual::relative_error() const {
  return measured == Nanoseconds(0) ? 0 : (ns(predicted) - ns(measured)) / ns(measured);
}

FitSpread spread_of(const std::vector<FitResidual>& residuals, bool held_out) {
  std::vector<double> errors;
  for (const FitResidual& residual : residuals) {
    if (residual.held_out == held_out) errors.push_back(std::abs(residual.relative_error()));
  }
  if (errors.empty()) return {};
  std::sort(errors.begin(), errors.end());
  return {errors.size(), errors[errors.size() / 2], errors.back()};
}

std::vector<FitResidual> worst_of(std::vector<FitResidual> residuals, std::size_t most) {
  std::stable_sort(residuals.begin(), residuals.end(), [](const FitResidual& a, const FitResidual& b) {
    return std::abs(a.relative_error()) > std::abs(b.relative_error());
  });
  residuals.resize(std::min(residuals.size(), most));
  return residuals;
}

namespace {

/// What the device says of itself holds, whatever is published under its name.
void take_device_facts(const DeviceInfo& device, GpuProfile& gpu) {
  if (!device.name.empty()) gpu.device = device.name;
  if (device.kind != "cuda") return;
  gpu.sms = device.cores;
  if (device.memory.value > 0) gpu.memory = device.memory;
  if (const auto l2 = number_setting(device, kLastCacheSetting); l2 && *l2 > 0) gpu.l2_size = Bytes{*l2};
}

}  // namespace

Result<GpuFit> fit_gpu_profile(const Trace& trace, const GpuProfile& start) {
  const std::vector<Measurement> measurements = measurements_of(trace);
  Records records;
  for (const Measurement& measurement : measurements) records.push_back(measurement.record);
  if (records.empty()) {
    return fail(ErrorCode::kInvalidInput, "the trace holds no microbenchmarks (category \"{}\")",
                kMicrobenchmarkCategory);
  }
  GpuFit fit;
  fit.profile = start;
  fit.profile.source = fmt::format("fitted to {} microbenchmarks", records.size());
  take_device_facts(trace.info.device, fit.profile);
  fit_fixed_part(records, fit);
  fit_launches(records, fit);
  fit_launch_lock(trace, fit);
  fit_graphs(records, fit);
  test_crossing_graphs(trace, fit);
  fit_copies(records, fit);
  fit_transfers(records, fit);
  fit_chains(records, fit);
  fit_dispatch(of(records, Microbenchmark::kSpin), fit);
  fit_slowdown(measurements, fit);
  COHORT_CHECK(validate(fit.profile));
  return fit;
}

}  // namespace cohort
