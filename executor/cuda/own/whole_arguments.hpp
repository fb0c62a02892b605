#pragma once

#include "executor/cuda/own/arguments.hpp"

/// Arguments of the kernel that reads or writes whole numbers: these lie in memory as 32 bits, whatever the type of the
/// rest.
namespace cohort::cuda::own {

/// Those of BinaryKind by the same names, in the same order, behind kSelect.
enum class WholeKind : std::int32_t {
  kSelect,  ///< a != 0 ? b : c, of numbers; a is whole
  kAdd,
  kSub,
  kMul,
  kDiv,
  kPow,
  kMin,
  kMax,
  kPRelu,
  kMod,
  kEqual,  ///< this and those that follow: 0 or 1
  kLess,
  kLessOrEqual,
  kGreater,
  kGreaterOrEqual,
  kAnd,
  kOr,
  kXor,
  kTruth,  ///< a != 0
  kCast,   ///< a as what it is not: a number or whole
};

/// Elementwise, dimensions in the order of y's memory. Where the result is whole and does not fit 32 bits it is the
/// nearest that does, and the least for a NaN; division by zero gives 0.
struct WholeArguments {
  DataType type = DataType::kFloat32;  ///< of the tensors that do not hold whole numbers
  WholeKind kind{};
  bool of_whole = false;  ///< a and b hold whole numbers; of kSelect a alone
  Extents shape;
  const void* a = nullptr;
  const void* b = nullptr;
  const void* c = nullptr;
  void* y = nullptr;
  Strides a_strides, b_strides, c_strides, y_strides;
  PostOps post;  ///< of results that are not whole
};

}  // namespace cohort::cuda::own
