#pragma once

#include "models/model.hpp"

namespace cohort {

/// Ops that compute the same of the same tensors become one, the first of them; an op that writes an output of the
/// model stays. Equal constants, other than weights that training changes, become one as well. Exporters write such
/// twins: each node that reads a quantised tensor dequantises it anew, each layer makes its own mask.
LoadedModel merge_same_ops(LoadedModel loaded);

}  // namespace cohort
