#pragma once

#include <string>
#include <utility>
#include <vector>

#include "models/model.hpp"

namespace cohort {

/// Makes a Model op by op: the built-in networks, ONNX files, training steps. Shapes are inferred as ops are added; the
/// first error is kept, names its op, and is returned by finish(). An op's output has the op's name unless given.
class ModelBuilder {
 public:
  explicit ModelBuilder(std::string name);

  TensorId input(std::string name, Shape shape, ElementType element = ElementType::kFloat32);
  TensorId weight(std::string name, Shape shape);
  TensorId add_tensor(Tensor tensor);
  TensorId add_input(Tensor tensor);
  TensorId add(const std::string& op_name, OpAttributes attributes, std::vector<TensorId> inputs);
  TensorId add_as(const std::string& op_name, std::string tensor_name, OpAttributes attributes,
                  std::vector<TensorId> inputs);
  TensorId reshape(const std::string& op_name, TensorId x, Shape shape);
  TensorId reshape_as(std::string op_name, std::string tensor_name, TensorId x, Shape shape);
  /// Ops added from now on belong to this phase.
  void begin(Phase phase) { phase_ = phase; }

  /// Convolution with square kernel, its weight `<name>.weight` and bias `<name>.bias`.
  struct ConvolutionOptions {
    std::int64_t channels = 0;
    std::int64_t kernel = 1;
    std::int64_t stride = 1;
    std::int64_t pad = 0;
    std::int64_t groups = 1;
    bool bias = true;
  };
  TensorId convolution(const std::string& op_name, TensorId x, const ConvolutionOptions& options);
  TensorId relu(const std::string& op_name, TensorId x);
  /// Square window without padding unless given.
  TensorId max_pool(const std::string& op_name, TensorId x, std::int64_t kernel, std::int64_t stride,
                    std::int64_t pad = 0);
  TensorId global_average_pool(const std::string& op_name, TensorId x);
  /// [N, ...] -> [N, product].
  TensorId flatten(const std::string& op_name, TensorId x);
  /// Gemm with weight `<name>.weight` [out, in] and bias `<name>.bias` [out].
  TensorId linear(const std::string& op_name, TensorId x, std::int64_t out);

  void output(TensorId id) { model_.outputs.push_back(id); }
  [[nodiscard]] const Shape& shape(TensorId id) const { return model_.tensor(id).shape; }
  [[nodiscard]] const Model& model() const { return model_; }

  /// The finished model, or the first error met.
  Result<Model> finish();

 private:
  TensorId append(std::string op_name, std::string tensor_name, OpAttributes attributes, std::vector<TensorId> inputs,
                  Shape shape);

  Model model_;
  Phase phase_ = Phase::kForward;
  std::vector<Error> errors_;
};

}  // namespace cohort
