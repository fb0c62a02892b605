#include "executor/cuda/own/host_kernels.hpp"

#include <type_traits>

#include "executor/cuda/own/extent_bodies.hpp"
#include "executor/cuda/own/grid.hpp"
#include "executor/cuda/own/sequence_bodies.hpp"
#include "executor/cuda/own/whole_bodies.hpp"

namespace cohort::cuda::own {
namespace {

template <class T>
void run(const MapArguments& kernel) {
  for (std::int32_t i = 0; i < kernel.shape.count; ++i) map_element<T>(kernel, i);
}

template <class T>
void run(const ReshapeArguments& kernel) {
  for (std::int32_t i = 0; i < kernel.y_shape.count; ++i) reshape_element<T>(kernel, i);
}

template <class T>
void run(const GatherArguments& kernel) {
  for (std::int32_t i = 0; i < kernel.y_shape.count; ++i) gather_element<T>(kernel, i);
}

template <class T>
void run(const ScatterArguments& kernel) {
  for (std::int32_t i = 0; i < kernel.y_shape.count; ++i) scatter_element<T>(kernel, i);
}

template <class T>
void run(const PoolArguments& kernel) {
  for (std::int32_t i = 0; i < kernel.y_shape.count; ++i) pool_element<T>(kernel, i);
}

template <class T>
void run(const ConvolutionArguments& kernel) {
  for (std::int32_t i = 0; i < kernel.y_shape.count; ++i) convolution_element<T>(kernel, i);
}

template <class T>
void run(const LrnArguments& kernel) {
  for (std::int32_t i = 0; i < kernel.y_shape.count; ++i) lrn_element<T>(kernel, i);
}

template <class T>
void run(const SoftmaxArguments& kernel) {
  for (std::int32_t lane = 0; lane < kernel.lanes.count; ++lane) {
    const Index index = split(kernel.lanes, lane);
    const T* const x = static_cast<const T*>(kernel.x) + offset(kernel.x_strides, index, kernel.lanes.rank);
    T* const y = static_cast<T*>(kernel.y) + offset(kernel.y_strides, index, kernel.lanes.rank);
    const float largest = softmax_largest<T>(kernel, x, 0, 1);
    softmax_store<T>(kernel, x, y, largest, softmax_sum<T>(kernel, x, largest, 0, 1), 0, 1);
  }
}

/// Sums are split into as many parts as a warp has threads, as on the device.
template <class T>
void run(const GemmArguments& kernel) {
  const std::int64_t count = std::int64_t{kernel.batch} * kernel.rows * kernel.columns;
  for (std::int64_t i = 0; i < count; ++i) {
    const GemmPlace place = gemm_place(kernel, i);
    float sum = 0;
    for (std::int32_t thread = 0; thread < kWarp; ++thread) sum += gemm_partial<T>(kernel, place, thread, kWarp);
    gemm_store<T>(kernel, place, sum);
  }
}

template <class T>
void run(const LstmArguments& kernel) {
  for (std::int32_t n = 0; n < kernel.samples; ++n) {
    for (std::int32_t t = 0; t < kernel.steps; ++t) {
      for (std::int32_t h = 0; h < kernel.hidden; ++h) lstm_unit<T>(kernel, n, t, h);
    }
  }
}

template <class T>
void run(const GruArguments& kernel) {
  for (std::int32_t n = 0; n < kernel.samples; ++n) {
    for (std::int32_t t = 0; t < kernel.steps; ++t) {
      for (std::int32_t h = 0; h < kernel.hidden; ++h) gru_unit<T>(kernel, n, t, h);
    }
  }
}

template <class T>
void run(const LstmCellArguments& kernel) {
  for (std::int32_t i = 0; i < kernel.samples * kernel.hidden; ++i) lstm_cell_element<T>(kernel, i);
}

template <class T>
void run(const GruCellArguments& kernel) {
  for (std::int32_t i = 0; i < kernel.samples * kernel.hidden; ++i) gru_cell_element<T>(kernel, i);
}

template <class T>
void run(const MatMulArguments& kernel) {
  for (std::int32_t i = 0; i < kernel.y_shape.count; ++i) matmul_element<T>(kernel, i);
}

template <class T>
void run(const LayerNormArguments& kernel) {
  for (std::int32_t i = 0; i < kernel.rows.count; ++i) {
    const Index row = split(kernel.rows, i);
    const auto count = static_cast<float>(kernel.inner.count);
    const float mean = kernel.centred ? layer_norm_partial<T>(kernel, row, false, 0, 0, 1) / count : 0;
    const float variance = layer_norm_partial<T>(kernel, row, true, mean, 0, 1) / count;
    layer_norm_store<T>(kernel, row, mean, variance, 0, 1);
  }
}

/// Lanes are shared as on the device.
template <class T>
void run(const ReduceArguments& kernel) {
  const std::int32_t threads = kernel.thread_per_lane ? 1 : kWarp;
  for (std::int32_t i = 0; i < kernel.lanes.count; ++i) {
    const Index lane = split(kernel.lanes, i);
    ReducePart all = reduce_nothing(kernel.kind);
    for (std::int32_t thread = 0; thread < threads; ++thread)
      all = reduce_merge(kernel.kind, all, reduce_partial<T>(kernel, lane, thread, threads));
    reduce_store<T>(kernel, lane, all);
  }
}

template <class T>
void run(const ArgMaxArguments& kernel) {
  const std::int32_t threads = kernel.thread_per_lane ? 1 : kWarp;
  for (std::int32_t i = 0; i < kernel.lanes.count; ++i) {
    const Index lane = split(kernel.lanes, i);
    Best best;
    for (std::int32_t thread = 0; thread < threads; ++thread)
      best = better(kernel, best, argmax_partial<T>(kernel, lane, thread, threads));
    argmax_store<T>(kernel, lane, best);
  }
}

template <class T>
void run(const ResizeArguments& kernel) {
  for (std::int32_t i = 0; i < kernel.y_shape.count; ++i) resize_element<T>(kernel, i);
}

template <class T>
void run(const PadArguments& kernel) {
  for (std::int32_t i = 0; i < kernel.y_shape.count; ++i) pad_element<T>(kernel, i);
}

template <class T>
void run(const ConvTransposeArguments& kernel) {
  for (std::int32_t i = 0; i < kernel.y_shape.count; ++i) conv_transpose_element<T>(kernel, i);
}

template <class T>
void run(const MaxIndexArguments& kernel) {
  for (std::int32_t i = 0; i < kernel.y_shape.count; ++i) max_index_element<T>(kernel, i);
}

template <class T>
void run(const WholeArguments& kernel) {
  for (std::int32_t i = 0; i < kernel.shape.count; ++i) whole_element<T>(kernel, i);
}

/// It has two types of its own.
template <class T>
void run(const ConvertArguments& kernel) {
  for (std::int32_t i = 0; i < kernel.shape.count; ++i) convert_element(kernel, i);
}

/// Kernels of training steps.
template <class T, WorksOnElements Arguments>
void run(const Arguments& kernel) {
  for (std::int64_t i = 0; i < elements_of(kernel); ++i) element(kernel, i);
}

template <class T, WorksOnLanes Arguments>
void run(const Arguments& kernel) {
  for (std::int64_t i = 0; i < lanes_of(kernel); ++i) lane(kernel, i, Alone{});
}

/// The parts of a table, whose kind is that of `Arguments`.
template <class T, class Arguments>
void run_parts(const TableArguments& table) {
  for (std::int32_t i = 0; i < table.count; ++i) run<T>(static_cast<const Arguments*>(table.parts)[i]);
}

/// By kind, as device code does it.
template <class T, std::size_t kKind = 0>
void run(const TableArguments& table) {
  using Arguments = std::variant_alternative_t<kKind, KernelArguments>;
  if constexpr (!std::is_same_v<Arguments, TableArguments>) {
    if (table.kind == static_cast<std::int32_t>(kKind)) {
      if constexpr (!Float32Only<Arguments> || std::is_same_v<T, float>) run_parts<T, Arguments>(table);
    } else {
      run<T, kKind + 1>(table);
    }
  }
}

DataType type_of(const ConvertArguments& kernel) { return kernel.y_type; }
template <class Arguments>
DataType type_of(const Arguments& kernel) {
  return kernel.type;
}

}  // namespace

void run_on_host(const KernelArguments& kernel) {
  std::visit(
      [](const auto& arguments) {
        if constexpr (Float32Only<std::remove_cvref_t<decltype(arguments)>>) {
          run<float>(arguments);
        } else {
          with_type(type_of(arguments), [&](auto number) { run<decltype(number)>(arguments); });
        }
      },
      kernel);
}

}  // namespace cohort::cuda::own
