#include "simulator/planner/remembered_catalog.hpp"

#include <utility>

#include "simulator/plan/call_form.hpp"

namespace cohort {
Result<std::vector<Alternative>> RememberedCatalog::alternatives(const OpCall& call, int threads) const {
  if (cancel_ != nullptr) COHORT_CHECK(cancel_->check());
  const std::lock_guard lock(guard_);
  if (!call.parts.empty()) return catalog_.alternatives(call, threads);  // few, and of many parts each
  const std::size_t hash = hash_of_form(call) + static_cast<std::size_t>(threads);
  const auto [first, last] = answers_.equal_range(hash);
  for (auto answer = first; answer != last; ++answer) {
    if (answer->second.threads == threads && same_form(answer->second.call, call)) return answer->second.alternatives;
  }
  COHORT_TRY(std::vector<Alternative> listed, catalog_.alternatives(call, threads));
  answers_.emplace(hash, Answer{call, threads, listed});
  return listed;
}

bool RememberedCatalog::accepts_strides(const OpCall& call) const {
  const std::lock_guard lock(guard_);
  return catalog_.accepts_strides(call);
}

}  // namespace cohort
