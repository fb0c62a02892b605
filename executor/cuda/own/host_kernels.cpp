#include "executor/cuda/own/host_kernels.hpp"

#include "executor/cuda/own/sequence_bodies.hpp"

namespace cohort::cuda::own {
namespace {

void run(const MapArguments& kernel) {
  for (std::int32_t i = 0; i < kernel.shape.count; ++i) map_element(kernel, i);
}

void run(const ReshapeArguments& kernel) {
  for (std::int32_t i = 0; i < kernel.y_shape.count; ++i) reshape_element(kernel, i);
}

void run(const PoolArguments& kernel) {
  for (std::int32_t i = 0; i < kernel.y_shape.count; ++i) pool_element(kernel, i);
}

void run(const ConvolutionArguments& kernel) {
  for (std::int32_t i = 0; i < kernel.y_shape.count; ++i) convolution_element(kernel, i);
}

void run(const LrnArguments& kernel) {
  for (std::int32_t i = 0; i < kernel.y_shape.count; ++i) lrn_element(kernel, i);
}

void run(const SoftmaxArguments& kernel) {
  for (std::int32_t lane = 0; lane < kernel.lanes.count; ++lane) {
    const Index index = split(kernel.lanes, lane);
    const float* const x = kernel.x + offset(kernel.x_strides, index, kernel.lanes.rank);
    float* const y = kernel.y + offset(kernel.y_strides, index, kernel.lanes.rank);
    const float largest = softmax_largest(kernel, x, 0, 1);
    softmax_store(kernel, x, y, largest, softmax_sum(kernel, x, largest, 0, 1), 0, 1);
  }
}

/// Sums are split into as many parts as a warp has threads, as on the device.
void run(const GemmArguments& kernel) {
  constexpr std::int32_t kWarp = 32;
  const std::int64_t count = std::int64_t{kernel.batch} * kernel.rows * kernel.columns;
  for (std::int64_t i = 0; i < count; ++i) {
    const GemmPlace place = gemm_place(kernel, i);
    float sum = 0;
    for (std::int32_t thread = 0; thread < kWarp; ++thread) sum += gemm_partial(kernel, place, thread, kWarp);
    gemm_store(kernel, place, sum);
  }
}

void run(const LstmArguments& kernel) {
  for (std::int32_t n = 0; n < kernel.samples; ++n) {
    for (std::int32_t t = 0; t < kernel.steps; ++t) {
      for (std::int32_t h = 0; h < kernel.hidden; ++h) lstm_unit(kernel, n, t, h);
    }
  }
}

void run(const GruArguments& kernel) {
  for (std::int32_t n = 0; n < kernel.samples; ++n) {
    for (std::int32_t t = 0; t < kernel.steps; ++t) {
      for (std::int32_t h = 0; h < kernel.hidden; ++h) gru_unit(kernel, n, t, h);
    }
  }
}

void run(const MatMulArguments& kernel) {
  for (std::int32_t i = 0; i < kernel.y_shape.count; ++i) matmul_element(kernel, i);
}

void run(const LayerNormArguments& kernel) {
  for (std::int32_t row = 0; row < kernel.rows.count; ++row) {
    const Index index = split(kernel.rows, row);
    const float* const x = kernel.x + offset(kernel.x_rows, index, kernel.rows.rank);
    float* const y = kernel.y + offset(kernel.y_rows, index, kernel.rows.rank);
    const auto count = static_cast<float>(kernel.inner.count);
    const float mean = layer_norm_partial(kernel, x, false, 0, 0, 1) / count;
    const float variance = layer_norm_partial(kernel, x, true, mean, 0, 1) / count;
    layer_norm_store(kernel, x, y, mean, variance, 0, 1);
  }
}

}  // namespace

void run_on_host(const KernelArguments& kernel) {
  std::visit([](const auto& arguments) { run(arguments); }, kernel);
}

}  // namespace cohort::cuda::own
