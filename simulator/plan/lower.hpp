#pragma once

#include <functional>
#include <span>

#include "base/result.hpp"
#include "models/model.hpp"
#include "simulator/plan/op_catalog.hpp"
#include "simulator/plan/plan.hpp"
#include "simulator/plan/program.hpp"

namespace cohort {

/// Picks one of several algorithms for a call; `key.algorithm` is empty. Asked once for each step, in their order.
using ChooseAlternative = std::function<std::size_t(const CostKey& key, std::span<const Alternative> alternatives)>;

/// Takes the library's first choice.
std::size_t first_alternative(const CostKey& key, std::span<const Alternative> alternatives);

/// Lowers a plan on its models (one per member; members may point to the same Model).
///
/// Errors: kInvalidInput naming the group, member or op where a strategy does not apply, an op is in
/// two groups or in none, or the order asked for contradicts the data (the cycle is printed);
/// kDoesNotFit naming the limit, what is needed and the largest parts of it.
Result<Program> lower(const Plan& plan, std::span<const Model* const> models, const OpCatalog& catalog,
                      const ChooseAlternative& choose = first_alternative);

/// The section `resolved` of a plan that lowered to `program`.
Resolved resolve(const Plan& plan, const Program& program, const std::string& device_name);

}  // namespace cohort
