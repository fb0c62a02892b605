#pragma once

#include "models/model.hpp"

namespace cohort {

/// Dequantising (less a zero point, times a step) that stands behind ops that only move or choose levels is put right
/// behind quantising, where recognize_functions() makes one op of both:
///
///     Clip -> Transpose -> MaxPool -> Sub -> Mul      Clip -> Sub -> Mul -> Transpose -> MaxPool
LoadedModel dequantize_early(LoadedModel loaded);

}  // namespace cohort
