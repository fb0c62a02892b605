#pragma once

#include "models/model.hpp"

namespace cohort {

/// Makes zeros of weights of products and recurrent layers that are both below 2^-100 and below 2^-66 of the largest of
/// their tensor. Training with weight decay leaves many. Beside the others they count for nothing, but products with
/// them are denormal numbers, on which Intel's processors take many times longer. Tensors that other ops read, too,
/// stay as they are.
void drop_tiny_weights(LoadedModel& loaded);

}  // namespace cohort
