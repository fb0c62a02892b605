#pragma once

#include "executor/cuda/own/gradient_bodies.hpp"
#include "executor/cuda/own/kernel_arguments.hpp"
#include "executor/cuda/own/normalization_bodies.hpp"
#include "executor/cuda/own/recurrent_gradient_bodies.hpp"

/// How many blocks of how many threads each kernel is launched with.
namespace cohort::cuda::own {

inline constexpr std::int32_t kBlock = 256;
inline constexpr std::int32_t kWarp = 32;
inline constexpr std::int32_t kLargestBlock = 1024;

struct Grid {
  std::int32_t blocks = 0;
  std::int32_t threads = 0;
};

inline Grid grid_for(std::int64_t threads) {
  return {static_cast<std::int32_t>((threads + kBlock - 1) / kBlock), kBlock};
}

/// A block takes a sample; it has `hidden` units to compute at each step.
inline Grid grid_of_samples(std::int32_t samples, std::int32_t hidden) {
  const std::int32_t threads = (hidden + kWarp - 1) / kWarp * kWarp;
  return {samples, threads < kLargestBlock ? threads : kLargestBlock};
}

inline Grid grid_of(const MapArguments& k) { return grid_for(k.shape.count); }
inline Grid grid_of(const ConvertArguments& k) { return grid_for(k.shape.count); }
inline Grid grid_of(const ReshapeArguments& k) { return grid_for(k.y_shape.count); }
inline Grid grid_of(const GatherArguments& k) { return grid_for(k.y_shape.count); }
inline Grid grid_of(const ScatterArguments& k) { return grid_for(k.y_shape.count); }
inline Grid grid_of(const PoolArguments& k) { return grid_for(k.y_shape.count); }
inline Grid grid_of(const ConvolutionArguments& k) { return grid_for(k.y_shape.count); }
inline Grid grid_of(const LrnArguments& k) { return grid_for(k.y_shape.count); }
inline Grid grid_of(const MatMulArguments& k) { return grid_for(k.y_shape.count); }
inline Grid grid_of(const ResizeArguments& k) { return grid_for(k.y_shape.count); }
inline Grid grid_of(const PadArguments& k) { return grid_for(k.y_shape.count); }
inline Grid grid_of(const ConvTransposeArguments& k) { return grid_for(k.y_shape.count); }
inline Grid grid_of(const MaxIndexArguments& k) { return grid_for(k.y_shape.count); }
inline Grid grid_of(const WholeArguments& k) { return grid_for(k.shape.count); }
// A thread takes a lane, or a warp.
inline Grid grid_of_lanes(std::int64_t lanes, bool thread_per_lane) {
  return grid_for(thread_per_lane ? lanes : lanes * kWarp);
}
inline Grid grid_of(const ReduceArguments& k) { return grid_of_lanes(k.lanes.count, k.thread_per_lane); }
inline Grid grid_of(const ArgMaxArguments& k) { return grid_of_lanes(k.lanes.count, k.thread_per_lane); }
// A warp takes a lane, a result or a row.
inline Grid grid_of(const SoftmaxArguments& k) { return grid_for(std::int64_t{k.lanes.count} * kWarp); }
inline Grid grid_of(const GemmArguments& k) { return grid_for(std::int64_t{k.batch} * k.rows * k.columns * kWarp); }
inline Grid grid_of(const LayerNormArguments& k) { return grid_for(std::int64_t{k.rows.count} * kWarp); }
inline Grid grid_of(const LstmArguments& k) { return grid_of_samples(k.samples, k.hidden); }
inline Grid grid_of(const GruArguments& k) { return grid_of_samples(k.samples, k.hidden); }
inline Grid grid_of(const LstmCellArguments& k) { return grid_for(std::int64_t{k.samples} * k.hidden); }
inline Grid grid_of(const GruCellArguments& k) { return grid_for(std::int64_t{k.samples} * k.hidden); }

/// Kernels of training steps, by their bodies: a thread takes an element, or several share a lane.
template <class Arguments>
concept WorksOnElements = requires(const Arguments& k) {
  elements_of(k);
};
template <class Arguments>
concept WorksOnLanes = requires(const Arguments& k) {
  lanes_of(k);
};
template <WorksOnElements Arguments>
Grid grid_of(const Arguments& k) {
  return grid_for(elements_of(k));
}
/// One thread a lane, a warp or a block.
template <WorksOnLanes Arguments>
Grid grid_of(const Arguments& k) {
  return grid_for(lanes_of(k) * k.threads);
}

inline Grid grid_of(const TableArguments& k) { return {k.blocks, k.threads}; }

}  // namespace cohort::cuda::own
