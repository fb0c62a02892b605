#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "models/affine.hpp"
#include "models/branches.hpp"
#include "models/dequantize_early.hpp"
#include "models/eight_bits.hpp"
#include "models/merge_same.hpp"
#include "models/model_edit.hpp"
#include "models/recognize.hpp"
#include "models/tiny_weights.hpp"

namespace cohort {

namespace {

/// Libraries limit the length of a chain of post-ops; no network comes near this.
constexpr std::size_t kMostPostOps = 8;
/// Functions behind an elementwise op: kernels for GPUs have room for four with the op itself.
constexpr std::size_t kLongestChain = 3;

/// Whether libraries apply the function to what a product has just computed; the rest would make the
/// product fall to plain loops.
bool follows_product(ActivationKind kind) {
  switch (kind) {
    case ActivationKind::kRelu:
    case ActivationKind::kLeakyRelu:
    case ActivationKind::kElu:
    case ActivationKind::kSigmoid:
    case ActivationKind::kTanh:
    case ActivationKind::kClip:
    case ActivationKind::kGelu:
    case ActivationKind::kGeluTanh:
    case ActivationKind::kAbs:
    case ActivationKind::kHardSwish:
    case ActivationKind::kMish:
    case ActivationKind::kSwish:
    case ActivationKind::kFakeQuantize:
      return true;
    default:
      return false;
  }
}

/// Whether the function can stand in one chain with those that it already has: oneDNN up to 2.6 gives each function of
/// a chain the parameters of the first one of its kind, and takes Relu for a LeakyRelu. Quantising has the bounds of a
/// Clip. tests/kernels/onednn_post_ops_test.cpp holds the whole table of pairs and triples.
bool is_told_apart(const Activation& activation, const std::vector<PostOp>& chain) {
  const auto kind_of = [](const Activation& each) {
    if (each.kind == ActivationKind::kFakeQuantize) return ActivationKind::kClip;
    return each.kind == ActivationKind::kLeakyRelu ? ActivationKind::kRelu : each.kind;
  };
  return std::none_of(chain.begin(), chain.end(), [&](const PostOp& post_op) {
    const auto* const other = std::get_if<Activation>(&post_op);
    return other != nullptr && kind_of(*other) == kind_of(activation) && *other != activation;
  });
}

/// Whether the bounds that a function sets lie outside of those of quantising, so that nothing is left of it behind
/// that.
bool sets_wider_bounds(const PostOp& function, const Activation& quantize) {
  const auto* const before = std::get_if<Activation>(&function);
  if (before == nullptr || quantize.kind != ActivationKind::kFakeQuantize) return false;
  const bool is_relu = before->kind == ActivationKind::kRelu;
  if (!is_relu && before->kind != ActivationKind::kClip) return false;
  const float low = is_relu ? 0 : std::nearbyint(before->alpha / quantize.alpha);
  return low <= quantize.beta && (is_relu || std::nearbyint(before->beta / quantize.alpha) >= quantize.beta + 255);
}

/// Merges ops into the op before them.
class Simplifier : private ModelEdit {
 public:
  Simplifier(LoadedModel loaded, bool strict_nan) : ModelEdit(std::move(loaded)), strict_nan_(strict_nan) {}

  LoadedModel run(bool folds_constants) {
    joins_chains_ = folds_constants;
    drop_unread();  // what nobody reads must not keep its input from being merged
    skip_all_reshapes();
    drop_unread();  // Reshapes that are read around
    for (std::size_t i = 0; i < op_count() && folds_constants; ++i) {
      if (is_dead(i)) continue;
      const std::size_t product = merge_branches(i).value_or(i);
      while (merge_affine(product) || put_before_reshape(product)) {
      }
    }
    for (std::size_t i = 0; i < op_count(); ++i) {
      while (!is_dead(i) && (merge_post_op(i) || (folds_constants && put_before_reshape(i)))) {
      }
    }
    if (folds_constants) skip_all_reshapes();  // those that came to stand before another
    return finish();
  }

 private:
  [[nodiscard]] bool is_product(std::size_t i) const {
    const auto* gemm = std::get_if<Gemm>(&op(i).attributes);
    return std::holds_alternative<Convolution>(op(i).attributes) || (gemm != nullptr && !gemm->stacked);
  }

  void skip_all_reshapes() {
    for (std::size_t i = 0; i < op_count(); ++i) {
      if (!is_dead(i)) skip_reshapes(i);
    }
    for (std::size_t i = 0; i < op_count(); ++i) {
      if (!is_dead(i)) skip_flatten(i);
    }
  }

  /// The op that writes `x` where that is a Reshape and nothing else.
  [[nodiscard]] std::size_t reshape_before(TensorId x) const {
    const std::size_t before = writer(x);
    if (before == kNone || !op(before).post_ops.empty()) return kNone;
    return std::holds_alternative<Reshape>(op(before).attributes) ? before : kNone;
  }

  /// Reads around a Reshape to the shape that its input has, and in a Reshape around any other.
  void skip_reshapes(std::size_t i) {
    for (std::size_t position = 0; position < op(i).inputs.size(); ++position) {
      const TensorId x = op(i).inputs[position];
      const std::size_t before = reshape_before(x);
      if (before == kNone) continue;
      const TensorId source = op(before).inputs[0];
      const bool same_shape = shape(source) == shape(x);
      if (same_shape || std::holds_alternative<Reshape>(op(i).attributes)) read_instead(i, position, source);
    }
  }

  /// A Gemm flattens its input itself, and so does its gradient.
  void skip_flatten(std::size_t i) {
    const auto* gradient = std::get_if<GemmWeightGradient>(&op(i).attributes);
    const bool flattens = gradient != nullptr ? !gradient->stacked : std::holds_alternative<Gemm>(op(i).attributes);
    if (!flattens || (gradient == nullptr && !is_product(i))) return;
    while (true) {
      const TensorId x = op(i).inputs[0];
      const std::size_t before = reshape_before(x);
      if (before == kNone) return;
      const TensorId source = op(before).inputs[0];
      const Shape& from = shape(source);
      if (from.empty() || from[0] != shape(x)[0]) return;
      read_instead(i, 0, source);
    }
  }

  /// Behind a product of rows stands the Reshape to the shape that they have in the file, and behind that what could be
  /// part of the product: bias, activation, residual. This puts it between the two.
  ///
  ///     Gemm [6, 8] -> Reshape [2, 3, 8] -> Add w[8]      Gemm [6, 8] -> Add w[8] -> Reshape [2, 3, 8]
  bool put_before_reshape(std::size_t i) {
    if (!std::holds_alternative<Gemm>(op(i).attributes) || !is_product(i)) return false;
    const std::size_t reshape = only_reader(i);
    if (reshape == kNone || !std::holds_alternative<Reshape>(op(reshape).attributes)) return false;
    const std::size_t next = only_reader(reshape);
    if (next == kNone || !op(next).post_ops.empty()) return false;
    const TensorId y = op(i).outputs[0];
    const TensorId shaped = op(reshape).outputs[0];
    const TensorId result = op(next).outputs[0];
    // A comparison gives whole numbers.
    if (shape(result) != shape(shaped) || model().tensor(result).element != ElementType::kFloat32) return false;
    if (std::holds_alternative<Binary>(op(next).attributes)) {
      const std::size_t position = op(next).inputs[0] == shaped ? 1 : 0;
      const auto operand = operand_of_rows(op(next), op(next).inputs[position], shaped, y);
      if (!operand) return false;
      const TensorId before = op(next).inputs[position];
      read_instead(next, position, *operand);
      if (reshape_before(before) != kNone) drop_if_unread(before);
      read_instead(next, 1 - position, y);
    } else if (std::holds_alternative<Activation>(op(next).attributes)) {
      read_instead(next, 0, y);
    } else {
      return false;
    }
    const TensorId rows = new_tensor(model().tensor(result).name + ".rows", shape(y), TensorRole::kActivation);
    write(next, rows);
    read_instead(reshape, 0, rows);
    write(reshape, result);
    return true;
  }

  /// `other`, an operand beside what has the shape of `shaped`, as one beside `rows`, the same elements as a matrix:
  /// nothing where it is neither one value, nor one for each column, nor one for each element.
  std::optional<TensorId> operand_of_rows(const Op& binary, TensorId other, TensorId shaped, TensorId rows) {
    const Shape of_rows = shape(rows);
    const Shape of_shaped = shape(shaped);
    const Shape of_other = shape(other);
    if (is_constant(other)) {
      const std::int64_t count = element_count(of_other);
      const bool by_column = !of_other.empty() && of_other.back() == count && of_shaped.back() == of_rows.back();
      if (count != 1 && (!by_column || count != of_rows.back())) return std::nullopt;
      if (of_other.size() <= 1) return other;
      return new_view_of_weight(model().tensor(other).name + ".row", other, {count});
    }
    if (std::get<Binary>(binary.attributes) != Binary{BinaryKind::kAdd} || of_other != of_shaped) return std::nullopt;
    if (const std::size_t before = reshape_before(other); before != kNone) {
      const TensorId source = op(before).inputs[0];
      if (shape(source) == of_rows) return source;
    }
    constexpr std::size_t kNoImage = 3;  // images may lie in memory so that reading them as rows would move them
    if (of_shaped.size() > kNoImage) return std::nullopt;
    return new_reshape(other, model().tensor(other).name + ".rows", of_rows);
  }

  bool merge_affine(std::size_t i) {
    if (!is_product(i) || !op(i).post_ops.empty()) return false;
    const std::size_t last = channels_second(i);
    const std::size_t next = only_reader(last);
    if (next == kNone) return false;
    const bool has_bias = op(i).inputs.size() > 2;
    const TensorId w = op(i).inputs[1];
    if (!is_constant(w) || (has_bias && !is_constant(op(i).inputs[2]))) return false;
    const auto affine = channel_affine_of(loaded(), op(next), op(last).outputs[0]);
    if (!affine) return false;
    const std::vector<float>* bias = has_bias ? loaded().weights.of(op(i).inputs[2]).get() : nullptr;
    WeightAndBias folded = fold_affine(*loaded().weights.of(w), bias, *affine);
    // Ops that share a weight go on doing so where it stays as it is.
    const bool is_bias = std::all_of(affine->scale.begin(), affine->scale.end(), [](double s) { return s == 1; });
    if (!is_bias) replace_weight(i, 1, std::move(folded.weight));
    if (!has_bias) add_bias(i, shape(w)[0]);
    replace_weight(i, 2, std::move(folded.bias));
    take_place_of(next, last);
    return true;
  }

  /// The op whose result has the channels of product `i` on its second axis: the product itself, or the Transpose that
  /// makes an image of the product's rows.
  [[nodiscard]] std::size_t channels_second(std::size_t i) const {
    const std::size_t reshape = only_reader(i);
    if (reshape == kNone || !std::holds_alternative<Gemm>(op(i).attributes)) return i;
    if (!std::holds_alternative<Reshape>(op(reshape).attributes)) return i;
    const std::size_t last = only_reader(reshape);
    const auto* const transpose = last != kNone ? std::get_if<Transpose>(&op(last).attributes) : nullptr;
    if (transpose == nullptr || !op(last).post_ops.empty()) return i;
    const Shape& rows = model().tensor(op(i).outputs[0]).shape;
    const Shape& shaped = model().tensor(op(reshape).outputs[0]).shape;
    const bool channels_move = shaped.size() > 1 && shaped.back() == rows.back() &&
                               transpose->permutation[1] == static_cast<std::int64_t>(shaped.size()) - 1;
    return channels_move ? last : i;
  }

  /// Where op `i` adds two branches that read the same: the convolution that now computes both.
  std::optional<std::size_t> merge_branches(std::size_t i) {
    const auto* binary = std::get_if<Binary>(&op(i).attributes);
    if (binary == nullptr || *binary != Binary{BinaryKind::kAdd} || !op(i).post_ops.empty()) return std::nullopt;
    const std::size_t first = writer(op(i).inputs[0]);
    const std::size_t second = writer(op(i).inputs[1]);
    if (first == kNone || second == kNone) return std::nullopt;
    for (const auto& [wide, other] : {std::pair(first, second), std::pair(second, first)}) {
      if (only_reader(wide) != i || only_reader(other) != i) continue;
      auto sum = sum_of_branches(wide, other);
      if (!sum) continue;
      replace_weight(wide, 1, std::move(sum->weight));
      if (op(wide).inputs.size() < 3) add_bias(wide, model().tensor(op(wide).inputs[1]).shape[0]);
      replace_weight(wide, 2, std::move(sum->bias));
      take_place_of(i, wide);
      drop(other);
      return wide;
    }
    return std::nullopt;
  }

  /// Of convolution `wide` and what adds to its result.
  [[nodiscard]] std::optional<WeightAndBias> sum_of_branches(std::size_t wide, std::size_t other) const {
    const auto convolution = constant_convolution(wide);
    const TensorId x = op(wide).inputs[0];
    if (!convolution || std::ranges::count(op(other).inputs, x) != 1 || !op(other).post_ops.empty())
      return std::nullopt;
    if (shape(op(wide).outputs[0]) != shape(op(other).outputs[0])) return std::nullopt;  // Add would repeat one of them
    if (const auto narrow = constant_convolution(other)) {
      return op(other).inputs[0] == x ? with_branch(*convolution, *narrow) : std::nullopt;
    }
    const auto affine = channel_affine_of(loaded(), op(other), x);
    return affine ? with_affine_branch(*convolution, *affine) : std::nullopt;
  }

  [[nodiscard]] std::optional<ConvolutionWeights> constant_convolution(std::size_t i) const {
    const auto* convolution = std::get_if<Convolution>(&op(i).attributes);
    if (convolution == nullptr || !op(i).post_ops.empty() || !is_constant(op(i).inputs[1])) return std::nullopt;
    const bool has_bias = op(i).inputs.size() > 2;
    if (has_bias && !is_constant(op(i).inputs[2])) return std::nullopt;
    const TensorId w = op(i).inputs[1];
    return ConvolutionWeights{*convolution, shape(w), *loaded().weights.of(w),
                              has_bias ? loaded().weights.of(op(i).inputs[2]).get() : nullptr};
  }

  void add_bias(std::size_t i, std::int64_t channels) {
    const TensorId bias = new_tensor(op(i).name + ".bias", {channels}, TensorRole::kWeight);
    read_also(i, bias);
  }

  /// Whether op `i` computes floats element by element, so that functions of them can follow in the same pass.
  [[nodiscard]] bool begins_chain(std::size_t i) const {
    const auto* const binary = std::get_if<Binary>(&op(i).attributes);
    if (binary != nullptr) return binary->element == ElementType::kFloat32 && !is_predicate(binary->kind);
    return std::holds_alternative<Activation>(op(i).attributes);
  }

  /// Op `next` computes a function of what op `i` begins.
  bool merge_function(std::size_t i, std::size_t next) {
    const auto* const activation = std::get_if<Activation>(&op(next).attributes);
    if (activation == nullptr || strict_nan_ || op(i).post_ops.size() >= kLongestChain) return false;
    op(i).post_ops.emplace_back(*activation);
    take_place_of(next, i);
    return true;
  }

  bool merge_post_op(std::size_t i) {
    const auto* binary = std::get_if<Binary>(&op(i).attributes);
    const bool is_add = binary != nullptr && *binary == Binary{BinaryKind::kAdd};
    const bool normalizes = std::holds_alternative<BatchNormalization>(op(i).attributes) ||
                            std::holds_alternative<NormalizeByStatistics>(op(i).attributes);
    const bool is_chain = joins_chains_ && begins_chain(i);
    if ((!is_product(i) && !is_add && !normalizes && !is_chain) || op(i).post_ops.size() >= kMostPostOps) return false;
    const std::size_t next = only_reader(i);
    if (next == kNone || !op(next).post_ops.empty()) return false;
    if (is_chain) return merge_function(i, next);
    if (const auto* activation = std::get_if<Activation>(&op(next).attributes);
        activation != nullptr && follows_product(activation->kind)) {
      // With a normalisation libraries take a rectifier, and nothing else.
      if (normalizes && activation->kind != ActivationKind::kRelu) return false;
      std::vector<PostOp> chain = op(i).post_ops;
      if (!chain.empty() && sets_wider_bounds(chain.back(), *activation)) chain.pop_back();
      if (strict_nan_ || !is_told_apart(*activation, chain)) return false;
      chain.emplace_back(*activation);
      op(i).post_ops = std::move(chain);
      take_place_of(next, i);
      return true;
    }
    return is_product(i) && merge_add(i, next);
  }

  /// An addition of two equal shapes. Nothing but `next` reads what op `i` writes, so that the other
  /// operand cannot depend on it and can be computed first.
  bool merge_add(std::size_t i, std::size_t next) {
    const auto* binary = std::get_if<Binary>(&op(next).attributes);
    if (binary == nullptr || *binary != Binary{BinaryKind::kAdd}) return false;
    const TensorId y = op(i).outputs[0];
    const TensorId other = op(next).inputs[op(next).inputs[0] == y ? 1 : 0];
    const Tensor& operand = model().tensor(other);
    if (operand.role == TensorRole::kWeight || operand.shape != shape(y)) return false;
    // Where both operands could take the addition, the later one does: the order can stay.
    const std::size_t before = writer(other);
    if (before != kNone && before > i && is_product(before) && only_reader(before) == next &&
        op(before).post_ops.size() < kMostPostOps)
      return false;
    op(i).post_ops.emplace_back(AddOperand{op(i).inputs.size()});
    read_also(i, other);
    take_place_of(next, i);
    return true;
  }

  bool strict_nan_;
  bool joins_chains_ = false;
};

}  // namespace

LoadedModel simplify(LoadedModel loaded, bool strict_nan) {
  loaded = dequantize_early(merge_same_ops(std::move(loaded)));
  recognize_functions(loaded);
  loaded = merge_same_ops(std::move(loaded));
  loaded = Simplifier(std::move(loaded), strict_nan).run(true);
  if (strict_nan) return loaded;
  drop_tiny_weights(loaded);       // times infinity they are infinite, zeros NaN
  mark_eight_bits(loaded);         // an 8-bit number is never NaN
  mark_quantized_weights(loaded);  // sums before the step may be infinite where the product is not
  return loaded;
}

LoadedModel simplify_training(LoadedModel loaded, bool strict_nan) {
  return Simplifier(std::move(loaded), strict_nan).run(false);
}

}  // namespace cohort
