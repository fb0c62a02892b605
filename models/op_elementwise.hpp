#pragma once

#include "models/shape.hpp"

namespace cohort {

enum class ActivationKind {
  kRelu,
  kLeakyRelu,
  kElu,
  kSigmoid,
  kTanh,
  kClip,
  kSelu,         ///< beta * (x > 0 ? x : alpha * (exp(x) - 1))
  kHardSigmoid,  ///< max(0, min(1, alpha x + beta))
  kHardSwish,    ///< x * max(0, min(1, x/6 + 1/2))
  kSoftplus,
  kSoftsign,
  kGelu,      ///< x/2 * (1 + erf(x / sqrt(2)))
  kGeluTanh,  ///< the approximation with tanh
  kErf,
  kMish,  ///< x * tanh(softplus(x))
  kSqrt,
  kNeg,
  kAbs,
  kExp,
  kLog,
  kReciprocal,
  kFloor,
  kCeil,
  kRound,            ///< half to even
  kThresholdedRelu,  ///< x > alpha ? x : 0
  kCelu,             ///< max(0, x) + min(0, alpha * (exp(x / alpha) - 1))
  kSwish,            ///< x * sigmoid(alpha x)
  kSign,
  kSin,
  kCos,
  kAsin,
  kAcos,
  kAtan,
  kSinh,
  kCosh,
  kAsinh,
  kAcosh,
  kAtanh,
  /// alpha * max(beta, min(beta + 255, round(x / alpha))), half to even: what is left of x in 8 bits, in steps of alpha
  kFakeQuantize,
};

/// Elementwise y = f(x) on float32. alpha is the slope or scale of LeakyRelu and Elu and the lower bound of Clip, beta
/// the upper bound of Clip; for the others see above.
struct Activation {
  ActivationKind kind = ActivationKind::kRelu;
  float alpha = 0;
  float beta = 0;

  friend bool operator==(const Activation&, const Activation&) = default;
};

enum class BinaryKind {
  kAdd,
  kSub,
  kMul,
  kDiv,
  kPow,
  kMin,
  kMax,
  kPRelu,  ///< a < 0 ? a*b : a
  kMod,    ///< with the sign of a, as C's fmod
  // On int32 only, bit by bit:
  kBitwiseAnd,
  kBitwiseOr,
  kBitwiseXor,
  // The result is int32, 0 or 1:
  kEqual,
  kLess,
  kLessOrEqual,
  kGreater,
  kGreaterOrEqual,
  // On int32 only:
  kAnd,
  kOr,
  kXor,
};

/// Elementwise y = f(a, b) with numpy broadcasting of both inputs to y. Both hold elements of type `element`. Integer
/// division rounds towards zero and gives zero for a divisor of zero. A result that does not fit 32 bits stops the
/// step.
struct Binary {
  BinaryKind kind = BinaryKind::kAdd;
  ElementType element = ElementType::kFloat32;

  friend bool operator==(const Binary&, const Binary&) = default;
};
/// True of kEqual and the kinds after it.
bool is_predicate(BinaryKind kind);
/// True of kBitwiseAnd, kBitwiseOr and kBitwiseXor.
bool is_bitwise(BinaryKind kind);

/// y = condition ? a : b with numpy broadcasting of all three. Inputs: condition (int32), a, b.
struct Select {
  ElementType element = ElementType::kFloat32;

  friend bool operator==(const Select&, const Select&) = default;
};

/// Converts elements to another type; float32 to int32 rounds towards zero. With `to_truth` y is int32, 1 where x is
/// not zero.
struct Cast {
  ElementType from = ElementType::kFloat32;
  ElementType to = ElementType::kFloat32;
  bool to_truth = false;

  friend bool operator==(const Cast&, const Cast&) = default;
};

}  // namespace cohort
