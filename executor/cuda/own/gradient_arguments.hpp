#pragma once

#include "executor/cuda/own/training_arguments.hpp"

/// Arguments of kernels that give the gradients of convolutions, products, pooling and indexing.
namespace cohort::cuda::own {

/// A pack of dw and db for each model: elements from `first` on are written, those of no gradient as zeros.
struct PackPlaces {
  float* data = nullptr;
  std::int64_t model = 0, step = 1;  ///< strides
  std::int32_t first = 0, size = 0;
  std::int32_t weights = 0;             ///< elements of dw, which begin the pack
  std::int32_t bias = 0, bias_end = 0;  ///< where db lies; nothing: there is none
  bool bias_is_there = false;           ///< db is left as it is
};

/// dw [K, C/groups, R, S] and db [K] of each model's convolution, whose channels are stacked.
struct FilterGradientArguments : Float32Kernel {
  std::int32_t threads = 1;  ///< of an element
  std::int32_t models = 1;
  std::int32_t outputs = 1, group_outputs = 1, channels = 1;  ///< of one model: K, K/groups, C/groups
  std::int32_t model_inputs = 0;                              ///< channels of x; 0 where models share them
  Window2 window;
  std::int32_t height = 1, width = 1;  ///< of x
  Extents positions;                   ///< [N, P, Q]
  const float *x = nullptr, *dy = nullptr;
  Strides x_strides, dy_strides;  ///< [N, C, H, W]
  PackPlaces pack;
};

/// dw [O, I] and db [O] of each model's product.
struct ProductGradientArguments : Float32Kernel {
  std::int32_t models = 1, samples = 1, inputs = 1;
  const float *x = nullptr, *dy = nullptr;
  std::int64_t x_model = 0, x_sample = 0;  ///< values of a sample lie dense, in logical order
  std::int64_t dy_model = 0, dy_sample = 0, dy_output = 1;
  PackPlaces pack;
};

/// By x, [N, C, H, W]: each element sums up what windows over it hand back.
struct PoolGradientArguments : Float32Kernel {
  Window2 window;
  std::int32_t pad_end[2] = {};
  Extents shape;                       ///< of x
  std::int32_t rows = 1, columns = 1;  ///< of dy: P, Q
  bool average = false;
  bool count_include_pad = false;
  bool channels_last = false;  ///< neighbouring threads take neighbouring channels
  const float* x = nullptr;    ///< of maxima
  const float* dy = nullptr;
  float* dx = nullptr;
  Strides x_strides, dy_strides, dx_strides;
};

/// Adds up dy where the same entry of x was gathered: a lane takes an index and does all that are equal to it, if it is
/// the first. dx holds zeros before. Indices outside of x give nothing.
struct GatherGradientArguments : Float32Kernel {
  std::int32_t threads = 1;  ///< of an index
  Extents indices_shape, rest;
  std::int32_t extent = 1;  ///< of the axis of dx
  const float *indices = nullptr, *dy = nullptr;
  float* dx = nullptr;
  std::int64_t dx_axis = 0;
  Strides index_strides, dy_index, dy_rest, dx_rest;
};

/// What the kernels of a recurrent layer's gradients share. Gates are in ONNX's order; of a GRU's, whose reset gate
/// comes behind the product, there are four blocks: update, reset, and the hidden gate's part of the input and of the
/// state.
struct RecurrentWork {
  bool gru = false;
  std::int32_t steps = 1, samples = 1, inputs = 1, hidden = 1;  ///< T, N, I, H
  const float *x = nullptr, *w = nullptr, *r = nullptr, *b = nullptr, *y = nullptr, *dy = nullptr;
  std::int64_t x_step = 0, x_sample = 0, x_input = 1;
  std::int64_t y_step = 0, y_sample = 0, y_hidden = 1;
  std::int64_t dy_step = 0, dy_sample = 0, dy_hidden = 1;
  std::int64_t w_row = 0, w_column = 1, r_row = 0, r_column = 1, b_step = 1;
  // In the workspace, dense:
  float* sums = nullptr;     ///< [T, N, 4H]: what the gates' functions get
  float* deltas = nullptr;   ///< [T, N, 4H]: the gradients by them
  float* cells = nullptr;    ///< [T, N, H] of an LSTM
  float* carried = nullptr;  ///< [N, H]: what a step hands to the one before it beside the products
};
/// sums = x w^T + y[t - 1] r^T + b; a lane takes an element.
struct GateSumsArguments : Float32Kernel, RecurrentWork {
  std::int32_t threads = 1;
};
/// The cells of an LSTM at all steps.
struct LstmCellsArguments : Float32Kernel, RecurrentWork {};
/// Back through time; a lane takes a sample.
struct GateDeltasArguments : Float32Kernel, RecurrentWork {
  std::int32_t threads = 1;
};
/// The pack of dx, dw, dr, db; a lane takes an element.
struct RecurrentPackArguments : Float32Kernel, RecurrentWork {
  std::int32_t threads = 1;
  float* pack = nullptr;
  std::int64_t pack_step = 1;
  std::int32_t size = 0;
  std::int32_t w_place = 0, r_place = 0, b_place = 0;
};

}  // namespace cohort::cuda::own
