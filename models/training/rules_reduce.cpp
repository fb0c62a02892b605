#include "models/training/rules.hpp"

namespace cohort::training {
namespace {

/// One Reduce; y and dy with the reduced axes kept as ones repeat over x.
class ReduceGradient {
 public:
  ReduceGradient(const Reduce& op, OpGradient& at) : op_(op), at_(at), x_(at.x(0)), kept_(at.x_shape(0)) {
    for (const std::int64_t axis : op.axes) {
      elements_ *= kept_[static_cast<std::size_t>(axis)];
      kept_[static_cast<std::size_t>(axis)] = 1;
    }
  }

  void run() {
    switch (op_.kind) {
      case ReduceKind::kSum:
        return give_repeated(1);
      case ReduceKind::kMean:
        return give_repeated(1.0F / static_cast<float>(elements_));
      case ReduceKind::kMax:
      case ReduceKind::kMin:
        return share_among_equals();
      case ReduceKind::kProduct:
        return leave_one_out();
      case ReduceKind::kL1:
        return give_product(at_.unary("sign", ActivationKind::kSign, x_));
      case ReduceKind::kL2:
        return divide_by_norm();
      case ReduceKind::kSumOfSquares:
        return give_twice();
      case ReduceKind::kLogSum:
        return give_by_sum();
      case ReduceKind::kLogSumExp: {
        const TensorId less = at_.binary("less", BinaryKind::kSub, x_, y());
        return give_product(at_.unary("share", ActivationKind::kExp, less));
      }
    }
  }

 private:
  TensorId y() { return at_.reshape("y.kept", at_.y(), kept_); }
  TensorId dy() { return at_.reshape("dy.kept", at_.dy(), kept_); }

  /// dy * factor [x's shape].
  void give_product(TensorId factor) { at_.give(0, at_.binary("dx", BinaryKind::kMul, factor, dy())); }

  void give_repeated(float factor) {
    if (const auto uniform = at_.uniform_dy()) return at_.give_uniform(0, factor * *uniform);
    TensorId each = dy();
    if (factor != 1) each = at_.binary("each", BinaryKind::kMul, each, at_.scalar(factor));
    at_.give(0, at_.add("dx", Expand{at_.x_shape(0)}, {each}));
  }

  void give_twice() {
    if (const auto uniform = at_.uniform_dy())
      return at_.give(0, at_.binary("dx", BinaryKind::kMul, x_, at_.scalar(2 * *uniform)));
    give_product(at_.binary("twice", BinaryKind::kMul, x_, at_.scalar(2)));
  }

  /// Equal largest elements get equal parts, as PyTorch's amax has it.
  void share_among_equals() {
    const TensorId is_equal = at_.binary("is_largest", BinaryKind::kEqual, x_, y());
    const TensorId ones = at_.add("largest", Cast{ElementType::kInt32, ElementType::kFloat32}, {is_equal});
    const TensorId count = at_.add("count", Reduce{ReduceKind::kSum, op_.axes, true}, {ones});
    const TensorId share = at_.binary("share", BinaryKind::kDiv, dy(), count);
    at_.give(0, at_.binary("dx", BinaryKind::kMul, ones, share));
  }

  /// The product of all others, which division by x does not give where there are zeros: it is that of all that are not
  /// zero, where no other one is.
  void leave_one_out() {
    const TensorId is_zero = at_.binary("is_zero", BinaryKind::kEqual, x_, at_.scalar(0));
    const TensorId zeros = at_.add("zeros", Cast{ElementType::kInt32, ElementType::kFloat32}, {is_zero});
    const TensorId all_zeros = at_.add("all_zeros", Reduce{ReduceKind::kSum, op_.axes, true}, {zeros});
    const TensorId others = at_.binary("other_zeros", BinaryKind::kSub, all_zeros, zeros);
    const TensorId is_alone = at_.binary("is_alone", BinaryKind::kEqual, others, at_.scalar(0));
    const TensorId factors = at_.add("factors", Select{}, {is_zero, at_.scalar(1), x_});
    const TensorId product = at_.add("product", Reduce{ReduceKind::kProduct, op_.axes, true}, {factors});
    const TensorId without = at_.binary("without", BinaryKind::kDiv, product, factors);
    give_product(at_.add("slope", Select{}, {is_alone, without, at_.scalar(0)}));
  }

  /// x / norm; nothing where all are zero.
  void divide_by_norm() {
    const TensorId is_zero = at_.binary("is_zero", BinaryKind::kEqual, y(), at_.scalar(0));
    const TensorId norm = at_.add("norm", Select{}, {is_zero, at_.scalar(1), y()});
    give_product(at_.binary("direction", BinaryKind::kDiv, x_, norm));
  }

  /// y is the logarithm of the sum.
  void give_by_sum() {
    const TensorId sum = at_.unary("sum", ActivationKind::kExp, y());
    const TensorId each = at_.binary("each", BinaryKind::kDiv, dy(), sum);
    at_.give(0, at_.add("dx", Expand{at_.x_shape(0)}, {each}));
  }

  const Reduce& op_;
  OpGradient& at_;
  TensorId x_;
  Shape kept_;
  std::int64_t elements_ = 1;
};

}  // namespace

Result<void> gradient(const Reduce& op, OpGradient& at) {
  ReduceGradient(op, at).run();
  return {};
}

}  // namespace cohort::training
