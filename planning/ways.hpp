#pragma once

#include <string>
#include <vector>

#include "models/model.hpp"
#include "simulator/plan/op_catalog.hpp"
#include "simulator/plan/plan.hpp"

namespace cohort {

/// The ways to run ops that are alike.
struct OpWays {
  std::string signature;          ///< signature_in()
  std::vector<std::string> ops;   ///< names; a copy's is of what it copies
  std::vector<Alternative> ways;  ///< in the library's order, all cores first, then one
};

/// What `catalog` lists for each op of a single model, by first appearance. Errors: those of lower().
Result<std::vector<OpWays>> ways_of_model(const Model& model, const OpCatalog& catalog, Precision precision,
                                          Layout layout);

}  // namespace cohort
