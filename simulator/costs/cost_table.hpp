#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/result.hpp"
#include "base/units.hpp"
#include "simulator/costs/copy_times.hpp"
#include "simulator/engine/device_profile.hpp"
#include "simulator/plan/op_catalog.hpp"
#include "simulator/plan/program.hpp"
#include "tracer/profile_record.hpp"

namespace cohort {

/// How much of a cost was measured.
enum class CostOrigin {
  kProfiled,      ///< the very call, at this width; at most interpolated between footprints
  kInterpolated,  ///< along a line through recorded widths or sizes
  kAnalytic,      ///< width times the single op: this fused form was never recorded
};
std::string_view to_string(CostOrigin origin);

struct Cost {
  Nanoseconds time{};
  CostOrigin origin = CostOrigin::kProfiled;

  friend bool operator==(const Cost&, const Cost&) = default;
};

/// Where a call runs, as far as it changes its time.
struct CostContext {
  Bytes footprint;     ///< bytes touched between two uses of the same weights
  int neighbours = 0;  ///< other cores that work at the same time
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
  /// Whether launches of several such ops side by side were recorded.
  [[nodiscard]] bool has_group(std::string_view signature, int threads) const;

  /// Whether tensors of this shape were recorded as copied out of stacks before ops read them.
  [[nodiscard]] bool splits(const Shape& shape) const;

  /// The ways recorded to run a call on up to `threads` cores, the library's first choice first;
  /// empty where there is none. Widths never recorded take those of the nearest, sizes scaled.
  [[nodiscard]] std::vector<Alternative> alternatives(const CostKey& key) const;

  /// Whether ops were timed in their places in the model: then times hold the waking of helper threads, and activations
  /// as the ops before leave them.
  [[nodiscard]] bool in_model() const { return in_model_; }
  /// Whether this very op was.
  [[nodiscard]] bool in_model(const CostKey& key) const;

  /// How far samples of ops in their model lie apart: the median over ops of a standard deviation, in parts of the
  /// time.
  [[nodiscard]] double spread() const { return spread_; }
  /// By how much a step of members in turn differs from its ops and what the host adds to them, in parts of it; the
  /// worst profile's.
  [[nodiscard]] double unexplained() const { return unexplained_; }
  /// What profiles had no time for, in words for people; empty: nothing.
  [[nodiscard]] const std::string& lacking() const { return lacking_; }
  /// The largest footprint of which ops were timed in their model.
  [[nodiscard]] Bytes most_footprint() const { return most_footprint_; }

  /// Median of the records with this signature: stages of the input, overheads.
  [[nodiscard]] std::optional<Nanoseconds> stage(std::string_view signature) const;

 private:
  /// Median time by footprint.
  struct Curve {
    std::vector<std::pair<Bytes, Nanoseconds>> points;  ///< ascending
    Bytes cached;    ///< footprints up to this one fit into the cores' caches; zero: unknown
    Bytes uncached;  ///< from this one on nothing of them is found there again
  };
  /// One call at one width.
  struct Timing {
    std::map<int, Curve> by_neighbours;  ///< of the call alone
    std::map<int, Curve> in_model;       ///< in its place in the model, likewise; empty: not timed there
    Bytes workspace, packed_weights;
    std::size_t first_seen = 0;
  };
  using Form = std::tuple<std::string, int, std::string>;  ///< strategy, threads, algorithm
  struct Entry {
    std::map<Form, std::map<int, Timing>> forms;  ///< then by width
  };
  using WidthCosts = std::map<int, double>;

  static void correct(Timing& timing);
  [[nodiscard]] static double curve_time(const Curve& curve, Bytes footprint);
  [[nodiscard]] static double timing_at(const Timing& timing, const CostContext& context);
  [[nodiscard]] static std::size_t points_of(const Timing& timing);
  [[nodiscard]] static double slowdown(const Entry& entry, std::string_view strategy, int threads, int width,
                                       const CostContext& context);
  [[nodiscard]] double time_in_context(const Entry& entry, const Form& form, int width, const Timing& timing,
                                       const CostContext& context) const;
  [[nodiscard]] static double alone_in_context(const Entry& entry, const Form& form, int width, const Timing& timing,
                                               const CostContext& context);
  [[nodiscard]] static double in_model_time(const Entry& entry, const Form& form, const Timing& timing, int neighbours,
                                            Bytes footprint);
  [[nodiscard]] double beside_others(const Entry& entry, const Form& form, const CostContext& context) const;
  [[nodiscard]] static double more_in_model(const Entry& entry, int threads, const CostContext& context);
  [[nodiscard]] WidthCosts width_costs(const Entry& entry, const CostKey& key, const CostContext& context) const;
  [[nodiscard]] static std::vector<Alternative> listed(const Entry& entry, Strategy strategy, int width, int threads);
  [[nodiscard]] Result<Cost> recorded_cost(const CostKey& key, const CostContext& context) const;
  [[nodiscard]] Result<Cost> group_cost(const CostKey& key, const CostContext& context) const;
  [[nodiscard]] std::vector<Alternative> group_alternatives(const CostKey& key) const;
  [[nodiscard]] bool has_form(std::string_view signature, Strategy strategy, int threads) const;
  [[nodiscard]] Result<Cost> copy_cost(const CostKey& key, const CostContext& context) const;
  [[nodiscard]] const Entry* find(std::string_view signature) const;

  std::map<std::string, Entry, std::less<>> entries_;
  std::map<std::string, CopySignature> copies_;  ///< of those the copies
  std::map<int, double> usual_slowdown_;         ///< by neighbours: the median over ops on one core in their model
  bool in_model_ = false;
  double spread_ = 0;
  double unexplained_ = 0;
  Bytes most_footprint_;
  std::string lacking_;
};

/// The device of recorded profiles: its cores, and overheads where they were recorded.
/// Errors: kInvalidInput where `profiles` is empty or they name different devices.
Result<DeviceProfile> device_profile_of(std::span<const Trace* const> profiles);

}  // namespace cohort
