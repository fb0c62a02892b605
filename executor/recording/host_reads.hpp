#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "simulator/plan/program.hpp"

namespace cohort {

/// Host memory that copies to a device may still be reading. What the host writes there in the meantime may be copied
/// or not, so it is found by comparing with what the memory held when the copy was given.
class HostReads {
 public:
  /// `what` names the copy in a violation; `memory` must stay until it has ended.
  void begin(std::string what, StreamId stream, std::span<const std::byte> memory);
  /// The host has waited for the copies of `stream`, or of all. Returns a violation for each whose memory has changed.
  std::vector<std::string> end(std::optional<StreamId> stream = {});

 private:
  struct Read {
    std::string what;
    StreamId stream{};
    std::span<const std::byte> memory;
    std::vector<std::byte> held;
  };
  std::vector<Read> reads_;  ///< in the order given
};

}  // namespace cohort
