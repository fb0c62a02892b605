#pragma once

#include <span>

#include "executor/reference/tensor_ref.hpp"
#include "models/op.hpp"

/// Every op as plain loops over strided tensors, sums in double. Shapes as in models/op.hpp; they
/// must fit, which reference_kernels.cpp has checked.
namespace cohort::reference {

using Inputs = std::span<const ConstTensor>;

void compute(const Convolution& op, Inputs inputs, const Tensor& y);
void compute(const Pool& op, Inputs inputs, const Tensor& y);
void compute(const Gemm& op, Inputs inputs, const Tensor& y);
void compute(const BatchNormalization& op, Inputs inputs, const Tensor& y);
void compute(const LocalResponseNormalization& op, Inputs inputs, const Tensor& y);
void compute(const Activation& op, Inputs inputs, const Tensor& y);
void compute(const Binary& op, Inputs inputs, const Tensor& y);
void compute(const Concat& op, Inputs inputs, const Tensor& y);
void compute(const Softmax& op, Inputs inputs, const Tensor& y);
void compute(const Reshape& op, Inputs inputs, const Tensor& y);
void compute(const Lstm& op, Inputs inputs, const Tensor& y);

/// y += x, elementwise.
void add(const ConstTensor& x, const Tensor& y);
/// y = x, elementwise.
void copy(const ConstTensor& x, const Tensor& y);

}  // namespace cohort::reference
