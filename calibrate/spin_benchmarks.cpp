#include <algorithm>
#include <array>
#include <limits>

#include "calibrate/benchmarks.hpp"

namespace cohort::calibrate {
namespace {

constexpr Nanoseconds kBlockTime = std::chrono::microseconds(200);

MicrobenchmarkRecord spin_record(const Shape& shape, int instances, Nanoseconds block_time) {
  cudaFuncAttributes attributes{};
  check(attributes_of_spin(&attributes), "cudaFuncGetAttributes(spin)");
  MicrobenchmarkRecord record;
  record.benchmark = Microbenchmark::kSpin;
  record.kernel = "spin";
  record.launch = shape_of(shape, attributes);
  record.instances = instances;
  record.launches = instances;
  record.block_time = block_time;
  return record;
}

/// `instances` kernels begun together on streams of their own; from then until the last is done.
Nanoseconds run_together(const Streams& streams, const Shape& shape, Nanoseconds block_time,
                         const std::vector<std::unique_ptr<DeviceBuffer>>& logs) {
  const Gate gate(static_cast<int>(streams.size()));
  std::vector<std::unique_ptr<Gate::Span>> spans;
  for (std::size_t i = 0; i < streams.size(); ++i) {
    spans.push_back(std::make_unique<Gate::Span>());
    gate.begin(*spans.back(), *streams[i]);
    BlockLog* const log = logs.empty() ? nullptr : logs[i]->get<BlockLog>();
    check(launch_spin(shape, static_cast<std::uint64_t>(block_time.count()), log, streams[i]->get()), "spin kernel");
    Gate::end(*spans.back(), *streams[i]);
  }
  synchronize_device();
  return gate.length(spans);
}

void measure(const Bench& bench, const Shape& shape, int instances, Nanoseconds block_time) {
  const Streams streams = make_streams(instances);
  MicrobenchmarkRecord record = spin_record(shape, instances, block_time);
  for (int repetition = -1; repetition < bench.recorder.repetitions(); ++repetition) {
    if (bench.recorder.was_cancelled()) return;
    record.time = run_together(streams, shape, block_time, {});
    if (repetition >= 0) bench.recorder.add(record);
  }
}

}  // namespace

void spins(const Bench& bench) {
  for (const Shape& shape : spin_shapes(bench.facts)) {
    for (const int instances : {1, 2, 4}) measure(bench, shape, instances, kBlockTime);
  }
}

/// A small block launched behind two grids that fill every SM one at a time: it runs beside the first of them, unless
/// blocks of the second come first. Whether they do is the dispatch rule.
void small_behind_whole(const Bench& bench) {
  constexpr Nanoseconds kLong = std::chrono::milliseconds(1);  // much longer than the three launches take
  const Shape whole = whole_sm_shape(bench.facts);
  const Shape small{1, 32, 0};
  MicrobenchmarkRecord partner = spin_record(whole, 1, kLong);
  partner.kernel = "spin on whole SMs";
  MicrobenchmarkRecord record = spin_record(small, 1, kLong);
  record.partner = partner.kernel;
  record.partner_instances = 2;
  const Streams streams = make_streams(3);
  const auto spin = [&](const Shape& shape, const Stream& stream) {
    check(launch_spin(shape, static_cast<std::uint64_t>(kLong.count()), nullptr, stream.get()), "spin kernel");
  };
  for (int repetition = -1; repetition < bench.recorder.repetitions(); ++repetition) {
    if (bench.recorder.was_cancelled()) return;
    partner.time = run_together(make_streams(1), whole, kLong, {});
    if (repetition >= 0) bench.recorder.add(partner);
  }
  // No gate: behind one, the order in which the streams begin is the device's.
  for (int repetition = -1; repetition < bench.recorder.repetitions(); ++repetition) {
    if (bench.recorder.was_cancelled()) return;
    Event begin;
    Event partners_end;
    Event end;
    begin.record(*streams[0]);
    spin(whole, *streams[0]);
    spin(whole, *streams[1]);
    partners_end.record(*streams[1]);
    spin(small, *streams[2]);
    end.record(*streams[2]);
    synchronize_device();
    record.time = end.since(begin);
    record.partner_time = partners_end.since(begin);
    if (repetition >= 0) bench.recorder.add(record);
  }
}

/// How many grids can be resident at a time. There are more streams than hardware connections
/// (CUDA_DEVICE_MAX_CONNECTIONS, among the device's settings): an event behind a kernel would keep what the next stream
/// gave to the same connection waiting until that kernel ends, and the cap on connections would look like one on grids.
/// So streams hold nothing but a kernel each, and the host's clock times them, from the first launch to the last end.
void many_small_grids(const Bench& bench) {
  constexpr Nanoseconds kLong = std::chrono::milliseconds(10);  // longer than it takes to start them all
  const Shape small{1, 32, 0};
  for (const int instances : {64, 128, 129, 256}) {
    const Streams streams = make_streams(instances);
    MicrobenchmarkRecord record = spin_record(small, instances, kLong);
    for (int repetition = -1; repetition < bench.recorder.repetitions(); ++repetition) {
      if (bench.recorder.was_cancelled()) return;
      const Nanoseconds before = host_now();
      for (const auto& stream : streams)
        check(launch_spin(small, static_cast<std::uint64_t>(kLong.count()), nullptr, stream->get()), "spin kernel");
      record.host_time = host_now() - before;
      synchronize_device();
      record.time = host_now() - before;
      if (repetition >= 0) bench.recorder.add(record);
    }
  }
}

/// Which block ran where and when, for two kernels begun together: the dispatch rule can be read off.
void dispatch_logs(const Bench& bench) {
  constexpr int kKernels = 2;
  const Streams streams = make_streams(kKernels);
  int number = 0;
  for (const Shape& shape : spin_shapes(bench.facts)) {
    if (bench.recorder.was_cancelled()) return;
    std::vector<std::unique_ptr<DeviceBuffer>> logs;
    const std::size_t bytes = sizeof(BlockLog) * static_cast<std::size_t>(shape.blocks);
    logs.reserve(kKernels);
    for (int i = 0; i < kKernels; ++i) logs.push_back(std::make_unique<DeviceBuffer>(bytes));
    run_together(streams, shape, kBlockTime, logs);
    std::vector<std::vector<BlockLog>> entries;
    std::uint64_t origin = std::numeric_limits<std::uint64_t>::max();  // the device counts from long ago
    for (const auto& log : logs) {
      std::vector<BlockLog>& of_kernel = entries.emplace_back(static_cast<std::size_t>(shape.blocks));
      check(cudaMemcpy(of_kernel.data(), log->get(), bytes, cudaMemcpyDeviceToHost), "cudaMemcpy of a log");
      for (const BlockLog& entry : of_kernel) origin = std::min(origin, entry.start);
    }
    for (std::size_t kernel = 0; kernel < entries.size(); ++kernel) {
      for (const BlockLog& entry : entries[kernel]) {
        const std::array<Trace::NamedArg, 5> args{{{"case", std::int64_t{number}},
                                                   {"kernel", static_cast<std::int64_t>(kernel)},
                                                   {"block", std::int64_t{entry.block}},
                                                   {"start clock", entry.start_clock},
                                                   {"cycles", entry.end_clock - entry.start_clock}}};
        bench.recorder.add_block(entry.sm, "spin", Nanoseconds(static_cast<std::int64_t>(entry.start - origin)),
                                 Nanoseconds(static_cast<std::int64_t>(entry.end - entry.start)), args);
      }
    }
    ++number;
  }
}

}  // namespace cohort::calibrate
