#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

#include "executor/recording/recording_backend.hpp"

namespace cohort::testing {

/// What the fake device was given, without its first `from` commands: "u1" an upload into slot 1, "l1" steps on it, "w"
/// the host's wait; each once, however many inputs or steps.
inline std::vector<std::string> order_of(const Recording& recording, std::size_t from) {
  std::vector<std::string> order;
  for (std::size_t i = from; i < recording.commands().size(); ++i) {
    const RecordedCommand& command = recording.commands()[i];
    std::string each;
    if (command.kind == RecordedCommand::Kind::kUpload) each = fmt::format("u{}", command.slot);
    if (command.kind == RecordedCommand::Kind::kLaunch) each = fmt::format("l{}", command.slot);
    if (command.kind == RecordedCommand::Kind::kSynchronize) each = "w";
    if (!each.empty() && (order.empty() || order.back() != each)) order.push_back(each);
  }
  return order;
}

}  // namespace cohort::testing
