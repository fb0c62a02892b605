#include "calibrate/workload.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace cohort::calibrate {

Buffers::Buffers(const DeviceFacts& facts)
    : l2_bytes_(std::bit_floor(std::max<std::size_t>(facts.l2_bytes / 4, std::size_t{1} << 18))), sink_(sizeof(float)) {
  l2_bytes_ = std::min(l2_bytes_, kCopyBytes);
  copies_.reserve(std::size_t{2} * kInstances);
  for (int i = 0; i < 2 * kInstances; ++i) copies_.push_back(std::make_unique<DeviceBuffer>(kCopyBytes));
}

LaunchShape shape_of(const Shape& shape, const cudaFuncAttributes& attributes) {
  LaunchShape launch;
  launch.blocks = shape.blocks;
  launch.threads = shape.threads;
  launch.registers = attributes.numRegs;
  launch.shared_memory = Bytes{static_cast<std::int64_t>(attributes.sharedSizeBytes + shape.shared_bytes)};
  return launch;
}

Workload copy_workload(const Buffers& buffers, const Shape& shape) {
  cudaFuncAttributes attributes{};
  check(attributes_of_copy(&attributes), "cudaFuncGetAttributes(copy)");
  Workload workload;
  workload.kernel = "copy";
  workload.launch = shape_of(shape, attributes);
  workload.start = [&buffers, shape](int amount, int instance, const Stream& stream) {
    check(launch_copy(shape, buffers.from(instance), buffers.to(instance), Buffers::kCopyBytes, amount, stream.get()),
          "copy kernel");
  };
  workload.work = [](int amount) {
    KernelWork work;
    work.dram = Bytes{static_cast<std::int64_t>(2 * Buffers::kCopyBytes) * amount};
    work.l2 = work.dram;
    return work;
  };
  return workload;
}

Workload chain_workload(const Buffers& buffers, ChainKind kind, const Shape& shape) {
  cudaFuncAttributes attributes{};
  check(attributes_of_chain(kind, &attributes), "cudaFuncGetAttributes(chain)");
  Workload workload;
  workload.kernel = name_of(kind);
  workload.launch = shape_of(shape, attributes);
  workload.start = [&buffers, kind, shape](int amount, int instance, const Stream& stream) {
    check(launch_chain(kind, shape, amount, buffers.from(instance), buffers.l2_bytes(), buffers.sink(), stream.get()),
          "chain kernel");
  };
  workload.work = [kind, shape](int amount) {
    const ChainWork each = work_of(kind);
    const double threads = static_cast<double>(shape.blocks) * shape.threads * amount;
    KernelWork work;
    work.fma = Flops{std::llround(each.fma_flops_a_thread * threads)};
    work.tensor = Flops{std::llround(each.tensor_flops_a_warp * threads / 32)};
    work.shared = Bytes{std::llround(each.shared_bytes_a_thread * threads)};
    work.l2 = Bytes{std::llround(each.l2_bytes_a_thread * threads)};
    return work;
  };
  return workload;
}

void scale_to(Workload& workload, Nanoseconds length) {
  const Stream stream;
  Event begin;
  Event end;
  workload.amount = amount_for(workload.kernel, length, [&](int amount) {
    workload.start(amount, 0, stream);  // warm
    begin.record(stream);
    workload.start(amount, 0, stream);
    end.record(stream);
    stream.synchronize();
    return end.since(begin);
  });
}

Gate::Gate(int streams) {
  constexpr std::uint64_t kFirst = 200'000;  // nanoseconds
  constexpr std::uint64_t kEach = 30'000;    // a wait, a kernel and an event, with room
  check(launch_spin({1, 32, 0}, kFirst + kEach * static_cast<std::uint64_t>(streams), nullptr, stream_.get()), "gate");
  opened_.record(stream_);
}

Nanoseconds Gate::length(const std::vector<std::unique_ptr<Span>>& spans) const {
  Nanoseconds first = Nanoseconds::max();
  Nanoseconds last{};
  for (const auto& span : spans) {
    first = std::min(first, span->begin.since(opened_));
    last = std::max(last, span->end.since(opened_));
  }
  return last - first;
}

}  // namespace cohort::calibrate
