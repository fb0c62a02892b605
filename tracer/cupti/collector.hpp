#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "base/result.hpp"
#include "base/units.hpp"
#include "tracer/cupti/spool.hpp"
#include "tracer/cupti_plugin.hpp"

namespace cohort::cupti {

/// Takes whole chunks of a spool, one call at a time, from threads of CUPTI's.
using ChunkSink = std::function<void(std::string_view)>;

/// CUPTI, switched on: its buffers become chunks. The only file that talks to CUPTI is its source.
class Collector {
 public:
  /// Errors: kDeviceMissing as CuptiPlugin::start.
  static Result<std::unique_ptr<Collector>> start(const CuptiOptions& options, ChunkSink sink);

  Collector() = default;
  Collector(const Collector&) = delete;
  Collector& operator=(const Collector&) = delete;
  virtual ~Collector() = default;

  virtual void label(std::uint64_t id, const Label& label) = 0;
  virtual void push(std::uint64_t id) noexcept = 0;
  virtual void pop() noexcept = 0;
  /// CUPTI's clock, in which its records are; absent where it does not tell.
  [[nodiscard]] virtual std::optional<Nanoseconds> now() const noexcept = 0;
  /// Delivers the buffers whose records are complete; called now and then, so that a crash loses little.
  virtual void flush() noexcept = 0;
  /// Delivers all, counts what was dropped and writes the end. Does not synchronise the device. `detach`
  /// also ends CUPTI's hold on the process, which otherwise costs some speed.
  virtual Result<void> stop(bool detach) = 0;
  /// Instead of stop() where the device still works when the process must end: delivers the buffers whose records are
  /// complete and counts what was dropped. No end is written, and CUPTI stays switched on: records may still come.
  virtual void leave() noexcept = 0;
};

}  // namespace cohort::cupti
