#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "simulator/costs/cost_table.hpp"
#include "simulator/plan/lower.hpp"

namespace cohort {

/// Recorded times have the helper threads of an op awake and on cores of their own. In a whole model they
/// may have to be woken, and a tiny model then takes thirty times as long (the first wall times in
/// traces/lenet5-b1.trace.json.gz); so a way on several cores is taken only where it saves more than this.
inline constexpr std::chrono::microseconds kWaking{10};

/// An op's algorithm and threads, by signature.
using PreferredWays = std::map<std::string, std::pair<std::string, int>>;

/// How to pick among the ways a device lists for a call.
struct ChoiceRule {
  Bytes footprint;                           ///< of the program to come, as far as known
  int neighbours = 0;                        ///< beside calls on one thread
  std::optional<int> threads;                ///< only these, where any such way is listed
  const PreferredWays* preferred = nullptr;  ///< taken wherever it is listed
};

/// The times of calls by themselves, remembered.
class CallTimes {
 public:
  /// The table must outlive this.
  explicit CallTimes(const CostTable& costs) : costs_(&costs) {}

  /// Absent where the call was not profiled.
  std::optional<Nanoseconds> time(const CostKey& key, const CostContext& context);
  std::optional<Cost> cost(const CostKey& key, const CostContext& context);
  [[nodiscard]] const CostTable& table() const { return *costs_; }

 private:
  using Key = std::tuple<CostKey, std::int64_t, int, bool>;
  const CostTable* costs_;
  std::map<Key, std::optional<Cost>> known_;
};

/// What the call takes in one of these ways, as the rule says; absent where it was not profiled.
std::optional<Nanoseconds> way_time(CallTimes& times, const ChoiceRule& rule, const CostKey& key,
                                    std::span<const Alternative> ways, std::size_t place);

/// Picks the way with the least recorded time that the rule allows; ties, and calls that were never
/// recorded, by the library's order. `times` must outlive the function.
ChooseAlternative choose_by_cost(CallTimes& times, ChoiceRule rule);

}  // namespace cohort
