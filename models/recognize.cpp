#include "models/recognize.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace cohort {
namespace {

constexpr std::size_t kNoWriter = SIZE_MAX;

/// Constants of formulas are written with six digits and more.
bool is_near(double value, double expected) { return std::abs(value - expected) <= 1e-5 * std::abs(expected); }

/// A product of tensors and a number.
struct Product {
  double scalar = 1;
  std::vector<TensorId> tensors;
};

/// What makes a function of x out of x: y = scalar * x * gate, or without `times_x` y = scalar * gate.
struct Gated {
  Activation function;
  TensorId x;
  double scalar = 1;
  bool times_x = true;
};

/// A tensor less its mean over the last axes, from `axis` on.
struct Centred {
  TensorId x;
  std::int64_t axis = 0;

  friend bool operator==(const Centred&, const Centred&) = default;
};

class Recognizer {
 public:
  explicit Recognizer(LoadedModel& loaded) : loaded_(loaded), writer_(loaded.model.tensors.size(), kNoWriter) {
    for (std::size_t i = 0; i < model().ops.size(); ++i) writer_[to_index(model().ops[i].outputs[0])] = i;
  }

  void run() {
    for (Op& op : loaded_.model.ops) {
      if (!std::holds_alternative<Binary>(op.attributes) || !op.post_ops.empty()) continue;
      if (const auto gated = gated_function(op.outputs[0])) {
        op.attributes = gated->function;
        op.inputs = {gated->x};
      } else if (auto normalized = layer_normalization(op)) {
        op.attributes = normalized->attributes;
        op.inputs = std::move(normalized->inputs);
      } else if (const auto quantized = fake_quantize(op)) {
        op.attributes = quantized->function;
        op.inputs = {quantized->x};
      } else if (const auto bounded = bound(op)) {
        op.attributes = bounded->function;
        op.inputs = {bounded->x};
      }
    }
  }

 private:
  [[nodiscard]] const Model& model() const { return loaded_.model; }
  [[nodiscard]] const Shape& shape(TensorId id) const { return model().tensor(id).shape; }

  /// The op that writes `y`, where it is an Attributes and nothing else.
  template <class Attributes>
  [[nodiscard]] const Op* writer(TensorId y) const {
    const std::size_t at = writer_[to_index(y)];
    if (at == kNoWriter) return nullptr;
    const Op& op = model().ops[at];
    return op.post_ops.empty() && std::holds_alternative<Attributes>(op.attributes) ? &op : nullptr;
  }

  [[nodiscard]] const Op* binary(TensorId y, BinaryKind kind) const {
    const Op* const op = writer<Binary>(y);
    return op != nullptr && std::get<Binary>(op->attributes) == Binary{kind} ? op : nullptr;
  }

  /// What the function's op reads.
  [[nodiscard]] std::optional<TensorId> input_of(TensorId y, ActivationKind kind) const {
    const Op* const op = writer<Activation>(y);
    if (op == nullptr || std::get<Activation>(op->attributes).kind != kind) return std::nullopt;
    return op->inputs[0];
  }

  [[nodiscard]] bool is_constant(TensorId id) const {
    return model().tensor(id).role == TensorRole::kWeight && loaded_.weights.of(id) != nullptr;
  }

  /// The one value of a constant.
  [[nodiscard]] std::optional<double> scalar(TensorId id) const {
    if (!is_constant(id) || element_count(shape(id)) != 1 || model().tensor(id).element != ElementType::kFloat32)
      return std::nullopt;
    return static_cast<double>((*loaded_.weights.of(id))[0]);
  }

  /// The other operand, where `y` adds `value` to it.
  [[nodiscard]] std::optional<TensorId> less(TensorId y, double value) const {
    const Op* const add = binary(y, BinaryKind::kAdd);
    if (add == nullptr) return std::nullopt;
    for (const std::size_t at : {0U, 1U}) {
      const auto constant = scalar(add->inputs[at]);
      if (constant && is_near(*constant, value)) return add->inputs[1 - at];
    }
    return std::nullopt;
  }

  /// Takes products and quotients apart, but no tensor of `whole`.
  void take_apart(TensorId y, std::span<const TensorId> whole, Product& product, int depth = 0) const {
    constexpr int kDeepest = 4;
    if (const auto value = scalar(y)) {
      product.scalar *= *value;
      return;
    }
    const bool is_whole = depth == kDeepest || std::find(whole.begin(), whole.end(), y) != whole.end();
    if (const Op* const times = is_whole ? nullptr : binary(y, BinaryKind::kMul)) {
      for (const TensorId factor : times->inputs) take_apart(factor, whole, product, depth + 1);
      return;
    }
    if (const Op* const quotient = is_whole ? nullptr : binary(y, BinaryKind::kDiv)) {
      if (const auto divisor = scalar(quotient->inputs[1])) {
        product.scalar /= *divisor;
        return take_apart(quotient->inputs[0], whole, product, depth + 1);
      }
    }
    product.tensors.push_back(y);
  }

  /// y as a number times x, and that number: with none, with one taken off.
  [[nodiscard]] std::vector<std::pair<TensorId, double>> scaled(TensorId y) const {
    std::vector<std::pair<TensorId, double>> all = {{y, 1.0}};
    Product product;
    take_apart(y, {}, product);
    if (product.tensors.size() == 1 && product.tensors[0] != y) all.emplace_back(product.tensors[0], product.scalar);
    for (const BinaryKind kind : {BinaryKind::kMul, BinaryKind::kDiv}) {
      const Op* const op = binary(y, kind);
      if (op == nullptr) continue;
      if (const auto value = scalar(op->inputs[1]))
        all.emplace_back(op->inputs[0], kind == BinaryKind::kMul ? *value : 1 / *value);
      if (const auto value = scalar(op->inputs[0]); value && kind == BinaryKind::kMul)
        all.emplace_back(op->inputs[1], *value);
    }
    return all;
  }

  /// x of t = sqrt(2 / pi) * (x + 0.044715 x^3).
  [[nodiscard]] std::optional<TensorId> inside_of_gelu(TensorId t) const {
    for (const auto& [sum, scale] : scaled(t)) {
      const Op* const add = is_near(scale, 0.7978845608) ? binary(sum, BinaryKind::kAdd) : nullptr;
      if (add == nullptr) continue;
      for (const std::size_t at : {0U, 1U}) {
        const TensorId x = add->inputs[at];
        Product cube;
        take_apart(add->inputs[1 - at], {{x}}, cube);
        const bool thrice = cube.tensors == std::vector<TensorId>{x, x, x};
        const bool power = cube.tensors.size() == 1 && is_power(cube.tensors[0], x, 3);
        if (is_near(cube.scalar, 0.044715) && (thrice || power)) return x;
      }
    }
    return std::nullopt;
  }

  [[nodiscard]] bool is_power(TensorId y, TensorId x, double exponent) const {
    const Op* const power = binary(y, BinaryKind::kPow);
    return power != nullptr && power->inputs[0] == x && scalar(power->inputs[1]) == exponent;
  }

  /// What `gate` could make of what it is a function of.
  [[nodiscard]] std::vector<Gated> gates_of(TensorId gate) const {
    std::vector<Gated> all;
    if (const auto v = input_of(gate, ActivationKind::kSigmoid)) {
      for (const auto& [x, alpha] : scaled(*v))
        all.push_back({{ActivationKind::kSwish, static_cast<float>(alpha), 0}, x});
    }
    const Op* const function = writer<Activation>(gate);
    if (function != nullptr) {
      const Activation& f = std::get<Activation>(function->attributes);
      const bool sixth =
          f.kind == ActivationKind::kHardSigmoid && is_near(static_cast<double>(f.alpha), 1.0 / 6) && f.beta == 0.5F;
      if (sixth) all.push_back({{ActivationKind::kHardSwish}, function->inputs[0]});
      if (const auto x = f == Activation{ActivationKind::kClip, 0, 6} ? less(function->inputs[0], 3) : std::nullopt) {
        all.push_back({{ActivationKind::kHardSwish}, *x, 1.0 / 6});
        all.push_back({{ActivationKind::kHardSigmoid, 1.0F / 6, 0.5F}, *x, 1.0 / 6, /*times_x=*/false});
      }
    }
    if (const auto squashed = input_of(gate, ActivationKind::kTanh)) {
      if (const auto x = input_of(*squashed, ActivationKind::kSoftplus)) all.push_back({{ActivationKind::kMish}, *x});
    }
    if (const auto shifted = less(gate, 1)) {
      if (const auto v = input_of(*shifted, ActivationKind::kErf)) {
        for (const auto& [x, scale] : scaled(*v)) {
          if (is_near(scale, 0.7071067812)) all.push_back({{ActivationKind::kGelu}, x, 0.5});
        }
      }
      const auto t = input_of(*shifted, ActivationKind::kTanh);
      if (const auto x = t ? inside_of_gelu(*t) : std::nullopt) all.push_back({{ActivationKind::kGeluTanh}, *x, 0.5});
    }
    return all;
  }

  [[nodiscard]] std::optional<Gated> gated_function(TensorId y) const {
    Product product;
    take_apart(y, {}, product);
    for (const TensorId gate : product.tensors) {
      if (gate == y) continue;
      for (const Gated& gated : gates_of(gate)) {
        const TensorId whole[] = {gated.x, gate};
        Product parts;
        take_apart(y, whole, parts);
        std::vector<TensorId> expected = {gate};
        if (gated.times_x) expected.push_back(gated.x);
        const bool same =
            std::is_permutation(parts.tensors.begin(), parts.tensors.end(), expected.begin(), expected.end());
        if (same && is_near(parts.scalar, gated.scalar) && shape(y) == shape(gated.x)) return gated;
      }
    }
    return std::nullopt;
  }

  struct Function {
    Activation function;
    TensorId x;
  };

  /// What `value` was added to; `y` itself where that is 0 and left out.
  [[nodiscard]] std::optional<TensorId> without_zero_point(TensorId y, double value) const {
    const Op* const add = binary(y, BinaryKind::kAdd);
    if (add != nullptr && scalar(add->inputs[1]) == value) return add->inputs[0];
    return value == 0 ? std::optional(y) : std::nullopt;
  }

  /// y = (clip(round(x / step) + zero) - zero) * step, as quantising and dequantising become. Rounding is a matter of
  /// bits: a step or zero that only nearly is the same will not do.
  [[nodiscard]] std::optional<Function> fake_quantize(const Op& op) const {
    if (std::get<Binary>(op.attributes) != Binary{BinaryKind::kMul}) return std::nullopt;
    const auto step = scalar(op.inputs[1]);
    if (!step || *step <= 0 || shape(op.inputs[0]) != shape(op.outputs[0])) return std::nullopt;
    const Op* const moved = binary(op.inputs[0], BinaryKind::kSub);
    const auto zero = moved != nullptr ? scalar(moved->inputs[1]) : 0.0;
    const Op* const clip = zero ? writer<Activation>(moved != nullptr ? moved->inputs[0] : op.inputs[0]) : nullptr;
    if (clip == nullptr || std::get<Activation>(clip->attributes).kind != ActivationKind::kClip) return std::nullopt;
    const Activation& levels = std::get<Activation>(clip->attributes);
    const auto levels_of_x = without_zero_point(clip->inputs[0], *zero);
    const auto rounded = levels_of_x ? input_of(*levels_of_x, ActivationKind::kRound) : std::nullopt;
    const Op* const quotient = rounded ? binary(*rounded, BinaryKind::kDiv) : nullptr;
    const float from = levels.alpha - static_cast<float>(*zero);
    const bool is_8_bit = levels.beta - levels.alpha == 255 && from >= -255 && from <= 0 && from == std::floor(from);
    if (quotient == nullptr || !is_8_bit || scalar(quotient->inputs[1]) != step) return std::nullopt;
    const TensorId x = quotient->inputs[0];
    if (shape(x) != shape(op.outputs[0])) return std::nullopt;
    return Function{{ActivationKind::kFakeQuantize, static_cast<float>(*step), from}, x};
  }

  /// The larger or smaller of a tensor and a number.
  [[nodiscard]] std::optional<Function> bound(const Op& op) const {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    const bool is_max = std::get<Binary>(op.attributes) == Binary{BinaryKind::kMax};
    if (!is_max && std::get<Binary>(op.attributes) != Binary{BinaryKind::kMin}) return std::nullopt;
    for (const std::size_t at : {0U, 1U}) {
      const TensorId x = op.inputs[1 - at];
      const auto limit = scalar(op.inputs[at]);
      if (!limit || std::isnan(*limit) || shape(x) != shape(op.outputs[0])) continue;
      Activation clip{ActivationKind::kClip, -kInfinity, kInfinity};
      (is_max ? clip.alpha : clip.beta) = static_cast<float>(*limit);
      return Function{clip, x};
    }
    return std::nullopt;
  }

  /// The input of a mean over the last axes, which stay.
  [[nodiscard]] std::optional<Centred> mean_of(TensorId y) const {
    const Op* const op = writer<Reduce>(y);
    if (op == nullptr) return std::nullopt;
    const auto& reduce = std::get<Reduce>(op->attributes);
    if (reduce.kind != ReduceKind::kMean || !reduce.keep_axes || reduce.axes.empty()) return std::nullopt;
    const auto rank = static_cast<std::int64_t>(shape(op->inputs[0]).size());
    const bool last = reduce.axes.front() + static_cast<std::int64_t>(reduce.axes.size()) == rank;
    return last ? std::optional(Centred{op->inputs[0], reduce.axes.front()}) : std::nullopt;
  }

  [[nodiscard]] std::optional<Centred> centred(TensorId y) const {
    const Op* const difference = binary(y, BinaryKind::kSub);
    if (difference == nullptr) return std::nullopt;
    const auto mean = mean_of(difference->inputs[1]);
    return mean && mean->x == difference->inputs[0] ? mean : std::nullopt;
  }

  /// What is squared in y.
  [[nodiscard]] std::optional<TensorId> squared(TensorId y) const {
    if (const Op* const power = binary(y, BinaryKind::kPow); power != nullptr && scalar(power->inputs[1]) == 2.0)
      return power->inputs[0];
    const Op* const times = binary(y, BinaryKind::kMul);
    return times != nullptr && times->inputs[0] == times->inputs[1] ? std::optional(times->inputs[0]) : std::nullopt;
  }

  /// y = (x - mean) / sqrt(variance + epsilon).
  struct Normalized {
    Centred of;
    float epsilon = 0;
  };
  [[nodiscard]] std::optional<Normalized> normalized(TensorId y) const {
    const Op* const quotient = binary(y, BinaryKind::kDiv);
    if (quotient == nullptr) return std::nullopt;
    const auto above = centred(quotient->inputs[0]);
    const auto root = input_of(quotient->inputs[1], ActivationKind::kSqrt);
    const Op* const add = root ? binary(*root, BinaryKind::kAdd) : nullptr;
    if (!above || add == nullptr) return std::nullopt;
    for (const std::size_t at : {0U, 1U}) {
      const auto epsilon = scalar(add->inputs[at]);
      const auto variance = mean_of(add->inputs[1 - at]);
      const auto distance = variance ? squared(variance->x) : std::nullopt;
      if (epsilon && distance && variance->axis == above->axis && centred(*distance) == above)
        return Normalized{*above, static_cast<float>(*epsilon)};
    }
    return std::nullopt;
  }

  /// y = x / sqrt(mean of squares + epsilon), or x times the reciprocal.
  [[nodiscard]] std::optional<Normalized> divided_by_root_mean_square(TensorId y) const {
    std::optional<TensorId> x, root;
    if (const Op* const quotient = binary(y, BinaryKind::kDiv)) {
      x = quotient->inputs[0];
      root = input_of(quotient->inputs[1], ActivationKind::kSqrt);
    } else if (const Op* const product = binary(y, BinaryKind::kMul)) {
      for (const std::size_t at : {0U, 1U}) {
        const auto inverted = input_of(product->inputs[at], ActivationKind::kReciprocal);
        if (!inverted) continue;
        x = product->inputs[1 - at];
        root = input_of(*inverted, ActivationKind::kSqrt);
      }
    }
    const Op* const add = x && root ? binary(*root, BinaryKind::kAdd) : nullptr;
    for (std::size_t at = 0; add != nullptr && at < 2; ++at) {
      const auto epsilon = scalar(add->inputs[at]);
      const auto mean = mean_of(add->inputs[1 - at]);
      if (epsilon && mean && squared(mean->x) == x) return Normalized{{*x, mean->axis}, static_cast<float>(*epsilon)};
    }
    return std::nullopt;
  }

  /// Whether a constant has a value for each element along the axes from `axis` on.
  [[nodiscard]] bool covers(TensorId constant, TensorId x, std::int64_t axis) const {
    const Shape& all = shape(x);
    return is_constant(constant) && shape(constant) == Shape(all.begin() + axis, all.end());
  }

  struct Replacement {
    LayerNormalization attributes;
    std::vector<TensorId> inputs;
  };
  /// A scale of what is normalised, or a shift of what was recognised so before.
  [[nodiscard]] std::optional<Replacement> layer_normalization(const Op& op) const {
    const BinaryKind kind = std::get<Binary>(op.attributes).kind;
    if (op.inputs.size() != 2 || std::get<Binary>(op.attributes).element != ElementType::kFloat32) return std::nullopt;
    for (const std::size_t at : {0U, 1U}) {
      const TensorId y = op.inputs[at], constant = op.inputs[1 - at];
      if (kind == BinaryKind::kMul) {
        const auto by_deviation = normalized(y);
        const auto found = by_deviation ? by_deviation : divided_by_root_mean_square(y);
        // Constants of more dimensions would have given the result more.
        const bool same_shape = found && shape(found->of.x) == shape(y) && shape(op.outputs[0]) == shape(y);
        if (same_shape && covers(constant, y, found->of.axis))
          return Replacement{{found->of.axis, found->epsilon, by_deviation.has_value()}, {found->of.x, constant}};
      } else if (const Op* const scaled = kind == BinaryKind::kAdd ? writer<LayerNormalization>(y) : nullptr) {
        const auto& layer = std::get<LayerNormalization>(scaled->attributes);
        if (scaled->inputs.size() == 2 && shape(op.outputs[0]) == shape(y) && covers(constant, y, layer.axis))
          return Replacement{layer, {scaled->inputs[0], scaled->inputs[1], constant}};
      }
    }
    return std::nullopt;
  }

  LoadedModel& loaded_;
  std::vector<std::size_t> writer_;  ///< by tensor
};

}  // namespace

void recognize_functions(LoadedModel& loaded) {
  loaded.weights.by_tensor.resize(loaded.model.tensors.size());
  Recognizer(loaded).run();
}

}  // namespace cohort
