#pragma once

#include "executor/cuda/own/arguments.hpp"

/// Arguments of the kernels of language models.
namespace cohort::cuda::own {

/// One-layer LSTM; a block takes one sample through all time steps.
struct LstmArguments {
  DataType type = DataType::kFloat32;                           ///< of every tensor
  std::int32_t steps = 1, samples = 1, inputs = 1, hidden = 1;  ///< T, N, I, H
  const void* x = nullptr;
  const void* w = nullptr;     ///< [4H, I], as the steps below say; constants lie transposed
  const void* r = nullptr;     ///< [4H, H]
  const void* bias = nullptr;  ///< [4H]; may be null
  void* y = nullptr;
  float* cell = nullptr;  ///< dense [N, H], in the workspace; float32 always
  std::int64_t x_step = 0, x_sample = 0, x_input = 1;
  std::int64_t y_step = 0, y_sample = 0, y_hidden = 1;
  std::int64_t w_row = 1, w_input = 0, r_row = 1, r_input = 0;
};

/// One-layer GRU whose reset gate is applied after the matrix product; gates in ONNX's order: update, reset,
/// hidden. A block takes one sample through all time steps.
struct GruArguments {
  DataType type = DataType::kFloat32;                           ///< of every tensor
  std::int32_t steps = 1, samples = 1, inputs = 1, hidden = 1;  ///< T, N, I, H
  const void* x = nullptr;
  const void* w = nullptr;     ///< [3H, I], as the steps below say; constants lie transposed
  const void* r = nullptr;     ///< [3H, H]
  const void* bias = nullptr;  ///< [6H], of the inputs, then of the state; may be null
  void* y = nullptr;
  std::int64_t x_step = 0, x_sample = 0, x_input = 1;
  std::int64_t y_step = 0, y_sample = 0, y_hidden = 1;
  std::int64_t w_row = 1, w_input = 0, r_row = 1, r_input = 0;
};

/// One step of an LSTM's cells, behind the products: dense gates [N, 4H], state and cell [N, H], all float32.
struct LstmCellArguments {
  DataType type = DataType::kFloat32;  ///< of y
  std::int32_t samples = 1, hidden = 1;
  bool first = false;  ///< no state and no cell before
  const float* gates = nullptr;
  float* cell = nullptr;
  float* state = nullptr;  ///< written, for the next step's product
  void* y = nullptr;
  std::int64_t y_sample = 0, y_hidden = 1;
};

/// One step of a GRU's cells: dense gates of the inputs and of the state [N, 3H], state [N, H], all float32.
struct GruCellArguments {
  DataType type = DataType::kFloat32;  ///< of y
  std::int32_t samples = 1, hidden = 1;
  bool first = false;  ///< no state before: `from_state` is not read
  const float* from_input = nullptr;
  const float* from_state = nullptr;
  const float* state_bias = nullptr;  ///< [3H]; may be null
  float* state = nullptr;
  void* y = nullptr;
  std::int64_t y_sample = 0, y_hidden = 1;
};

/// y = post(a b) over the last two of the dimensions [..., M, N].
struct MatMulArguments {
  DataType type = DataType::kFloat32;  ///< of every tensor
  Extents y_shape;
  std::int32_t inner = 1;  ///< K
  const void* a = nullptr;
  const void* b = nullptr;
  void* y = nullptr;
  Strides a_strides, b_strides, y_strides;  ///< by the index of y; those of a matrix's own missing axis are 0
  std::int64_t a_inner = 1, b_inner = 1;
  PostOps post;
};

/// y = scale * (x - mean) / sqrt(variance + epsilon) + shift over the `inner` dimensions of each row, of which scale
/// and shift may differ, too.
struct LayerNormArguments {
  DataType type = DataType::kFloat32;  ///< of every tensor
  Extents rows, inner;
  float epsilon = 0;
  bool centred = true;  ///< else the mean counts as 0
  const void* x = nullptr;
  const void* scale = nullptr;
  const void* shift = nullptr;  ///< may be null
  void* y = nullptr;
  Strides x_rows, y_rows, scale_rows, shift_rows;
  Strides x_inner, y_inner, scale_inner, shift_inner;
};

}  // namespace cohort::cuda::own
