#include "training/member.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <tuple>

namespace cohort {
namespace {

constexpr std::array<std::string_view, 5> kOutcomes = {"training", "finished", "dropped", "diverged", "failed"};

}  // namespace

std::string_view to_string(MemberOutcome outcome) { return kOutcomes[static_cast<std::size_t>(outcome)]; }

Result<MemberOutcome> outcome_from(std::string_view text) {
  const auto* const found = std::find(kOutcomes.begin(), kOutcomes.end(), text);
  if (found == kOutcomes.end()) return fail(ErrorCode::kInvalidInput, "no outcome \"{}\"", text);
  return static_cast<MemberOutcome>(found - kOutcomes.begin());
}

std::optional<double> SweepMember::reached(Metric metric) const {
  if (epochs.empty() || outcome == MemberOutcome::kDiverged || outcome == MemberOutcome::kFailed) return std::nullopt;
  return metric == Metric::kLoss ? epochs.back().loss : epochs.back().accuracy;
}

std::vector<std::size_t> ranking(const std::vector<SweepMember>& members, Metric metric) {
  std::vector<std::size_t> order(members.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto key = [&](std::size_t i) {
    const SweepMember& member = members[i];
    const auto reached = member.reached(metric);
    const bool dropped = member.outcome == MemberOutcome::kDropped;
    const int kind = !reached ? 2 : dropped ? 1 : 0;
    const double value = reached ? (higher_is_better(metric) ? -*reached : *reached) : 0;
    return std::tuple(kind, dropped ? -member.steps : 0, value, i);
  };
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
  return order;
}

}  // namespace cohort
