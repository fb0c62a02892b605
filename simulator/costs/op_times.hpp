#pragma once

#include <cstddef>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/units.hpp"

namespace cohort {

/// Where a call runs, as far as it changes its time.
struct CostContext {
  Bytes footprint;           ///< bytes touched between two uses of the same weights
  int neighbours = 0;        ///< other cores that work at the same time
  bool among_fused = false;  ///< of a single member's call: whether calls of several members run between
  bool among_teams = false;  ///< of a call on one core: whether calls on several cores run around it
};

/// How ops of profiles as a whole differ in their places from alone, for those that were not timed there.
struct UsualRatios {
  bool in_model = false;          ///< whether ops were timed in their model at all
  std::map<int, double> beside;   ///< by neighbours: single ops on one core, beside others by alone
  std::map<int, double> fused;    ///< by neighbours: calls of several members, in a plan by alone
  std::map<int, double> between;  ///< by neighbours: single calls, in a plan that fuses others by in their model
  double among_teams = 1;         ///< single calls on one core, among calls on several cores by among others on one
};

/// What one op was recorded to take: alone and in its model, in several ways and widths.
class OpTimes {
 public:
  /// Median time by footprint, in nanoseconds.
  struct Curve {
    std::vector<std::pair<Bytes, double>> points;  ///< ascending
    Bytes cached;    ///< footprints up to this one fit into the cores' caches; zero: unknown
    Bytes uncached;  ///< from this one on nothing of them is found there again

    /// Between recorded footprints along a line in log(footprint), beyond them the nearest; where the cores' own caches
    /// end between two of them, most of the change is there.
    [[nodiscard]] double time(Bytes footprint) const;
  };
  /// One call at one width.
  struct Timing {
    std::map<int, Curve> by_neighbours;  ///< of the call alone
    std::map<int, Curve> in_model;       ///< of one member's, in its model, likewise; empty: not timed there
    std::map<int, Curve> in_plan;        ///< in its place in a plan that fuses calls, likewise
    Curve among_teams;  ///< of one member's on one core, in its model among calls on several; empty: not timed there
    bool in_plan_of_teams = false;  ///< whether the plan of such a call makes calls on several, too
    Bytes workspace, packed_weights;
    std::size_t first_seen = std::numeric_limits<std::size_t>::max();  ///< of the records
  };
  using Form = std::tuple<std::string, int, std::string>;  ///< strategy, threads, algorithm
  using WidthCosts = std::map<int, double>;                ///< nanoseconds by width

  /// For the records that make it.
  Timing& timing(const Form& form, int width) { return forms_[form][width]; }
  /// Once all are there: a call that was timed in its model among calls on several cores only counts as timed in its
  /// model. Nothing is faster with less of its data in caches or beside more neighbours. Where records say so, the
  /// machine was slower while the easier case was timed, and the harder one tells how long that takes at most.
  void correct();

  [[nodiscard]] const std::map<Form, std::map<int, Timing>>& forms() const { return forms_; }
  [[nodiscard]] bool has_form(std::string_view strategy, int threads) const;

  /// The time of the form at each recorded width; of the fastest algorithm where the one asked for does not tell.
  [[nodiscard]] WidthCosts width_costs(const Form& form, const CostContext& context, const UsualRatios& usual) const;
  /// By neighbours: what single calls on one core take beside others by alone, in their model.
  [[nodiscard]] std::vector<std::pair<int, double>> slowdowns_in_model() const;
  /// What single calls on one core take in their model among calls on several cores by what they take among others on
  /// one.
  [[nodiscard]] std::vector<double> among_teams_ratios() const;
  /// By neighbours: what calls of several members take in their places by what they would be thought to take.
  [[nodiscard]] std::vector<std::pair<int, double>> fused_ratios(const UsualRatios& usual) const;
  /// By neighbours: what calls of one member take between such by what they take in their model.
  [[nodiscard]] std::vector<std::pair<int, double>> between_ratios(const UsualRatios& usual) const;

 private:
  [[nodiscard]] double time_in_context(const Form& form, int width, const Timing& timing, const CostContext& context,
                                       const UsualRatios& usual) const;
  [[nodiscard]] double from_alone(const Form& form, int width, const Timing& timing, const CostContext& context,
                                  const UsualRatios& usual) const;
  [[nodiscard]] std::optional<double> from_alone_at(const Form& form, int width, const CostContext& context,
                                                    const UsualRatios& usual) const;
  [[nodiscard]] double alone_in_context(const Form& form, int width, const Timing& timing,
                                        const CostContext& context) const;
  [[nodiscard]] double in_model_time(const Form& form, const Timing& timing, int neighbours, Bytes footprint) const;
  [[nodiscard]] double single_time(const Form& form, const Timing& timing, const CostContext& context,
                                   const UsualRatios& usual) const;
  [[nodiscard]] double fused_time(const Form& form, int width, const Timing& timing, const CostContext& context,
                                  const UsualRatios& usual) const;
  [[nodiscard]] double among_teams_time(const Form& form, const Timing& timing, Bytes footprint, double in_model,
                                        const UsualRatios& usual) const;
  [[nodiscard]] std::optional<double> among_teams_ratio(const Form& form, const Timing& timing) const;
  [[nodiscard]] std::optional<double> between_ratio_of(const Form& form, const Timing& timing, int neighbours,
                                                       const UsualRatios& usual) const;
  [[nodiscard]] double in_plan_time(const Form& form, const Timing& timing, const CostContext& context,
                                    const UsualRatios& usual) const;
  [[nodiscard]] double between_ratio(const Form& form, int neighbours, const UsualRatios& usual) const;
  [[nodiscard]] std::optional<double> ratio_to_alone(const Form& form, int width, int neighbours, const Curve& in_plan,
                                                     const UsualRatios& usual) const;
  [[nodiscard]] double fused_ratio(const Form& form, int width, int neighbours, const UsualRatios& usual) const;
  [[nodiscard]] double beside_others(const Form& form, const CostContext& context, const UsualRatios& usual) const;
  [[nodiscard]] const Timing* timed_in_both(const Form& form) const;
  [[nodiscard]] double more_in_model(const Form& form, int width, const Timing& timing,
                                     const CostContext& context) const;
  [[nodiscard]] double slowdown(std::string_view strategy, int threads, int width, const CostContext& context) const;

  std::map<Form, std::map<int, Timing>> forms_;
};

/// On the line through the two recorded widths next to `width`; absent where fewer than two were recorded, and not this
/// one.
std::optional<double> between_widths(const OpTimes::WidthCosts& costs, int width);

}  // namespace cohort
