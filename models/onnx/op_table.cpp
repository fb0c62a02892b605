#include <algorithm>
#include <iterator>

#include "models/onnx/converters.hpp"

namespace cohort::onnx {

namespace {

constexpr OpSupport kOps[] = {
    {"Add", convert_add, fold_add},
    {"AveragePool", convert_average_pool, nullptr},
    {"BatchNormalization", convert_batch_normalization, nullptr},
    {"Cast", nullptr, fold_cast},
    {"Clip", convert_clip, nullptr},
    {"Concat", convert_concat, fold_concat},
    {"Constant", nullptr, fold_constant},
    {"ConstantOfShape", nullptr, fold_constant_of_shape},
    {"Conv", convert_conv, nullptr},
    {"Div", convert_div, fold_div},
    {"Dropout", convert_dropout, nullptr},
    {"Elu", convert_elu, nullptr},
    {"Flatten", convert_flatten, nullptr},
    {"Gather", nullptr, fold_gather},
    {"Gemm", convert_gemm, nullptr},
    {"GlobalAveragePool", convert_global_average_pool, nullptr},
    {"GlobalMaxPool", convert_global_max_pool, nullptr},
    {"Identity", convert_identity, nullptr},
    {"LRN", convert_lrn, nullptr},
    {"LSTM", convert_lstm, nullptr},
    {"LeakyRelu", convert_leaky_relu, nullptr},
    {"MatMul", convert_matmul, nullptr},
    {"MaxPool", convert_max_pool, nullptr},
    {"Mul", convert_mul, fold_mul},
    {"Relu", convert_relu, nullptr},
    {"Reshape", convert_reshape, nullptr},
    {"Shape", convert_shape, nullptr},
    {"Sigmoid", convert_sigmoid, nullptr},
    {"Size", convert_size, nullptr},
    {"Slice", nullptr, fold_slice},
    {"Softmax", convert_softmax, nullptr},
    {"Squeeze", convert_squeeze, nullptr},
    {"Sub", convert_sub, fold_sub},
    {"Sum", convert_sum, nullptr},
    {"Tanh", convert_tanh, nullptr},
    {"Transpose", convert_transpose, fold_transpose},
    {"Unsqueeze", convert_unsqueeze, nullptr},
};

}  // namespace

const OpSupport* find_support(std::string_view op_type) {
  const auto* const found =
      std::find_if(std::begin(kOps), std::end(kOps), [&](const OpSupport& op) { return op.op_type == op_type; });
  return found != std::end(kOps) ? found : nullptr;
}

}  // namespace cohort::onnx
