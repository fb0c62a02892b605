#include <algorithm>

#include "models/training/rules.hpp"

namespace cohort::training {
namespace {

/// A gradient of zero wherever there is one.
bool is_stepwise(ActivationKind kind) {
  return kind == ActivationKind::kFloor || kind == ActivationKind::kCeil || kind == ActivationKind::kRound ||
         kind == ActivationKind::kSign || kind == ActivationKind::kFakeQuantize;
}

/// dy where `condition` is set, or with `otherwise` where it is not, else zero.
TensorId masked(OpGradient& at, std::string_view suffix, TensorId condition, TensorId dy, bool otherwise = false) {
  const TensorId zero = at.scalar(0);
  return otherwise ? at.add(suffix, Select{}, {condition, zero, dy}) : at.add(suffix, Select{}, {condition, dy, zero});
}

void give_sum_or_uniform(OpGradient& at, std::size_t i, float sign) {
  const auto uniform = at.uniform_dy();
  if (uniform && at.x_shape(i) == at.y_shape()) {
    at.give_uniform(i, sign * *uniform);
  } else if (sign < 0) {
    at.give_sum(i, at.unary("negative", ActivationKind::kNeg, at.dy()));
  } else {
    at.give_sum(i, at.dy());
  }
}

void add_or_subtract(OpGradient& at, float sign) {
  if (at.wants(0)) give_sum_or_uniform(at, 0, 1);
  if (at.wants(1)) give_sum_or_uniform(at, 1, sign);
}

/// dy * factor, broadcast to y's shape.
TensorId times(OpGradient& at, std::string_view suffix, TensorId factor) {
  const auto uniform = at.uniform_dy();
  if (uniform && at.shape(factor) == at.y_shape())
    return at.binary(suffix, BinaryKind::kMul, factor, at.scalar(*uniform));
  return at.binary(suffix, BinaryKind::kMul, at.dy(), factor);
}

/// A product with a number hands a uniform gradient on as one.
bool scale_uniform(OpGradient& at, std::size_t i, std::size_t other) {
  const auto uniform = at.uniform_dy();
  const auto* const factor = at.constant_values(at.x(other));
  if (!uniform || factor == nullptr || factor->size() != 1 || at.x_shape(i) != at.y_shape()) return false;
  at.give_uniform(i, *uniform * factor->front());
  return true;
}

void multiply(OpGradient& at) {
  if (at.x(0) == at.x(1)) {
    const TensorId half = times(at, "half", at.x(0));
    at.give(0, at.binary("dx", BinaryKind::kMul, half, at.scalar(2)));
    return;
  }
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
    if (!at.wants(i) || scale_uniform(at, i, 1 - i)) continue;
    at.give_sum(i, times(at, fmt::format("product{}", i), at.x(1 - i)));
  }
}

void divide(OpGradient& at) {
  const TensorId dy = at.dy();
  if (at.wants(0)) at.give_sum(0, at.binary("quotient", BinaryKind::kDiv, dy, at.x(1)));
  if (!at.wants(1)) return;
  // -dy * y / b
  const TensorId product = at.binary("product", BinaryKind::kMul, dy, at.y());
  const TensorId quotient = at.binary("ratio", BinaryKind::kDiv, product, at.x(1));
  at.give_sum(1, at.unary("negative", ActivationKind::kNeg, quotient));
}

/// by a: dy * b * a^(b - 1), and zero where b is; by b: dy * y * log(a), zero where a is not positive, as PyTorch has
/// it for a of zero.
void raise(OpGradient& at) {
  const TensorId dy = at.dy();
  const TensorId a = at.x(0);
  const TensorId b = at.x(1);
  if (at.wants(0)) {
    const auto* const values = at.constant_values(b);
    const bool is_number = values != nullptr && values->size() == 1;
    const TensorId lower =
        is_number ? at.scalar(values->front() - 1) : at.binary("lower", BinaryKind::kSub, b, at.scalar(1));
    const TensorId power = at.binary("power", BinaryKind::kPow, a, lower);
    TensorId slope = at.binary("slope", BinaryKind::kMul, power, b);
    // Of a zero to the power of zero that would be infinity times zero.
    const bool may_be_zero = values == nullptr || std::find(values->begin(), values->end(), 0.0F) != values->end();
    if (may_be_zero) {
      const TensorId is_zero = at.binary("is_zero", BinaryKind::kEqual, b, at.scalar(0));
      slope = at.add("known_slope", Select{}, {is_zero, at.scalar(0), slope});
    }
    at.give_sum(0, at.binary("product", BinaryKind::kMul, dy, slope));
  }
  if (!at.wants(1)) return;
  const TensorId is_positive = at.binary("is_positive", BinaryKind::kGreater, a, at.scalar(0));
  const TensorId positive = at.add("positive", Select{}, {is_positive, a, at.scalar(1)});
  const TensorId logarithm = at.unary("logarithm", ActivationKind::kLog, positive);
  const TensorId slope = at.binary("steepness", BinaryKind::kMul, at.y(), logarithm);
  at.give_sum(1, at.binary("scaled", BinaryKind::kMul, dy, slope));
}

/// All of the gradient goes to what was chosen; of equals, as in the forward pass, to b.
void choose(OpGradient& at, BinaryKind a_wins) {
  const TensorId dy = at.dy();
  const TensorId is_a = at.binary("is_a", a_wins, at.x(0), at.x(1));
  if (at.wants(0)) at.give_sum(0, masked(at, "chosen0", is_a, dy));
  if (at.wants(1)) at.give_sum(1, masked(at, "chosen1", is_a, dy, true));
}

/// a < 0 ? a*b : a
void slope(OpGradient& at) {
  const TensorId dy = at.dy();
  const TensorId is_negative = at.binary("is_negative", BinaryKind::kLess, at.x(0), at.scalar(0));
  if (at.wants(0)) {
    const TensorId sloped = at.binary("sloped", BinaryKind::kMul, dy, at.x(1));
    at.give_sum(0, at.add("chosen", Select{}, {is_negative, sloped, dy}));
  }
  if (!at.wants(1)) return;
  const TensorId product = at.binary("product", BinaryKind::kMul, dy, at.x(0));
  at.give_sum(1, masked(at, "masked", is_negative, product));
}

}  // namespace

Result<void> gradient(const Activation& op, OpGradient& at) {
  if (is_stepwise(op.kind)) return {};
  if (op.kind == ActivationKind::kNeg) {
    at.give(0, at.unary("dx", ActivationKind::kNeg, at.dy()));
    return {};
  }
  const TensorId z = derives_from_result(op.kind) ? at.y() : at.x(0);
  at.give(0, at.add("dx", ActivationGradient{op}, {z, at.dy()}));
  return {};
}

Result<void> gradient(const Binary& op, OpGradient& at) {
  switch (op.kind) {
    case BinaryKind::kAdd:
      add_or_subtract(at, 1);
      return {};
    case BinaryKind::kSub:
      add_or_subtract(at, -1);
      return {};
    case BinaryKind::kMul:
      multiply(at);
      return {};
    case BinaryKind::kDiv:
      divide(at);
      return {};
    case BinaryKind::kPow:
      raise(at);
      return {};
    case BinaryKind::kMin:
      choose(at, BinaryKind::kLess);
      return {};
    case BinaryKind::kMax:
      choose(at, BinaryKind::kGreater);
      return {};
    case BinaryKind::kPRelu:
      slope(at);
      return {};
    default:
      return at.refuse();
  }
}

Result<void> gradient(const Select& /*op*/, OpGradient& at) {
  const TensorId dy = at.dy();
  if (at.wants(1)) at.give_sum(1, masked(at, "chosen1", at.x(0), dy));
  if (at.wants(2)) at.give_sum(2, masked(at, "chosen2", at.x(0), dy, true));
  return {};
}

/// Only float32 as float32 gets here.
Result<void> gradient(const Cast& /*op*/, OpGradient& at) {
  at.give(0, at.dy());
  return {};
}

Result<void> gradient(const Dropout& op, OpGradient& at) {
  at.give(0, at.add("dx", op, {at.dy(), at.x(1), at.x(2)}));
  return {};
}

}  // namespace cohort::training
