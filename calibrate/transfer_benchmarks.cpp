#include <array>
#include <optional>

#include "calibrate/benchmarks.hpp"

namespace cohort::calibrate {
namespace {

constexpr std::size_t kMost = std::size_t{64} << 20;

struct Ends {
  const void* from = nullptr;
  void* to = nullptr;
  cudaMemcpyKind kind = cudaMemcpyHostToDevice;
};

/// Host and device memory of all transfers.
class TransferBuffers {
 public:
  TransferBuffers() : pinned_(kMost, true), pageable_(kMost, false), device_(kMost), other_(kMost) {}

  Ends ends(CopyDirection direction, bool pinned) {
    void* const host = pinned ? pinned_.get() : pageable_.get();
    switch (direction) {
      case CopyDirection::kHostToDevice:
        return {host, device_.get(), cudaMemcpyHostToDevice};
      case CopyDirection::kDeviceToHost:
        return {device_.get(), host, cudaMemcpyDeviceToHost};
      case CopyDirection::kDeviceToDevice:
        return {device_.get(), other_.get(), cudaMemcpyDeviceToDevice};
    }
    return {};
  }

 private:
  HostBuffer pinned_;
  HostBuffer pageable_;
  DeviceBuffer device_;
  DeviceBuffer other_;
};

MicrobenchmarkRecord transfer_record(Microbenchmark benchmark, CopyDirection direction, bool pinned,
                                     std::size_t bytes) {
  MicrobenchmarkRecord record;
  record.benchmark = benchmark;
  record.kernel = "transfer";
  record.direction = direction;
  record.pinned = pinned;
  record.bytes = Bytes{static_cast<std::int64_t>(bytes)};
  return record;
}

struct Case {
  CopyDirection direction;
  bool pinned;
};
constexpr std::array<Case, 5> kCases = {{{CopyDirection::kHostToDevice, true},
                                         {CopyDirection::kHostToDevice, false},
                                         {CopyDirection::kDeviceToHost, true},
                                         {CopyDirection::kDeviceToHost, false},
                                         {CopyDirection::kDeviceToDevice, true}}};

}  // namespace

void transfers(const Bench& bench) {
  TransferBuffers buffers;
  const Stream stream;
  for (const auto& [direction, pinned] : kCases) {
    const Ends ends = buffers.ends(direction, pinned);
    for (std::size_t bytes = std::size_t{4} << 10; bytes <= kMost; bytes *= 8) {
      MicrobenchmarkRecord record = transfer_record(Microbenchmark::kTransfer, direction, pinned, bytes);
      for (int repetition = -1; repetition < bench.recorder.repetitions(); ++repetition) {
        if (bench.recorder.was_cancelled()) return;
        // Pinned copies are given before they may begin, so that the call is no part of them; pageable ones may hold
        // the host up until they are done.
        const std::optional<Gate> gate = pinned ? std::make_optional<Gate>(1) : std::nullopt;
        Gate::Span span;
        if (gate) {
          gate->begin(span, stream);
        } else {
          span.begin.record(stream);
        }
        const Nanoseconds before = host_now();
        check(cudaMemcpyAsync(ends.to, ends.from, bytes, ends.kind, stream.get()), "cudaMemcpyAsync");
        record.host_time = host_now() - before;
        Gate::end(span, stream);
        stream.synchronize();
        record.time = span.end.since(span.begin);
        if (repetition >= 0) bench.recorder.add(record);
      }
    }
  }
}

void transfers_beside_kernels(const Bench& bench) {
  constexpr std::size_t kBytes = std::size_t{32} << 20;
  constexpr Nanoseconds kLength = std::chrono::milliseconds(2);
  TransferBuffers buffers;
  const Stream copying;
  const Stream computing;
  const Shape shape{bench.facts.sms * 2, 256, 0};
  for (Workload workload :
       {copy_workload(bench.buffers, shape), chain_workload(bench.buffers, ChainKind::kFma, shape)}) {
    scale_to(workload, kLength);
    for (const auto& [direction, pinned] : kCases) {
      const Ends ends = buffers.ends(direction, pinned);
      MicrobenchmarkRecord record = transfer_record(Microbenchmark::kTransferBesideKernel, direction, pinned, kBytes);
      record.partner = workload.kernel;
      record.partner_instances = 1;
      for (int repetition = -1; repetition < bench.recorder.repetitions(); ++repetition) {
        if (bench.recorder.was_cancelled()) return;
        Event begin;
        Event kernel_begin;
        Event end;
        Event kernel_end;
        kernel_begin.record(computing);
        workload.start(workload.amount, 0, computing);
        kernel_end.record(computing);
        begin.record(copying);
        const Nanoseconds before = host_now();
        check(cudaMemcpyAsync(ends.to, ends.from, kBytes, ends.kind, copying.get()), "cudaMemcpyAsync");
        record.host_time = host_now() - before;
        end.record(copying);
        synchronize_device();
        record.time = end.since(begin);
        record.partner_time = kernel_end.since(kernel_begin);
        if (repetition >= 0) bench.recorder.add(record);
      }
    }
  }
}

}  // namespace cohort::calibrate
