#include "executor/recording/host_reads.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace cohort {

void HostReads::begin(std::string what, StreamId stream, std::span<const std::byte> memory) {
  reads_.push_back({std::move(what), stream, memory, {memory.begin(), memory.end()}});
}

std::vector<std::string> HostReads::end(std::optional<StreamId> stream) {
  std::vector<std::string> violations;
  std::vector<Read> left;
  for (Read& read : reads_) {
    if (stream && read.stream != *stream) {
      left.push_back(std::move(read));
    } else if (!std::equal(read.held.begin(), read.held.end(), read.memory.begin())) {
      violations.push_back(fmt::format("host memory is written while {} may still read it", read.what));
    }
  }
  reads_ = std::move(left);
  return violations;
}

}  // namespace cohort
