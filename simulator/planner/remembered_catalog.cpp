#include "simulator/planner/remembered_catalog.hpp"

#include <utility>

namespace cohort {

Result<std::vector<Alternative>> RememberedCatalog::alternatives(const OpCall& call, int threads) const {
  if (cancel_ != nullptr) COHORT_CHECK(cancel_->check());
  const std::lock_guard lock(guard_);
  if (!call.parts.empty()) return catalog_.alternatives(call, threads);  // few, and of many parts each
  if (const auto* const known = answers_.find(call, threads)) return *known;
  COHORT_TRY(std::vector<Alternative> listed, catalog_.alternatives(call, threads));
  return answers_.add(call, threads, std::move(listed));
}

bool RememberedCatalog::accepts_strides(const OpCall& call) const {
  const std::lock_guard lock(guard_);
  return catalog_.accepts_strides(call);
}

}  // namespace cohort
