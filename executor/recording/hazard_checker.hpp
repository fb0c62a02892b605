#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "executor/backend.hpp"
#include "simulator/plan/program.hpp"

namespace cohort {

/// What is known to be done at a point of a stream: per stream, how many of its commands.
/// Source: Fidge 1988, Mattern 1989 (vector clocks).
using VectorClock = std::vector<std::uint64_t>;

/// Follows a Program's steps as they are given to streams and reports every pair that touches the
/// same bytes, one of them writing, without an order between them; every read of bytes that were
/// not written or were overwritten; and every step not ordered after its dependencies. Bytes are
/// compared by view inside a buffer, and by range between buffers of the arena.
class HazardChecker {
 public:
  explicit HazardChecker(const Program& program);

  void run(StepId step, StreamId stream, int slot);
  void upload(std::size_t input_index, int slot, StreamId stream);
  /// All that `stream` has been given so far, and what that came after.
  [[nodiscard]] const VectorClock& clock(StreamId stream) const { return clocks_[to_index(stream)]; }
  /// Later work on `stream` comes after `event`.
  void wait(StreamId stream, const VectorClock& event);
  /// Everything later comes after everything so far.
  void synchronize();

  /// In the order found, each text once.
  [[nodiscard]] const std::vector<std::string>& violations() const { return violations_; }
  void report(std::string violation);

 private:
  struct Touch {
    BufferId buffer{};
    std::optional<View> view;  ///< none: the whole buffer
    bool writes = false;
    std::vector<StepId> writers;  ///< of a read: the steps whose results it takes
  };
  struct Access {
    StreamId stream{};
    std::uint64_t tick = 0;
    std::optional<StepId> step;  ///< none: an upload
    std::optional<View> view;
    bool writes = false;
  };
  /// What one copy of a buffer holds.
  struct Instance {
    std::vector<Access> accesses;       ///< since the last synchronize()
    std::set<StepId> written;           ///< by whom, and not overwritten since
    std::optional<StepId> overwritten;  ///< by whom, through a buffer that shares its bytes
    bool uploaded = false;
  };
  struct Launch {
    StreamId stream{};
    std::uint64_t tick = 0;
  };

  /// By BufferId: what the steps so far write in it.
  using Writers = std::vector<std::vector<std::pair<StepId, View>>>;
  static std::vector<Touch> touches_of(const Step& step, const Writers& writers);
  void find_sharers();
  Instance& instance(BufferId buffer, int slot);
  [[nodiscard]] bool is_before(const Access& earlier, StreamId stream) const;
  void check_dependencies(StepId step, StreamId stream);
  void check_contents(StepId step, const Touch& touch, Instance& held);
  void check_races(const Touch& touch, const Access& access, int slot);
  void keep(const Access& access, Instance& held);
  [[nodiscard]] std::string who(const Access& access) const;

  const Program* program_;
  std::vector<std::vector<Touch>> touches_;      ///< by StepId
  std::vector<std::vector<BufferId>> sharers_;   ///< by BufferId: arena buffers with common bytes
  std::vector<std::vector<Instance>> held_;      ///< by BufferId, then slot for inputs
  std::vector<std::optional<Launch>> launches_;  ///< by StepId: the latest
  std::vector<VectorClock> clocks_;              ///< by stream
  std::vector<std::string> violations_;
  std::set<std::string> reported_;
};

}  // namespace cohort
