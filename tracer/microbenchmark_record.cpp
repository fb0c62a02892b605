#include "tracer/microbenchmark_record.hpp"

#include <array>
#include <limits>

namespace cohort {
namespace {

constexpr std::array<std::pair<Microbenchmark, std::string_view>, 10> kBenchmarks = {{
    {Microbenchmark::kEmptyKernels, "empty kernels"},
    {Microbenchmark::kLaunchLatency, "launch latency"},
    {Microbenchmark::kEmptyGraph, "empty graph"},
    {Microbenchmark::kSpin, "spin"},
    {Microbenchmark::kCopySweep, "copy sweep"},
    {Microbenchmark::kChain, "chain"},
    {Microbenchmark::kPair, "pair"},
    {Microbenchmark::kTransfer, "transfer"},
    {Microbenchmark::kTransferBesideKernel, "transfer beside kernel"},
    {Microbenchmark::kReplicas, "replicas"},
}};

constexpr std::array<std::pair<CopyDirection, std::string_view>, 3> kDirections = {{
    {CopyDirection::kHostToDevice, "host to device"},
    {CopyDirection::kDeviceToHost, "device to host"},
    {CopyDirection::kDeviceToDevice, "device to device"},
}};
constexpr std::string_view kNoDirection = "none";

template <class Enum, std::size_t Count>
std::string_view text_of(const std::array<std::pair<Enum, std::string_view>, Count>& names, Enum value) {
  for (const auto& [key, text] : names) {
    if (key == value) return text;
  }
  return "";
}

template <class Enum, std::size_t Count>
std::optional<Enum> value_of(const std::array<std::pair<Enum, std::string_view>, Count>& names,
                             std::string_view wanted) {
  for (const auto& [key, text] : names) {
    if (text == wanted) return key;
  }
  return std::nullopt;
}

/// Reads the arguments of one slice, and remembers whether one was missing.
class ArgReader {
 public:
  ArgReader(const Trace& trace, const Slice& slice) : trace_(&trace), slice_(&slice) {}

  std::int64_t integer(std::string_view key) {
    const auto value = trace_->integer_arg(*slice_, key);
    if (!value || *value < 0) complete_ = false;
    return complete_ ? *value : 0;
  }
  /// Of what runs at the same time.
  int count(std::string_view key) {
    constexpr int kMost = 65'536;
    const int value = small(key);
    if (value > kMost) complete_ = false;
    return complete_ ? value : 0;
  }
  int small(std::string_view key) {
    const std::int64_t value = integer(key);
    if (value > std::numeric_limits<int>::max()) complete_ = false;
    return complete_ ? static_cast<int>(value) : 0;
  }
  std::string_view text(std::string_view key) {
    const auto value = trace_->text_arg(*slice_, key);
    if (!value) complete_ = false;
    return value.value_or("");
  }
  [[nodiscard]] bool complete() const { return complete_; }

 private:
  const Trace* trace_;
  const Slice* slice_;
  bool complete_ = true;
};

}  // namespace

std::string_view to_string(Microbenchmark benchmark) { return text_of(kBenchmarks, benchmark); }
std::optional<Microbenchmark> microbenchmark_from(std::string_view text) { return value_of(kBenchmarks, text); }
std::string_view to_string(CopyDirection direction) { return text_of(kDirections, direction); }
std::optional<CopyDirection> copy_direction_from(std::string_view text) { return value_of(kDirections, text); }

SliceId add_microbenchmark_record(Trace& trace, TrackId track, Nanoseconds start, const MicrobenchmarkRecord& record) {
  const std::array<Trace::NamedArg, 22> args = {{
      {"benchmark", to_string(record.benchmark)},
      {"kernel", std::string_view(record.kernel)},
      {"blocks", record.launch.blocks},
      {"threads", std::int64_t{record.launch.threads}},
      {"registers", std::int64_t{record.launch.registers}},
      {"shared memory bytes", record.launch.shared_memory.value},
      {"cluster", std::int64_t{record.launch.cluster}},
      {"fma flops", record.work.fma.value},
      {"tensor flops", record.work.tensor.value},
      {"shared traffic bytes", record.work.shared.value},
      {"l2 bytes", record.work.l2.value},
      {"dram bytes", record.work.dram.value},
      {"instances", std::int64_t{record.instances}},
      {"launches", std::int64_t{record.launches}},
      {"block ns", record.block_time.count()},
      {"partner", std::string_view(record.partner)},
      {"partner instances", std::int64_t{record.partner_instances}},
      {"partner ns", record.partner_time.count()},
      {"direction", record.direction ? to_string(*record.direction) : kNoDirection},
      {"pinned", std::int64_t{record.pinned ? 1 : 0}},
      {"transfer bytes", record.bytes.value},
      {"host ns", record.host_time.count()},
  }};
  return trace.add_slice(track, record.kernel, kMicrobenchmarkCategory, start, record.time, args);
}

std::optional<MicrobenchmarkRecord> microbenchmark_record_of(const Trace& trace, const Slice& slice) {
  if (trace.strings[slice.category] != kMicrobenchmarkCategory) return std::nullopt;
  ArgReader args(trace, slice);
  MicrobenchmarkRecord record;
  const auto benchmark = microbenchmark_from(args.text("benchmark"));
  record.kernel = args.text("kernel");
  record.launch.blocks = args.integer("blocks");
  record.launch.threads = args.small("threads");
  record.launch.registers = args.small("registers");
  record.launch.shared_memory = Bytes{args.integer("shared memory bytes")};
  record.launch.cluster = args.small("cluster");
  record.work.fma = Flops{args.integer("fma flops")};
  record.work.tensor = Flops{args.integer("tensor flops")};
  record.work.shared = Bytes{args.integer("shared traffic bytes")};
  record.work.l2 = Bytes{args.integer("l2 bytes")};
  record.work.dram = Bytes{args.integer("dram bytes")};
  record.instances = args.count("instances");
  record.launches = args.small("launches");
  record.block_time = Nanoseconds(args.integer("block ns"));
  record.partner = args.text("partner");
  record.partner_instances = args.count("partner instances");
  record.partner_time = Nanoseconds(args.integer("partner ns"));
  const std::string_view direction = args.text("direction");
  record.direction = copy_direction_from(direction);
  record.pinned = args.integer("pinned") != 0;
  record.bytes = Bytes{args.integer("transfer bytes")};
  record.host_time = Nanoseconds(args.integer("host ns"));
  record.time = slice.duration;
  if (!args.complete() || !benchmark || (!record.direction && direction != kNoDirection)) return std::nullopt;
  record.benchmark = *benchmark;
  return record;
}

}  // namespace cohort
