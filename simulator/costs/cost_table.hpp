#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/device.hpp"
#include "base/result.hpp"
#include "base/units.hpp"
#include "simulator/costs/copy_times.hpp"
#include "simulator/costs/op_times.hpp"
#include "simulator/engine/device_profile.hpp"
#include "simulator/plan/op_catalog.hpp"
#include "simulator/plan/program.hpp"
#include "tracer/profile_record.hpp"

namespace cohort {

/// How much of a cost was measured.
enum class CostOrigin {
  kProfiled,      ///< the very call, at this width; at most interpolated between footprints
  kInterpolated,  ///< along a line through recorded widths or sizes
  kAnalytic,      ///< width times the single op: never recorded as fused (GpuDemands::together() on a GPU)
};
std::string_view to_string(CostOrigin origin);

struct Cost {
  Nanoseconds time{};
  CostOrigin origin = CostOrigin::kProfiled;

  friend bool operator==(const Cost&, const Cost&) = default;
};

/// What the ops of recorded profiles cost on one device, in the middle of a run: records of first executions and of
/// flushed caches are left out. Repeated records count by their median.
class CostTable {
 public:
  /// `core_cache`: what a core alone caches, its L2; zero: unknown.
  explicit CostTable(std::span<const ProfileRecord> records, Bytes core_cache = {});
  /// Errors: kInvalidInput where a trace is no profile, holds no record, or is of another device
  /// than the first; the message says which.
  static Result<CostTable> from(std::span<const Trace* const> profiles);

  /// Between recorded footprints times are interpolated linearly in log(footprint), beyond them the nearest holds;
  /// where the cores' own caches end between two of them, most of the change is there. A fused width that was not
  /// recorded lies on the line through the two nearest recorded ones. An empty algorithm, or one that was not recorded,
  /// means the fastest. A launch of several members' ops that was never recorded takes what they take one after
  /// another, each as CostKey::alone says; what was never recorded as made for some multiprocessors (signature_for())
  /// takes as long as made for all. Errors: kInvalidInput naming the op and what to profile.
  [[nodiscard]] Result<Cost> cost(const CostKey& key, const CostContext& context) const;

  /// Whether this way of running the call was recorded, at whatever width; of a grouped call of different ops, for each
  /// of them.
  [[nodiscard]] bool has(const CostKey& key) const;
  /// Whether anything was recorded under the signature.
  [[nodiscard]] bool has_op(std::string_view signature) const { return find(signature) != nullptr; }
  /// Whether any width of an op was recorded so.
  [[nodiscard]] bool has_form(std::string_view signature, Strategy strategy, int threads) const;
  /// Whether launches of several such ops side by side were recorded.
  [[nodiscard]] bool has_group(std::string_view signature, int threads) const;

  /// Whether tensors of this shape were recorded as copied out of stacks before ops read them.
  [[nodiscard]] bool splits(const Shape& shape) const;

  /// The ways recorded to run a call on up to `threads` cores, the library's first choice first;
  /// empty where there is none. Widths never recorded take those of the nearest, sizes scaled.
  [[nodiscard]] std::vector<Alternative> alternatives(const CostKey& key) const;

  /// Whether ops were timed in their places in the model: then times hold the waking of helper threads, and activations
  /// as the ops before leave them.
  [[nodiscard]] bool in_model() const { return usual_.in_model; }
  /// Whether any op was timed in its model beside others on the other cores.
  [[nodiscard]] bool beside_in_model() const { return !usual_.beside.empty(); }
  /// Whether this very call was; of several members, in a plan.
  [[nodiscard]] bool in_model(const CostKey& key) const;
  /// Whether this very call, of one member on one core, was timed in its model among calls on several cores, with as
  /// large a footprint or the largest that there is.
  [[nodiscard]] bool among_teams(const CostKey& key, Bytes footprint) const;

  /// How far samples of ops in their model lie apart: the median over ops of a standard deviation, in parts of the
  /// time.
  [[nodiscard]] double spread() const { return spread_; }
  /// By how much a step of members in turn differs from its ops and what the host adds to them, in parts of it; the
  /// worst profile's.
  [[nodiscard]] double unexplained() const { return unexplained_; }
  /// How far whole steps lay apart while they were profiled: a standard deviation, in parts of the time; the worst
  /// profile's. Zero where too few were timed.
  [[nodiscard]] double variation() const { return variation_; }
  /// What profiles had no time for, in words for people; empty: nothing.
  [[nodiscard]] const std::string& lacking() const { return lacking_; }
  /// What the times of ops were estimated from, where no one timed them, in words for people; empty: they were timed.
  /// Of several profiles the least sure one's.
  [[nodiscard]] const std::string& estimated_from() const { return estimated_from_; }
  /// How far off they may be together, then; a standard deviation in parts of them.
  [[nodiscard]] double estimated_within() const { return estimated_within_; }
  /// In which a cache line went from one core to another and back while ops were timed: usually, and where cores were
  /// moved apart for a while.
  struct RoundTrip {
    Nanoseconds usual{};
    Nanoseconds longest{};
    [[nodiscard]] bool varied() const { return cores_moved(usual, longest); }
  };
  /// The worst profile's; absent where none says.
  [[nodiscard]] const std::optional<RoundTrip>& round_trip() const { return round_trip_; }
  /// The largest footprint of which ops were timed in their model.
  [[nodiscard]] Bytes most_footprint() const { return most_footprint_; }

  /// Median of the records with this signature: stages of the input, overheads.
  [[nodiscard]] std::optional<Nanoseconds> stage(std::string_view signature) const;

 private:
  using Form = OpTimes::Form;

  [[nodiscard]] OpTimes::WidthCosts width_costs(const OpTimes& op, const CostKey& key,
                                                const CostContext& context) const;
  [[nodiscard]] static std::vector<Alternative> listed(const OpTimes& op, Strategy strategy, int width, int threads);
  [[nodiscard]] Result<Cost> recorded_cost(const CostKey& key, const CostContext& context) const;
  [[nodiscard]] Result<Cost> group_cost(const CostKey& key, const CostContext& context) const;
  [[nodiscard]] std::vector<Alternative> group_alternatives(const CostKey& key) const;
  [[nodiscard]] Result<Cost> copy_cost(const CostKey& key, const CostContext& context) const;
  [[nodiscard]] const OpTimes* find(std::string_view signature) const;
  /// Null where the very call was not recorded.
  [[nodiscard]] const OpTimes::Timing* timing_of(const CostKey& key) const;

  std::map<std::string, OpTimes, std::less<>> ops_;
  std::map<std::string, CopySignature> copies_;  ///< of those the copies
  UsualRatios usual_;
  double spread_ = 0;
  double unexplained_ = 0;
  double variation_ = 0;
  Bytes most_footprint_;
  std::string lacking_;
  std::string estimated_from_;
  double estimated_within_ = 0;
  std::optional<RoundTrip> round_trip_;
};

/// The device of recorded profiles: its cores, and overheads where they were recorded.
/// Errors: kInvalidInput where `profiles` is empty or they name different devices.
Result<DeviceProfile> device_profile_of(std::span<const Trace* const> profiles);

}  // namespace cohort
