// The part of VariantMaker that enumerates everything, for small cases.

#include <algorithm>

#include "simulator/planner/variants.hpp"

namespace cohort {
namespace {

constexpr std::size_t kMostChangedOps = 32;

}  // namespace

/// By class and op: not fused, or any strategy that takes the op.
VariantMaker::Wishes VariantMaker::possible_wishes() const {
  Wishes wishes;
  for (std::size_t c = 0; c < classes_.size(); ++c) {
    auto& mine = wishes.emplace_back(classes_[c].signatures.size(), std::vector<std::optional<Strategy>>{std::nullopt});
    if (classes_[c].members.size() < 2) continue;
    for (std::size_t op = 0; op < mine.size(); ++op) {
      for (const Strategy strategy : kFusedStrategies) {
        const bool goes_along = strategy != Strategy::kDenseConvolution || is_core(c, op, strategy);
        if (goes_along && may_fuse(c, op, strategy)) mine[op].emplace_back(strategy);
      }
    }
  }
  return wishes;
}

/// By class and op how it is fused.
std::vector<VariantMaker::Wish> VariantMaker::wish_of(const Runs& runs) const {
  std::vector<Wish> wish;
  for (const MemberClass& members : classes_) wish.emplace_back(members.signatures.size());
  for (const FusedRun& run : runs) {
    for (const std::size_t op : run.ops) wish[run.member_class][op] = run.strategy;
  }
  return wish;
}

std::vector<Variant> VariantMaker::one_op_changed(const Variant& variant) const {
  if (variant.rest == RestKind::kBranches || !variant.grouped.empty()) return {};
  const Wishes possible = possible_wishes();
  std::size_t ops = 0;
  for (const auto& mine : possible) ops += mine.size();
  if (ops > kMostChangedOps) return {};
  std::vector<Wish> wish = wish_of(variant.fused);
  std::vector<Variant> changed;
  for (std::size_t c = 0; c < possible.size(); ++c) {
    for (std::size_t op = 0; op < possible[c].size(); ++op) {
      const std::optional<Strategy> now = wish[c][op];
      for (const std::optional<Strategy> other : possible[c][op]) {
        if (other == now) continue;
        wish[c][op] = other;
        changed.push_back(variant);
        changed.back().fused = runs_of(wish);
      }
      wish[c][op] = now;
    }
  }
  return changed;
}

Result<std::vector<Variant>> VariantMaker::all_variants(std::size_t most) const {
  const Wishes possible = possible_wishes();
  const std::vector<Variant> bare = rests();
  std::size_t count = bare.size();
  for (const auto& ops : possible) {
    for (const auto& choices : ops) {
      if (count > most / choices.size()) return fail(ErrorCode::kInvalidInput, "there are more than {} plans", most);
      count *= choices.size();
    }
  }
  std::vector<Runs> assignments;
  std::vector<std::vector<std::size_t>> place;
  std::vector<Wish> wish;
  for (const auto& ops : possible) {
    place.emplace_back(ops.size(), 0);
    wish.emplace_back(ops.size());
  }
  for (bool more = true; more;) {
    Runs runs = runs_of(wish);
    if (std::find(assignments.begin(), assignments.end(), runs) == assignments.end()) {
      assignments.push_back(std::move(runs));
    }
    more = false;
    for (std::size_t c = 0; c < possible.size(); ++c) {
      for (std::size_t op = 0; op < possible[c].size() && !more; ++op) {
        more = ++place[c][op] < possible[c][op].size();
        if (!more) place[c][op] = 0;
        wish[c][op] = possible[c][op][place[c][op]];
      }
    }
  }
  std::vector<Variant> variants;
  for (const Variant& rest : bare) {
    for (const Runs& runs : assignments) {
      variants.push_back(rest);
      variants.back().fused = runs;
    }
  }
  return variants;
}

}  // namespace cohort
