#include <cmath>

#include "models/compute/ops.hpp"

namespace cohort::reference {
namespace {

/// f'(x) of those that derives_from_result() has, from y.
double slope_at_result(const Activation& op, double y) {
  switch (op.kind) {
    case ActivationKind::kRelu:
      return y > 0 ? 1 : 0;
    case ActivationKind::kSigmoid:
      return y * (1 - y);
    case ActivationKind::kTanh:
      return 1 - y * y;
    case ActivationKind::kClip:
      return y > static_cast<double>(op.alpha) && y < static_cast<double>(op.beta) ? 1 : 0;
    case ActivationKind::kHardSigmoid:
      return y > 0 && y < 1 ? static_cast<double>(op.alpha) : 0;
    case ActivationKind::kSoftsign:
      return (1 - std::abs(y)) * (1 - std::abs(y));
    case ActivationKind::kSqrt:
      return 0.5 / y;
    case ActivationKind::kNeg:
      return -1;
    case ActivationKind::kExp:
      return y;
    case ActivationKind::kReciprocal:
      return -y * y;
    default:
      return 0;  // steps
  }
}

double gelu_slope(double x) {
  constexpr double kInverseRootTwo = 0.70710678118654752440;
  constexpr double kInverseRootTwoPi = 0.39894228040143267794;
  return 0.5 * (1 + std::erf(x * kInverseRootTwo)) + x * kInverseRootTwoPi * std::exp(-0.5 * x * x);
}

double gelu_tanh_slope(double x) {
  constexpr double kRootTwoOverPi = 0.79788456080286535588;
  constexpr double kCubic = 0.044715;
  const double t = std::tanh(kRootTwoOverPi * (x + kCubic * x * x * x));
  return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * kRootTwoOverPi * (1 + 3 * kCubic * x * x);
}

double mish_slope(double x) {
  const double t = std::tanh(softplus(x));
  return t + x * (1 - t * t) * sigmoid(x);
}

double swish_slope(double alpha, double x) {
  const double share = sigmoid(alpha * x);
  return share + alpha * x * share * (1 - share);
}

/// f'(x) of the others.
double slope_at(const Activation& op, double x) {
  constexpr double kTwoOverRootPi = 1.12837916709551257390;
  const auto alpha = static_cast<double>(op.alpha);
  const auto beta = static_cast<double>(op.beta);
  switch (op.kind) {
    case ActivationKind::kLeakyRelu:
      return x > 0 ? 1 : alpha;
    case ActivationKind::kElu:
      return x > 0 ? 1 : alpha * std::exp(x);
    case ActivationKind::kSelu:
      return beta * (x > 0 ? 1 : alpha * std::exp(x));
    case ActivationKind::kHardSwish:
      return x <= -3 ? 0 : x >= 3 ? 1 : x / 3 + 0.5;
    case ActivationKind::kSoftplus:
      return sigmoid(x);
    case ActivationKind::kGelu:
      return gelu_slope(x);
    case ActivationKind::kGeluTanh:
      return gelu_tanh_slope(x);
    case ActivationKind::kErf:
      return kTwoOverRootPi * std::exp(-x * x);
    case ActivationKind::kMish:
      return mish_slope(x);
    case ActivationKind::kAbs:
      return (x > 0 ? 1 : 0) - (x < 0 ? 1 : 0);
    case ActivationKind::kLog:
      return 1 / x;
    case ActivationKind::kThresholdedRelu:
      return x > alpha ? 1 : 0;
    case ActivationKind::kCelu:
      return x > 0 ? 1 : std::exp(x / alpha);
    case ActivationKind::kSwish:
      return swish_slope(alpha, x);
    case ActivationKind::kSin:
      return std::cos(x);
    case ActivationKind::kCos:
      return -std::sin(x);
    case ActivationKind::kAsin:
      return 1 / std::sqrt(1 - x * x);
    case ActivationKind::kAcos:
      return -1 / std::sqrt(1 - x * x);
    case ActivationKind::kAtan:
      return 1 / (1 + x * x);
    case ActivationKind::kSinh:
      return std::cosh(x);
    case ActivationKind::kCosh:
      return std::sinh(x);
    case ActivationKind::kAsinh:
      return 1 / std::sqrt(x * x + 1);
    case ActivationKind::kAcosh:
      return 1 / std::sqrt(x * x - 1);
    case ActivationKind::kAtanh:
      return 1 / (1 - x * x);
    default:
      return 0;
  }
}

}  // namespace

void compute(const ActivationGradient& op, Inputs inputs, const Tensor& y) {
  const ConstTensor& z = inputs[0];
  const ConstTensor& dy = inputs[1];
  const bool from_result = derives_from_result(op.activation.kind);
  for_each_index<3>(y.shape, {z.strides, dy.strides, y.strides}, [&](const auto& at) {
    const auto value = static_cast<double>(z.data[at[0]]);
    const double slope = from_result ? slope_at_result(op.activation, value) : slope_at(op.activation, value);
    y.data[at[2]] = static_cast<float>(slope * static_cast<double>(dy.data[at[1]]));
  });
}

}  // namespace cohort::reference
