#pragma once

#include <variant>

#include "executor/cuda/own/extent_arguments.hpp"
#include "executor/cuda/own/gradient_arguments.hpp"
#include "executor/cuda/own/normalization_arguments.hpp"
#include "executor/cuda/own/sequence_arguments.hpp"
#include "executor/cuda/own/whole_arguments.hpp"

/// The arguments of any kernel.
namespace cohort::cuda::own {

/// Kernels of one kind and type in one launch: part i takes the blocks from first_block[i] on.
struct TableArguments {
  DataType type = DataType::kFloat32;
  std::int32_t kind = 0;                      ///< position in KernelArguments
  std::int32_t count = 0;                     ///< parts
  std::int32_t blocks = 0;                    ///< of all parts
  std::int32_t threads = 0;                   ///< of a block: what the part that wants most wants
  const void* parts = nullptr;                ///< their arguments, one behind another, in device memory
  const std::int32_t* first_block = nullptr;  ///< ascending, in device memory
};

using KernelArguments =
    std::variant<MapArguments, ConvertArguments, ReshapeArguments, GatherArguments, ScatterArguments, PoolArguments,
                 ConvolutionArguments, LrnArguments, SoftmaxArguments, GemmArguments, LstmArguments, GruArguments,
                 LstmCellArguments, GruCellArguments, MatMulArguments, LayerNormArguments, ReduceArguments,
                 ArgMaxArguments, ResizeArguments, PadArguments, ConvTransposeArguments, MaxIndexArguments,
                 WholeArguments,
                 // of training steps
                 SlopeArguments, SoftmaxGradientArguments, SampleLossArguments, LossArguments, LossGradientArguments,
                 DropoutArguments, UpdateArguments, StatisticsArguments, NormalizationSumsArguments,
                 NormalizationGradientArguments, NormalizeArguments, NormalizeGradientArguments, LrnGradientArguments,
                 FilterGradientArguments, ProductGradientArguments, PoolGradientArguments, GatherGradientArguments,
                 GateSumsArguments, LstmCellsArguments, GateDeltasArguments, RecurrentPackArguments,
                 // of any of them
                 TableArguments>;

}  // namespace cohort::cuda::own
