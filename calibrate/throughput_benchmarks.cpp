#include <algorithm>

#include "calibrate/benchmarks.hpp"

namespace cohort::calibrate {
namespace {

constexpr int kWarp = 32;
constexpr Nanoseconds kChainLength = std::chrono::microseconds(300);
constexpr Nanoseconds kPairLength = std::chrono::milliseconds(2);

MicrobenchmarkRecord record_of(Microbenchmark benchmark, const Workload& workload, int instances) {
  MicrobenchmarkRecord record;
  record.benchmark = benchmark;
  record.kernel = workload.kernel;
  record.launch = workload.launch;
  record.work = workload.work(workload.amount);
  record.instances = instances;
  record.launches = instances;
  return record;
}

/// One launch at a time, alone, and given before it may begin: else its launch is a part of what events measure.
void measure_alone(const Bench& bench, Microbenchmark benchmark, const Workload& workload) {
  const Stream stream;
  MicrobenchmarkRecord record = record_of(benchmark, workload, 1);
  for (int repetition = -1; repetition < bench.recorder.repetitions(); ++repetition) {
    if (bench.recorder.was_cancelled()) return;
    const Gate gate(1);
    Gate::Span span;
    gate.begin(span, stream);
    workload.start(workload.amount, 0, stream);
    Gate::end(span, stream);
    stream.synchronize();
    record.time = span.end.since(span.begin);
    if (repetition >= 0) bench.recorder.add(record);
  }
}

/// So much shared memory that an SM holds one block.
Shape one_block_an_sm(const DeviceFacts& facts, int blocks, int threads) {
  return {blocks, threads, std::min(facts.shared_per_block, facts.shared_per_sm / 2 + 1024)};
}

}  // namespace

Workload probe_workload(const DeviceFacts& facts, const Buffers& buffers, std::string_view kernel, double share) {
  const int on_sm = static_cast<int>(share * facts.threads_per_sm);
  const int threads = std::clamp(on_sm / kWarp * kWarp, kWarp, 256);
  const Shape shape{std::max(1, on_sm / threads) * facts.sms, threads, 0};
  for (const ChainKind kind :
       {ChainKind::kFma, ChainKind::kTensorBf16, ChainKind::kTensorTf32, ChainKind::kShared, ChainKind::kL2}) {
    if (kernel == name_of(kind)) return chain_workload(buffers, kind, shape);
  }
  return copy_workload(buffers, shape);
}

void copy_sweep(const Bench& bench) {
  constexpr Nanoseconds kSweepLength = std::chrono::milliseconds(2);  // in which its beginning and end are nothing
  std::vector<int> counts;
  for (int blocks = 1; blocks < bench.facts.sms; blocks *= 2) counts.push_back(blocks);
  counts.push_back(bench.facts.sms);
  for (const int blocks : counts) {
    Workload workload = copy_workload(bench.buffers, one_block_an_sm(bench.facts, blocks, 1024));
    scale_to(workload, kSweepLength);
    measure_alone(bench, Microbenchmark::kCopySweep, workload);
  }
}

void chains(const Bench& bench) {
  for (const ChainKind kind :
       {ChainKind::kFma, ChainKind::kTensorBf16, ChainKind::kTensorTf32, ChainKind::kShared, ChainKind::kL2}) {
    if (!can_run(bench.facts, name_of(kind))) continue;
    for (int warps = 1; warps <= 64; warps *= 2) {
      const int blocks_an_sm = std::max(1, warps / 32);
      if (warps * kWarp > bench.facts.threads_per_sm) continue;
      const Shape shape{bench.facts.sms * blocks_an_sm, std::min(warps, 32) * kWarp, 0};
      Workload workload = chain_workload(bench.buffers, kind, shape);
      scale_to(workload, kChainLength);
      measure_alone(bench, Microbenchmark::kChain, workload);
    }
  }
}

void pairs(const Bench& bench) {
  const Stream stream_a;
  const Stream stream_b;
  for (const PairCase& pair : pair_cases()) {
    if (!can_run(bench.facts, pair.a) || !can_run(bench.facts, pair.b)) continue;
    Workload a = probe_workload(bench.facts, bench.buffers, pair.a, pair.share_a);
    Workload b = probe_workload(bench.facts, bench.buffers, pair.b, pair.share_b);
    scale_to(a, kPairLength);
    scale_to(b, kPairLength);
    measure_alone(bench, Microbenchmark::kReplicas, a);  // each side alone is what the pair is held against
    measure_alone(bench, Microbenchmark::kReplicas, b);
    MicrobenchmarkRecord record = record_of(Microbenchmark::kPair, a, 1);
    record.partner = b.kernel;
    record.partner_instances = 1;
    for (int repetition = -1; repetition < bench.recorder.repetitions(); ++repetition) {
      if (bench.recorder.was_cancelled()) return;
      const Gate gate(2);
      Gate::Span span_a;
      Gate::Span span_b;
      gate.begin(span_a, stream_a);
      gate.begin(span_b, stream_b);
      a.start(a.amount, 0, stream_a);
      b.start(b.amount, 1, stream_b);
      Gate::end(span_a, stream_a);
      Gate::end(span_b, stream_b);
      synchronize_device();
      record.time = span_a.end.since(span_a.begin);
      record.partner_time = span_b.end.since(span_b.begin);
      if (repetition >= 0) bench.recorder.add(record, pair.held_out);
    }
  }
}

void replicas(const Bench& bench) {
  const Streams streams = make_streams(Buffers::kInstances);
  for (const char* kernel : {"copy", "fma", "l2", "shared"}) {
    for (const double share : {0.25, 1.0}) {
      Workload workload = probe_workload(bench.facts, bench.buffers, kernel, share);
      scale_to(workload, kPairLength);
      for (const int instances : {1, 2, 4}) {
        MicrobenchmarkRecord record = record_of(Microbenchmark::kReplicas, workload, instances);
        for (int repetition = -1; repetition < bench.recorder.repetitions(); ++repetition) {
          if (bench.recorder.was_cancelled()) return;
          const Gate gate(instances);
          std::vector<std::unique_ptr<Gate::Span>> spans;
          for (int i = 0; i < instances; ++i) {
            const Stream& stream = *streams[static_cast<std::size_t>(i)];
            spans.push_back(std::make_unique<Gate::Span>());
            gate.begin(*spans.back(), stream);
            workload.start(workload.amount, i, stream);
            Gate::end(*spans.back(), stream);
          }
          synchronize_device();
          record.time = gate.length(spans);
          if (repetition >= 0) bench.recorder.add(record);
        }
      }
    }
  }
}

}  // namespace cohort::calibrate
