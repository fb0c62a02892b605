#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "executor/backend.hpp"
#include "executor/profile/in_model.hpp"
#include "executor/profile/op_case.hpp"
#include "executor/profile/profile.hpp"
#include "models/model.hpp"

namespace cohort {

/// An op to be timed alone.
struct ProfiledOp {
  const Op* op = nullptr;          ///< in its model
  LoadedModel single;              ///< the op as a model of its own; weights while it is timed
  Layout layout = Layout::kNhwc;   ///< layout_alone()
  bool reads_model_input = false;  ///< which comes from afar, where what others read was mostly just written
  bool times_split = false;        ///< members' parts copied out of a stack of what it writes are timed, too
};

/// A way of running an op and what was measured of it so far.
struct TimedCase {
  explicit TimedCase(OpCase way, bool for_copies = false) : op_case(std::move(way)), copies_only(for_copies) {}

  OpCase op_case;
  bool copies_only;  ///< wanted for the copies that stack inputs or split outputs, not for the op
  CaseTiming timing;
  std::vector<Probed> probed;  ///< of each of the timing's calls: WorkWatch::next() of its pass
  std::vector<Probed> copies_probed;
  Nanoseconds spent{};                 ///< in all calls
  bool done = false;                   ///< no more passes are wanted
  bool failed = false;                 ///< the device does not run it after all
  bool in_passes = true;               ///< else all samples are taken in one go
  std::unique_ptr<CaseRunner> runner;  ///< kept between passes while all that are kept are small together
};

/// A call that a plan makes and that a profile lacks: precision and layout follow from the profile.
struct WantedCase {
  std::string signature;  ///< of the op, in its model
  OpCase op_case;

  friend bool operator==(const WantedCase&, const WantedCase&) = default;
};

/// Footprints around the end of the cache that a CPU's cores share, where its size is known; else usual ones.
std::vector<Bytes> usual_footprints(const DeviceInfo& device);

/// `op` of `model`.
ProfiledOp profiled_op(const Model& model, const Op& op, Layout layout);

/// Whether a fused form of it writes all members' channels as one tensor.
bool has_stacked_channels(const ProfiledOp& op);

/// Every alternative and fused form with warm weights, alone, on one thread and on all; where the size of a GPU's last
/// cache is known, each also with that flushed. Errors: those of lower().
Result<std::vector<TimedCase>> warm_cases(const Backend& backend, const ProfileOptions& options, const ProfiledOp& op);

/// Once warm cases are timed: those near the best also with colder weights, and beside themselves on every core.
std::vector<TimedCase> colder_cases(const Backend& backend, const ProfileOptions& options, const ProfiledOp& op,
                                    const std::vector<TimedCase>& warm);

/// The best way to run an op on so many cores, and what it takes in its model.
struct KnownWay {
  OpWay way;
  Nanoseconds time{};
};
/// On one core, then on all.
using KnownWays = std::vector<KnownWay>;

/// The op's best ways alone, and its fused forms at the least width; where those are among `timed`, what promises a
/// gain at the other widths.
std::vector<TimedCase> fused_cases(const ProfileOptions& options, const ProfiledOp& op, const KnownWays& known,
                                   const std::vector<TimedCase>& timed);

}  // namespace cohort
