#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/cancel.hpp"
#include "executor/backend.hpp"
#include "executor/profile/case_selection.hpp"
#include "executor/profile/in_model.hpp"
#include "executor/profile/kernels.hpp"
#include "executor/profile/profile.hpp"
#include "executor/profile/time_budget.hpp"
#include "executor/work_watch.hpp"
#include "tracer/trace.hpp"

namespace cohort {

inline constexpr std::size_t kKeptSamples = 15;  ///< of a case, at most

/// At which widths fused forms are timed: at the least; at the others, where that promises a gain.
enum class FusedStage { kNarrow, kWide };

/// The ops of a model, one of each signature, with what is to be timed of them alone.
class CaseTimer {
 public:
  /// All must outlive this.
  CaseTimer(Backend& backend, const ProfileOptions& options, const CancelToken& cancel, WorkWatch& watch);

  /// Takes the model's distinct ops.
  void choose_ops(const Model& model);
  [[nodiscard]] std::size_t distinct_ops() const { return ops_.size(); }

  /// Everything: every way of every op warm. Errors: those of lower().
  Result<void> choose_warm();
  /// Times the warm cases of all ops in turn, so that much time lies between the passes.
  Result<void> time_warm(const std::function<Result<void>()>& after_pass);
  /// Those that warm times call for, in as many passes.
  Result<void> time_colder();

  /// What the whole model's runs do not tell, as far as the budget goes, and most of the model's time first: what fused
  /// forms take. Returns what there was no time for, in words for people; empty: nothing.
  /// Errors: those of lower() and of the device, where an op runs in no way; kInterrupted.
  Result<std::string> time_within(const TimeBudget& budget, FusedStage stage, const InModelTimer& in_model);

  /// Cases of these ops, which a profile has in other cases, as far as the budget goes; those that fail are left out.
  /// Returns how many there was time for.
  /// Errors: kInvalidInput naming an op that the model does not have; those of lower() and of the device; kInterrupted.
  Result<std::size_t> time_wanted(const TimeBudget& budget, std::span<const WantedCase> wanted);

  void write(Trace& trace);

  /// What the device lists and then did not run: op, way and reason.
  [[nodiscard]] std::vector<std::string> left_out() const;
  /// An error with what failed first: after one bad call a device may fail at everything.
  [[nodiscard]] Error explained(Error error) const;

  /// Whose kernels are to be recorded: each way once, warm and alone.
  [[nodiscard]] std::vector<KernelCase> kernel_cases() const;

 private:
  /// An op and its cases.
  struct OpCases {
    ProfiledOp op;
    std::string signature;
    int times_in_model = 0;
    bool is_known_to_run = false;  ///< in some way, as a profile shows that is added to
    std::vector<TimedCase> warm;
    std::vector<TimedCase> colder;
  };
  struct Planned;

  [[nodiscard]] int passes() const;
  Result<void> pass(std::size_t op, std::vector<TimedCase>& cases, int number, std::string_view what);
  Result<void> leave_out(const OpCases& op, TimedCase& timed, const Error& error);
  [[nodiscard]] bool is_done(const TimedCase& timed) const;
  Result<void> time_once_more(LoadedModel& single, TimedCase& timed, bool is_last);
  Result<void> time_once(OpCases& op, TimedCase timed);
  [[nodiscard]] std::vector<std::size_t> most_time_first(const InModelTimer& in_model) const;
  [[nodiscard]] std::optional<KnownWays> known_ways(const OpCases& op, const InModelTimer& in_model) const;

  Backend& backend_;
  const ProfileOptions& options_;
  const CancelToken& cancel_;
  TimingLimits in_pass_;
  WorkWatch& watch_;
  Bytes kept_;  ///< memory of the runners that are loaded
  std::vector<OpCases> ops_;
  std::map<std::string, std::int64_t> left_out_;  ///< op, way and reason
  std::optional<std::string> first_left_out_;
};

}  // namespace cohort
