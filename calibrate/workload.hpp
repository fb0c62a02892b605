#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "calibrate/device.hpp"
#include "calibrate/kernels.hpp"
#include "calibrate/recorder.hpp"

namespace cohort::calibrate {

/// A kernel that can be made to run longer: copies or chains of some shape.
struct Workload {
  std::string kernel;  ///< as records name it
  LaunchShape launch;
  /// Launches once with `amount` repeats of the work; `instance` chooses buffers of its own.
  std::function<void(int amount, int instance, const Stream& stream)> start;
  std::function<KernelWork(int amount)> work;
  int amount = 1;  ///< for the wanted length, see scale_to()
};

/// Buffers that workloads share, allocated once.
class Buffers {
 public:
  static constexpr int kInstances = 4;
  static constexpr std::size_t kCopyBytes = std::size_t{128} << 20;

  explicit Buffers(const DeviceFacts& facts);
  [[nodiscard]] const void* from(int instance) const { return copies_[static_cast<std::size_t>(2 * instance)]->get(); }
  [[nodiscard]] void* to(int instance) const { return copies_[static_cast<std::size_t>(2 * instance + 1)]->get(); }
  /// A quarter of L2, rounded down to a power of two.
  [[nodiscard]] std::size_t l2_bytes() const { return l2_bytes_; }
  [[nodiscard]] float* sink() const { return sink_.get<float>(); }

 private:
  std::vector<std::unique_ptr<DeviceBuffer>> copies_;
  std::size_t l2_bytes_;
  DeviceBuffer sink_;
};

Workload copy_workload(const Buffers& buffers, const Shape& shape);
Workload chain_workload(const Buffers& buffers, ChainKind kind, const Shape& shape);
std::string_view name_of(ChainKind kind);

/// The amount of work that takes about `length`, by `time_of` a launch with an amount; at most kMostAmount.
/// Throws DeviceError, naming `kernel`, where even that much takes no time to speak of: the kernel does nothing.
int amount_for(std::string_view kernel, Nanoseconds length, const std::function<Nanoseconds(int amount)>& time_of);
inline constexpr int kMostAmount = 1 << 26;

/// Sets the amount so that one launch alone takes about `length`. Throws as amount_for().
void scale_to(Workload& workload, Nanoseconds length);

/// Lets launches on many streams begin together: everything is queued behind a kernel that spins meanwhile.
class Gate {
 public:
  /// Closed for long enough to queue work on `streams` streams.
  explicit Gate(int streams);
  /// What is given to the stream from now until end() begins when the gate opens.
  struct Span {
    Event begin;
    Event end;
  };
  void begin(Span& span, const Stream& stream) const {
    opened_.make_wait(stream);
    span.begin.record(stream);
  }
  static void end(Span& span, const Stream& stream) { span.end.record(stream); }
  /// After all is done: from the first begin to the last end.
  [[nodiscard]] Nanoseconds length(const std::vector<std::unique_ptr<Span>>& spans) const;

 private:
  Stream stream_;
  Event opened_;
};

LaunchShape shape_of(const Shape& shape, const cudaFuncAttributes& attributes);

}  // namespace cohort::calibrate
