#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "models/compute/ops.hpp"

namespace cohort::reference {
namespace {

// std::max and std::min give their first argument where the two cannot be compared: a NaN that stands there stays.

double unit_clip(double x) { return std::min(std::max(x, 0.0), 1.0); }

/// Kinds that are worth double precision between input and result.
double activate_wide(const Activation& op, double x) {
  constexpr double kInverseRootTwo = 0.70710678118654752440;
  constexpr double kRootTwoOverPi = 0.79788456080286535588;
  const auto alpha = static_cast<double>(op.alpha);
  const auto beta = static_cast<double>(op.beta);
  switch (op.kind) {
    case ActivationKind::kSelu:
      return beta * (x > 0 ? x : alpha * std::expm1(x));
    case ActivationKind::kHardSigmoid:
      return unit_clip(alpha * x + beta);
    case ActivationKind::kHardSwish:
      return x * unit_clip(x / 6 + 0.5);
    case ActivationKind::kSoftplus:
      return softplus(x);
    case ActivationKind::kSoftsign:
      return x / (1 + std::abs(x));
    case ActivationKind::kGelu:
      return 0.5 * x * (1 + std::erf(x * kInverseRootTwo));
    case ActivationKind::kGeluTanh:
      return 0.5 * x * (1 + std::tanh(kRootTwoOverPi * (x + 0.044715 * x * x * x)));
    case ActivationKind::kMish:
      return x * std::tanh(softplus(x));
    case ActivationKind::kCelu:
      return std::max(x, 0.0) + std::min(alpha * std::expm1(x / alpha), 0.0);
    case ActivationKind::kSwish:
      return x * sigmoid(alpha * x);
    default:
      return x;
  }
}

float activate(const Activation& op, float x) {
  switch (op.kind) {
    case ActivationKind::kRelu:
      return std::max(x, 0.0F);
    case ActivationKind::kLeakyRelu:
      return x >= 0 ? x : op.alpha * x;
    case ActivationKind::kElu:
      return x >= 0 ? x : op.alpha * std::expm1(x);
    case ActivationKind::kSigmoid:
      return 1.0F / (1.0F + std::exp(-x));
    case ActivationKind::kTanh:
      return std::tanh(x);
    case ActivationKind::kClip:
      return std::min(std::max(x, op.alpha), op.beta);
    case ActivationKind::kErf:
      return std::erf(x);
    case ActivationKind::kSqrt:
      return std::sqrt(x);
    case ActivationKind::kNeg:
      return -x;
    case ActivationKind::kAbs:
      return std::abs(x);
    case ActivationKind::kExp:
      return std::exp(x);
    case ActivationKind::kLog:
      return std::log(x);
    case ActivationKind::kReciprocal:
      return 1.0F / x;
    case ActivationKind::kFloor:
      return std::floor(x);
    case ActivationKind::kCeil:
      return std::ceil(x);
    case ActivationKind::kRound:
      return std::nearbyint(x);
    case ActivationKind::kThresholdedRelu:
      return x <= op.alpha ? 0.0F : x;
    case ActivationKind::kSign:
      return std::isnan(x) ? x : static_cast<float>((x > 0) - (x < 0));
    case ActivationKind::kSin:
      return std::sin(x);
    case ActivationKind::kCos:
      return std::cos(x);
    case ActivationKind::kAsin:
      return std::asin(x);
    case ActivationKind::kAcos:
      return std::acos(x);
    case ActivationKind::kAtan:
      return std::atan(x);
    case ActivationKind::kSinh:
      return std::sinh(x);
    case ActivationKind::kCosh:
      return std::cosh(x);
    case ActivationKind::kAsinh:
      return std::asinh(x);
    case ActivationKind::kAcosh:
      return std::acosh(x);
    case ActivationKind::kAtanh:
      return std::atanh(x);
    case ActivationKind::kFakeQuantize:
      return op.alpha * std::min(std::max(std::nearbyint(x / op.alpha), op.beta), op.beta + 255.0F);
    default:
      return static_cast<float>(activate_wide(op, static_cast<double>(x)));
  }
}

float arithmetic(BinaryKind kind, float a, float b) {
  switch (kind) {
    case BinaryKind::kAdd:
      return a + b;
    case BinaryKind::kSub:
      return a - b;
    case BinaryKind::kMul:
      return a * b;
    case BinaryKind::kDiv:
      return a / b;
    case BinaryKind::kPow:
      return std::pow(a, b);
    case BinaryKind::kMin:
      return std::isnan(a) || a < b ? a : b;
    case BinaryKind::kMax:
      return std::isnan(a) || a > b ? a : b;
    case BinaryKind::kPRelu:
      return a < 0 ? a * b : a;
    case BinaryKind::kMod:
      return std::fmod(a, b);
    default:
      return a;
  }
}

std::int64_t whole_power(std::int64_t a, std::int64_t b) {
  if (b < 0) return a == 1 ? 1 : a == -1 ? (b % 2 == 0 ? 1 : -1) : 0;
  std::int64_t result = 1;
  for (; b > 0 && result != 0; --b) {
    if (a == 1 || (a == -1 && b % 2 == 0)) return result;
    result *= a;
    if (result > INT32_MAX || result < INT32_MIN) break;
  }
  return result;
}

std::int64_t arithmetic(BinaryKind kind, std::int64_t a, std::int64_t b) {
  switch (kind) {
    case BinaryKind::kAdd:
      return a + b;
    case BinaryKind::kSub:
      return a - b;
    case BinaryKind::kMul:
      return a * b;
    case BinaryKind::kDiv:
      return b == 0 ? 0 : a / b;
    case BinaryKind::kPow:
      return whole_power(a, b);
    case BinaryKind::kMin:
      return std::min(a, b);
    case BinaryKind::kMax:
      return std::max(a, b);
    case BinaryKind::kPRelu:
      return a < 0 ? a * b : a;
    case BinaryKind::kMod:
      return b == 0 ? 0 : a % b;
    case BinaryKind::kBitwiseAnd:
      return a & b;
    case BinaryKind::kBitwiseOr:
      return a | b;
    case BinaryKind::kBitwiseXor:
      return a ^ b;
    default:
      return a;
  }
}

template <class Number>
bool holds(BinaryKind kind, Number a, Number b) {
  switch (kind) {
    case BinaryKind::kEqual:
      return a == b;
    case BinaryKind::kLess:
      return a < b;
    case BinaryKind::kLessOrEqual:
      return a <= b;
    case BinaryKind::kGreater:
      return a > b;
    case BinaryKind::kGreaterOrEqual:
      return a >= b;
    case BinaryKind::kAnd:
      return a != 0 && b != 0;
    case BinaryKind::kOr:
      return a != 0 || b != 0;
    case BinaryKind::kXor:
      return (a != 0) != (b != 0);
    default:
      return false;
  }
}

std::int32_t in_32_bits(std::int64_t value) {
  if (value < INT32_MIN || value > INT32_MAX) {
    throw std::range_error("a whole number came about that does not fit 32 bits: " + std::to_string(value));
  }
  return static_cast<std::int32_t>(value);
}

float convert(const Cast& op, float x) {
  const bool from_float = op.from == ElementType::kFloat32;
  if (op.to_truth) return stored((from_float ? x != 0 : whole(x) != 0) ? 1 : 0);
  if (op.from == op.to) return x;
  if (!from_float) return static_cast<float>(whole(x));
  // What these become ONNX leaves open. Exported models choose others in their place: positions by logarithm, of which
  // that of 0 is not used.
  if (std::isnan(x) || std::isinf(x)) return stored(x > 0 ? INT32_MAX : INT32_MIN);
  if (std::abs(x) >= 0x1p31F)
    throw std::range_error("a number does not fit 32 bits as a whole one: " + std::to_string(x));
  return stored(static_cast<std::int32_t>(x));
}

Shape repeating(const ConstTensor& x, const Shape& shape) { return broadcast_strides(x.shape, x.strides, shape); }

}  // namespace

float combine(const Binary& op, float a, float b) {
  if (op.element == ElementType::kFloat32)
    return is_predicate(op.kind) ? stored(holds(op.kind, a, b) ? 1 : 0) : arithmetic(op.kind, a, b);
  if (is_predicate(op.kind)) return stored(holds(op.kind, whole(a), whole(b)) ? 1 : 0);
  return stored(in_32_bits(arithmetic(op.kind, std::int64_t{whole(a)}, std::int64_t{whole(b)})));
}

void compute(const Activation& op, Inputs inputs, const Tensor& y) {
  const ConstTensor& x = inputs[0];
  for_each_index<2>(y.shape, {x.strides, y.strides},
                    [&](const auto& at) { y.data[at[1]] = activate(op, x.data[at[0]]); });
}

void compute(const Binary& op, Inputs inputs, const Tensor& y) {
  const ConstTensor& a = inputs[0];
  const ConstTensor& b = inputs[1];
  for_each_index<3>(y.shape, {repeating(a, y.shape), repeating(b, y.shape), y.strides},
                    [&](const auto& at) { y.data[at[2]] = combine(op, a.data[at[0]], b.data[at[1]]); });
}

void compute(const Select&, Inputs inputs, const Tensor& y) {
  const ConstTensor& condition = inputs[0];
  const ConstTensor& a = inputs[1];
  const ConstTensor& b = inputs[2];
  for_each_index<4>(
      y.shape, {repeating(condition, y.shape), repeating(a, y.shape), repeating(b, y.shape), y.strides},
      [&](const auto& at) { y.data[at[3]] = whole(condition.data[at[0]]) != 0 ? a.data[at[1]] : b.data[at[2]]; });
}

void compute(const Cast& op, Inputs inputs, const Tensor& y) {
  const ConstTensor& x = inputs[0];
  for_each_index<2>(y.shape, {x.strides, y.strides},
                    [&](const auto& at) { y.data[at[1]] = convert(op, x.data[at[0]]); });
}

void add(const ConstTensor& x, const Tensor& y) {
  for_each_index<2>(y.shape, {x.strides, y.strides}, [&](const auto& at) { y.data[at[1]] += x.data[at[0]]; });
}

void copy(const ConstTensor& x, const Tensor& y) {
  for_each_index<2>(x.shape, {x.strides, y.strides}, [&](const auto& at) { y.data[at[1]] = x.data[at[0]]; });
}

}  // namespace cohort::reference
