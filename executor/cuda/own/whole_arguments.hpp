#pragma once

#include "executor/cuda/own/arguments.hpp"

/// Arguments of the kernels that read or write whole numbers: these lie in memory as 32 bits, whatever the type of the
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
  kBitwiseAnd,
  kBitwiseOr,
  kBitwiseXor,
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

/// x [O, E, I] with updates [O, n, I] written to it: a thread has an element of y, and finds its updates among sorted
/// indices, or looks through all of them. Indices are int32, by their bits, from -E to E - 1, sorted ones from 0 on;
/// where one is outside, what it might have met is NaN.
struct ScatterArguments {
  DataType type = DataType::kFloat32;  ///< of all but the indices
  Extents y_shape;
  std::int32_t count = 0;  ///< n
  bool replaces = true;
  bool of_whole = false;  ///< combines whole numbers, by `whole_kind`; else numbers, by `kind`
  MapKind kind{};
  WholeKind whole_kind{};
  bool is_sorted = false;
  std::int64_t order = 0;  ///< elements from a sorted index to the number of its update
  const void* x = nullptr;
  const void* indices = nullptr;
  const void* updates = nullptr;
  void* y = nullptr;
  Strides x_strides, index_strides, update_strides, y_strides;  ///< of [O, E or n, I]
  PostOps post;
};

}  // namespace cohort::cuda::own
