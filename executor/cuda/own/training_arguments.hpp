#pragma once

#include <type_traits>

#include "executor/cuda/own/arguments.hpp"

/// Arguments of the kernels of training steps that work element by element, or along classes. All of a training step
/// is float32; whole numbers lie by their bits.
namespace cohort::cuda::own {

struct Float32Kernel {
  /// Of every tensor.
  static constexpr DataType type = DataType::kFloat32;  // NOLINT(readability-identifier-naming): a member in others
};
/// Whether kernels with these arguments have no other type.
template <class Arguments>
concept Float32Only = std::is_base_of_v<Float32Kernel, Arguments>;

/// dx = f'(x) * dy, f' found from z, which is f(x) of those functions whose slope follows from it, else x.
struct SlopeArguments : Float32Kernel {
  PostKind kind{};
  float alpha = 0, beta = 0;
  Extents shape;
  const float *z = nullptr, *dy = nullptr;
  float* dx = nullptr;
  Strides z_strides, dy_strides, dx_strides;
};

/// Of a softmax, or its logarithm, along one dimension; a lane is a line of elements along it.
struct SoftmaxGradientArguments : Float32Kernel {
  bool logarithm = false;
  std::int32_t threads = 1;  ///< of a lane
  Extents lanes;
  std::int32_t length = 1;
  const float *y = nullptr, *dy = nullptr;
  float* dx = nullptr;
  std::int64_t y_step = 1, dy_step = 1, dx_step = 1;
  Strides y_strides, dy_strides, dx_strides;  ///< of the lanes
};

/// Scores of classes and labels. Samples have dimensions [M, N, ...], those of a model lie together by number.
struct LabelledScores {
  Extents samples;
  std::int32_t models = 1;
  std::int32_t classes = 1;
  bool ignores = false;
  std::int32_t ignored = 0;  ///< the label of samples that do not count
  const float* x = nullptr;
  const float* labels = nullptr;  ///< int32 by their bits; where one is no class the result is NaN
  std::int64_t class_step = 1;
  Strides x_strides, label_strides;
};

/// losses[i] = -log(softmax(x)[label]) of sample i; zero where it does not count.
struct SampleLossArguments : Float32Kernel {
  std::int32_t threads = 1;  ///< of a sample
  LabelledScores scores;
  float* losses = nullptr;  ///< dense
};
/// The mean, or sum, of each model's samples that count.
struct LossArguments : Float32Kernel {
  std::int32_t threads = 1;  ///< of a model
  bool mean = true;
  LabelledScores scores;
  const float* losses = nullptr;
  float* y = nullptr;
  std::int64_t y_step = 1;  ///< from model to model
};
/// dx = softmax(x) - [label], divided by the number of samples that count where the loss is a mean.
struct LossGradientArguments : Float32Kernel {
  std::int32_t threads = 1;  ///< of a sample
  bool mean = true;
  LabelledScores scores;
  float* dx = nullptr;
  std::int64_t dx_step = 1;  ///< from class to class
  Strides dx_strides;        ///< by the samples' dimensions
};

/// y = x / (1 - rate) where an element is kept, else 0; NaN where a rate is not at least 0 and below 1.
struct DropoutArguments : Float32Kernel {
  std::uint32_t salt = 0;
  Extents shape;
  const float *x = nullptr, *rate = nullptr;
  const float* key = nullptr;  ///< four whole numbers by their bits
  float* y = nullptr;
  std::int64_t key_step = 1;
  Strides x_strides, y_strides;
  Strides number_strides;             ///< to the number of an element within its model
  Strides rate_strides, key_strides;  ///< 0 but along the models
};

/// Those of UpdateRule by the same names.
enum class UpdateBy : std::int32_t { kSgd, kAdam, kAdamW };

/// One optimizer step on `parameters` of each model, whose values and moments are the rows of its state. `next` may be
/// the state.
struct UpdateArguments : Float32Kernel {
  UpdateBy rule{};
  bool momentum = false, nesterov = false;
  std::int32_t models = 1, rows = 1, parameters = 1;
  const float *state = nullptr, *gradient = nullptr, *settings = nullptr;
  const float* norm = nullptr;  ///< of the gradient, which it limits; may be null
  float* next = nullptr;
  std::int64_t state_model = 0, state_row = 0, state_step = 1;
  std::int64_t next_model = 0, next_row = 0, next_step = 1;
  std::int64_t gradient_model = 0, gradient_step = 1;
  std::int64_t settings_model = 0, settings_step = 1;
  std::int64_t norm_model = 0;
};

}  // namespace cohort::cuda::own
