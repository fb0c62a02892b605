#pragma once

#include <variant>

#include "executor/cuda/own/arguments.hpp"

/// Arguments of the kernels of language models, and the sum of all.
namespace cohort::cuda::own {

/// One-layer LSTM; a block takes one sample through all time steps.
struct LstmArguments {
  std::int32_t steps = 1, samples = 1, inputs = 1, hidden = 1;  ///< T, N, I, H
  const float* x = nullptr;
  const float* w = nullptr;     ///< transposed, dense [I, 4H]
  const float* r = nullptr;     ///< transposed, dense [H, 4H]
  const float* bias = nullptr;  ///< [4H]; may be null
  float* y = nullptr;
  float* cell = nullptr;  ///< dense [N, H], in the workspace
  std::int64_t x_step = 0, x_sample = 0, x_input = 1;
  std::int64_t y_step = 0, y_sample = 0, y_hidden = 1;
};

/// One-layer GRU whose reset gate is applied after the matrix product; gates in ONNX's order: update, reset,
/// hidden. A block takes one sample through all time steps.
struct GruArguments {
  std::int32_t steps = 1, samples = 1, inputs = 1, hidden = 1;  ///< T, N, I, H
  const float* x = nullptr;
  const float* w = nullptr;     ///< transposed, dense [I, 3H]
  const float* r = nullptr;     ///< transposed, dense [H, 3H]
  const float* bias = nullptr;  ///< [6H], of the inputs, then of the state; may be null
  float* y = nullptr;
  std::int64_t x_step = 0, x_sample = 0, x_input = 1;
  std::int64_t y_step = 0, y_sample = 0, y_hidden = 1;
};

/// y = post(a b) over the last two of the dimensions [..., M, N].
struct MatMulArguments {
  Extents y_shape;
  std::int32_t inner = 1;  ///< K
  const float* a = nullptr;
  const float* b = nullptr;
  float* y = nullptr;
  Strides a_strides, b_strides, y_strides;  ///< by the index of y; those of a matrix's own missing axis are 0
  std::int64_t a_inner = 1, b_inner = 1;
  PostOps post;
};

/// y = scale * (x - mean) / sqrt(variance + epsilon) + shift over the `inner` dimensions of each row.
struct LayerNormArguments {
  Extents rows, inner;
  float epsilon = 0;
  const float* x = nullptr;
  const float* scale = nullptr;
  const float* shift = nullptr;  ///< may be null
  float* y = nullptr;
  Strides x_rows, y_rows, x_inner, y_inner, scale_inner, shift_inner;
};

using KernelArguments =
    std::variant<MapArguments, ReshapeArguments, PoolArguments, ConvolutionArguments, LrnArguments, SoftmaxArguments,
                 GemmArguments, LstmArguments, GruArguments, MatMulArguments, LayerNormArguments>;

}  // namespace cohort::cuda::own
