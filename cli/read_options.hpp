#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>

#include "tracer/file/trace_file.hpp"

namespace cohort {

/// The option that says how large a packed trace may grow.
class ReadOptionSet {
 public:
  /// Declares --most-inflated; this must outlive the parser.
  void declare(CLI::App& app);
  [[nodiscard]] TraceReadOptions options() const;

 private:
  std::uint64_t most_inflated_ = TraceReadOptions{}.most_inflated_bytes;
};

}  // namespace cohort
