#pragma once

#include "models/model.hpp"

namespace cohort {

/// Ops that compute the same of the same tensors become one, the first of them; an op that writes an output of the
/// model stays. Exporters write such twins: a quantised tensor is dequantised anew by each node that reads it.
LoadedModel merge_same_ops(LoadedModel loaded);

}  // namespace cohort
