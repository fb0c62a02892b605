#include <algorithm>
#include <cmath>
#include <limits>

#include "models/onnx/converters.hpp"
#include "models/onnx/number_types.hpp"

// Attention and what belongs to it, as the matrix products and elementwise ops they are made of.

namespace cohort::onnx {

namespace {

constexpr float kMasked = -std::numeric_limits<float>::infinity();
constexpr auto kIndexElement = ElementType::kInt32;

/// Vaswani et al., arXiv:1706.03762, with the masks, shared heads and cache of ONNX's Attention. Shapes
/// here: q [N, H, S, D]; k, v [N, K, L, D or E], each of whose K heads serves H/K of q's in turn.
class AttentionImport {
 public:
  explicit AttentionImport(NodeImport& node) : node_(node) {}

  Result<void> run() {
    COHORT_CHECK(read_attributes());
    COHORT_CHECK(read_inputs());
    COHORT_TRY(TensorId scores, make_scores());
    COHORT_CHECK(make_bias());
    if (bias_) {
      COHORT_TRY(scores, binary(node_, "masked", BinaryKind::kAdd, scores, *bias_));
    }
    if (mode_ == 2) keep(scores, 3);
    COHORT_TRY(TensorId shares, node_.emit("shares", Softmax{3, false}, {scores}));
    if (may_mask_rows_) {
      COHORT_TRY(shares, without_masked_rows(shares));
    }
    if (mode_ == 3) keep(shares, 3);
    return finish(shares);
  }

 private:
  Result<void> read_attributes() {
    COHORT_TRY(const std::int64_t causal, node_.integer("is_causal", 0));
    is_causal_ = causal != 0;
    COHORT_TRY(q_heads_, node_.integer("q_num_heads", 0));
    COHORT_TRY(kv_heads_, node_.integer("kv_num_heads", 0));
    COHORT_TRY(scale_, node_.number("scale", 0));
    COHORT_TRY(softcap_, node_.number("softcap", 0));
    COHORT_TRY(mode_, node_.integer("qk_matmul_output_mode", 0));
    COHORT_TRY(left_window_, node_.integer("left_window_size", -1));
    COHORT_TRY(right_window_, node_.integer("right_window_size", -1));
    node_.ignore("softmax_precision");
    return {};
  }

  /// Input `i` as [N, heads, length, size].
  Result<TensorId> heads(std::size_t i, std::int64_t count) {
    COHORT_TRY(const Shape shape, node_.shape(i));
    COHORT_TRY(const TensorId x, node_.tensor(i));
    if (shape.size() == 4) return x;
    if (shape.size() != 3)
      return fail(ErrorCode::kInvalidInput, "query, key and value must have 3 or 4 dimensions, not {}",
                  to_string(shape));
    if (count < 1 || shape[2] % count != 0)
      return fail(ErrorCode::kInvalidInput, "{} does not divide into {} heads", to_string(shape), count);
    COHORT_TRY(const TensorId split,
               node_.emit_reshape(fmt::format("split{}", i), x, {shape[0], shape[1], count, shape[2] / count}));
    return node_.emit(fmt::format("heads{}", i), Transpose{{0, 2, 1, 3}}, {split});
  }

  /// `x` behind what input `past` holds, which is also output `present`.
  Result<TensorId> cached(TensorId x, std::size_t past, std::size_t present) {
    if (!node_.has_input(past)) {
      keep(x, present);
      return x;
    }
    COHORT_TRY(const TensorId before, node_.tensor(past));
    past_ = node_.shape_of(before).size() == 4 ? node_.shape_of(before)[2] : 0;
    TensorId all = x;
    if (element_count(node_.shape_of(before)) > 0) {
      COHORT_TRY(all, node_.emit(fmt::format("present{}", present), Concat{2}, {before, x}));
    }
    keep(all, present);
    return all;
  }

  Result<void> read_inputs() {
    COHORT_TRY(const Shape q_shape, node_.shape(0));
    is_flat_ = q_shape.size() == 3;
    COHORT_TRY(q_, heads(0, q_heads_));
    COHORT_TRY(k_, heads(1, kv_heads_));
    COHORT_TRY(v_, heads(2, kv_heads_));
    COHORT_TRY(k_, cached(k_, 4, 1));
    COHORT_TRY(v_, cached(v_, 5, 2));
    const Shape& q = node_.shape_of(q_);
    const Shape& k = node_.shape_of(k_);
    const Shape& v = node_.shape_of(v_);
    if (q[0] != k[0] || q[0] != v[0] || k[1] != v[1] || k[2] != v[2] || q[3] != k[3] || k[1] < 1 || q[1] % k[1] != 0)
      return fail(ErrorCode::kInvalidInput, "query {}, key {} and value {} do not fit", to_string(q), to_string(k),
                  to_string(v));
    samples_ = q[0];
    queries_ = q[2];
    keys_ = k[2];
    if (scale_ == 0) scale_ = 1 / std::sqrt(static_cast<float>(q[3]));
    return {};
  }

  /// q and what is computed of it, as many rows a head of k as its heads of q have together, or back.
  [[nodiscard]] Shape grouped(std::int64_t columns) const {
    const std::int64_t shared = node_.shape_of(k_)[1];
    return {samples_, shared, node_.shape_of(q_)[1] / shared * queries_, columns};
  }
  [[nodiscard]] bool is_grouped() const { return node_.shape_of(q_)[1] != node_.shape_of(k_)[1]; }

  Result<TensorId> make_scores() {
    TensorId q = q_;
    if (is_grouped()) {
      COHORT_TRY(q, node_.emit_reshape("grouped", q, grouped(node_.shape_of(q_)[3])));
    }
    COHORT_TRY(TensorId scores, node_.emit("products", MatMul{false, true}, {q, k_}));
    if (is_grouped()) {
      COHORT_TRY(scores, node_.emit_reshape("ungrouped", scores, {samples_, node_.shape_of(q_)[1], queries_, keys_}));
    }
    COHORT_TRY(scores, binary(node_, "scores", BinaryKind::kMul, scores, node_.scalar("scale", scale_)));
    if (mode_ == 0) keep(scores, 3);
    if (softcap_ > 0) {
      const TensorId cap = node_.scalar("cap", softcap_);
      COHORT_TRY(scores, binary(node_, "ratio", BinaryKind::kDiv, scores, cap));
      COHORT_TRY(scores, node_.emit("bent", Activation{ActivationKind::kTanh, 0, 0}, {scores}));
      COHORT_TRY(scores, binary(node_, "capped", BinaryKind::kMul, scores, cap));
    }
    if (mode_ == 1) keep(scores, 3);
    return scores;
  }

  Result<void> add_bias(TensorId part) {
    if (bias_) {
      COHORT_TRY(part, binary(node_, "bias", BinaryKind::kAdd, *bias_, part));
    }
    bias_ = part;
    return {};
  }

  /// 0 where `allowed`, else minus infinity.
  Result<TensorId> bias_of(TensorId allowed) {
    return node_.emit("allowed", Select{}, {allowed, node_.scalar("zero", 0), node_.scalar("masked", kMasked)});
  }

  Result<void> make_bias() {
    const bool has_length = node_.has_input(6);
    if (is_causal_ || left_window_ >= 0 || right_window_ >= 0) {
      if (has_length) {
        COHORT_CHECK(mask_by_length());
      } else {
        COHORT_CHECK(mask_by_position());
      }
    }
    if (node_.has_input(3)) COHORT_CHECK(mask_by_input());
    if (!has_length) return {};
    may_mask_rows_ = true;
    COHORT_TRY(const TensorId positions, key_positions());
    COHORT_TRY(const TensorId length, lengths());
    COHORT_TRY(const TensorId used, binary(node_, "used", BinaryKind::kLess, positions, length, kIndexElement));
    COHORT_TRY(const TensorId part, bias_of(used));
    return add_bias(part);
  }

  /// Whether a query at `query` behind the first key's position sees the key at `key`.
  [[nodiscard]] bool sees(std::int64_t query, std::int64_t key) const {
    return (!is_causal_ || key <= query) && (left_window_ < 0 || query - key <= left_window_) &&
           (right_window_ < 0 || key - query <= right_window_);
  }

  Result<void> mask_by_position() {
    COHORT_CHECK(node_.claim(element_count({queries_, keys_})));
    std::vector<float> values;
    for (std::int64_t query = 0; query < queries_; ++query) {
      bool sees_any = false;
      for (std::int64_t key = 0; key < keys_; ++key) {
        const bool seen = sees(query + past_, key);
        sees_any = sees_any || seen;
        values.push_back(seen ? 0 : kMasked);
      }
      may_mask_rows_ = may_mask_rows_ || !sees_any;
    }
    COHORT_TRY(const TensorId part, node_.made_weight("visible", {queries_, keys_}, std::move(values)));
    return add_bias(part);
  }

  /// 0, 1, ... as [L].
  Result<TensorId> key_positions() {
    COHORT_CHECK(node_.claim(keys_));
    std::vector<float> values(static_cast<std::size_t>(keys_));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
    return node_.made_weight("positions", {keys_}, std::move(values), kIndexElement);
  }
  /// How many keys each sample has, as [N, 1, 1, 1].
  Result<TensorId> lengths() {
    COHORT_TRY(const TensorId given, node_.tensor(6));
    return node_.emit_reshape("lengths", given, {samples_, 1, 1, 1});
  }

  /// The last query stands at the last key that its sample has.
  Result<void> mask_by_length() {
    COHORT_CHECK(node_.claim(element_count({queries_, keys_})));
    std::vector<float> ahead;  // of the first query's position, by query and key
    for (std::int64_t query = 0; query < queries_; ++query) {
      for (std::int64_t key = 0; key < keys_; ++key) ahead.push_back(static_cast<float>(key - query + queries_));
    }
    COHORT_TRY(const TensorId distance, node_.made_weight("ahead", {queries_, keys_}, std::move(ahead), kIndexElement));
    COHORT_TRY(const TensorId length, lengths());
    COHORT_TRY(const TensorId past, binary(node_, "past", BinaryKind::kSub, distance, length, kIndexElement));
    const auto limit = [&](std::string_view suffix, BinaryKind kind, std::int64_t value) -> Result<void> {
      COHORT_TRY(const TensorId allowed,
                 binary(node_, suffix, kind, past,
                        node_.scalar(fmt::format("{}_limit", suffix), static_cast<float>(value), kIndexElement),
                        kIndexElement));
      COHORT_TRY(const TensorId part, bias_of(allowed));
      return add_bias(part);
    };
    if (is_causal_) COHORT_CHECK(limit("causal", BinaryKind::kLessOrEqual, 0));
    if (left_window_ >= 0) COHORT_CHECK(limit("left", BinaryKind::kGreaterOrEqual, -left_window_));
    if (right_window_ >= 0) COHORT_CHECK(limit("right", BinaryKind::kLessOrEqual, right_window_));
    return {};
  }

  Result<void> mask_by_input() {
    may_mask_rows_ = true;
    COHORT_TRY(TensorId part, node_.tensor(3));
    if (node_.element_of(part) != ElementType::kFloat32) {
      // Whole numbers are added. What is computed has no type here: it is taken for truth values, of which masks are
      // made.
      const std::int64_t type = node_.declared_type(3);
      const bool is_number = type != 0 && type != Type::kBool;
      if (is_number) {
        COHORT_TRY(part, node_.emit("added", Cast{ElementType::kInt32, ElementType::kFloat32}, {part}));
      } else {
        COHORT_TRY(part, bias_of(part));
      }
    }
    const Shape shape = node_.shape_of(part);
    if (!shape.empty() && shape.back() > 1 && shape.back() < keys_) {  // the keys behind are masked
      Pad pad{PadMode::kConstant, Shape(shape.size(), 0), Shape(shape.size(), 0), kMasked};
      pad.end.back() = keys_ - shape.back();
      COHORT_TRY(part, node_.emit("padded", std::move(pad), {part}));
    }
    return add_bias(part);
  }

  /// Zeros where a query sees no key at all.
  Result<TensorId> without_masked_rows(TensorId shares) {
    const auto last = static_cast<std::int64_t>(node_.shape_of(*bias_).size()) - 1;
    COHORT_TRY(const TensorId best, node_.emit("best", Reduce{ReduceKind::kMax, {last}, true}, {*bias_}));
    COHORT_TRY(const TensorId nothing,
               binary(node_, "blind", BinaryKind::kEqual, best, node_.scalar("never", kMasked)));
    return node_.emit("seen", Select{}, {nothing, node_.scalar("none", 0), shares});
  }

  Result<void> finish(TensorId shares) {
    const std::int64_t heads = node_.shape_of(q_)[1];
    if (is_grouped()) {
      COHORT_TRY(shares, node_.emit_reshape("grouped_shares", shares, grouped(keys_)));
    }
    const bool is_last = !is_grouped() && !is_flat_;
    COHORT_TRY(TensorId y, node_.emit(is_last ? "" : "sums", MatMul{}, {shares, v_}));
    const std::int64_t size = node_.shape_of(y)[3];
    if (is_grouped()) {
      COHORT_TRY(y, node_.emit_reshape(is_flat_ ? "ungrouped_sums" : "", y, {samples_, heads, queries_, size}));
    }
    if (is_flat_) {
      COHORT_TRY(y, node_.emit("joined", Transpose{{0, 2, 1, 3}}, {y}));
      COHORT_TRY(y, node_.emit_reshape("", y, {samples_, queries_, heads * size}));
    }
    node_.set_result(y);
    return {};
  }

  /// `x` is also output `output`.
  void keep(TensorId x, std::size_t output) {
    if (node_.is_read(output)) node_.set_alias(TensorValue{x, {}}, output);
  }

  NodeImport& node_;
  bool is_causal_ = false;
  bool is_flat_ = false;  ///< query, key and value have all heads side by side: [N, length, H*size]
  std::int64_t q_heads_ = 0, kv_heads_ = 0, mode_ = 0, left_window_ = -1, right_window_ = -1;
  float scale_ = 0, softcap_ = 0;
  TensorId q_{}, k_{}, v_{};
  std::int64_t samples_ = 0, queries_ = 0, keys_ = 0, past_ = 0;
  std::optional<TensorId> bias_;
  bool may_mask_rows_ = false;  ///< some query may see no key
};

/// Elements [begin, begin + count) of the last axis, in steps.
Result<TensorId> features(NodeImport& node, std::string_view suffix, TensorId x, std::int64_t begin, std::int64_t count,
                          std::int64_t step = 1) {
  const Shape& shape = node.shape_of(x);
  TensorSlice slice{Shape(shape.size(), 0), Shape(shape.size(), 1), shape};
  slice.start.back() = begin;
  slice.count.back() = count;
  slice.step.back() = step;
  return node.emit(suffix, std::move(slice), {x});
}

/// Cosines or sines, [N, S, 1, R/2]: of input `i`, by position where there are positions.
Result<TensorId> angles(NodeImport& node, std::size_t i, std::int64_t samples, std::int64_t length, std::int64_t half) {
  COHORT_TRY(TensorId cache, node.tensor(i));
  if (node.has_input(3)) {
    COHORT_TRY(const TensorId positions, node.tensor(3));
    COHORT_TRY(cache, node.emit(fmt::format("angles{}", i), Gather{0}, {cache, positions}));
  }
  return node.emit_reshape(fmt::format("by_head{}", i), cache, {samples, length, 1, half});
}

/// Pairs (a, b) turned by their angle, as the two of them.
Result<std::pair<TensorId, TensorId>> turned(NodeImport& node, TensorId a, TensorId b, TensorId cosine, TensorId sine) {
  COHORT_TRY(const TensorId ac, binary(node, "ac", BinaryKind::kMul, a, cosine));
  COHORT_TRY(const TensorId bs, binary(node, "bs", BinaryKind::kMul, b, sine));
  COHORT_TRY(const TensorId as, binary(node, "as", BinaryKind::kMul, a, sine));
  COHORT_TRY(const TensorId bc, binary(node, "bc", BinaryKind::kMul, b, cosine));
  COHORT_TRY(const TensorId first, binary(node, "first", BinaryKind::kSub, ac, bs));
  COHORT_TRY(const TensorId second, binary(node, "second", BinaryKind::kAdd, as, bc));
  return std::pair(first, second);
}

/// x [N, S, H, D] with its first `rotated` features turned in pairs.
Result<TensorId> rotate(NodeImport& node, TensorId x, std::int64_t rotated, bool interleaved) {
  const Shape shape = node.shape_of(x);
  const std::int64_t half = rotated / 2;
  COHORT_TRY(const TensorId cosine, angles(node, 1, shape[0], shape[1], half));
  COHORT_TRY(const TensorId sine, angles(node, 2, shape[0], shape[1], half));
  COHORT_TRY(const TensorId a, features(node, "a", x, 0, half, interleaved ? 2 : 1));
  COHORT_TRY(const TensorId b, features(node, "b", x, interleaved ? 1 : half, half, interleaved ? 2 : 1));
  COHORT_TRY(auto pair, turned(node, a, b, cosine, sine));
  if (interleaved) {
    const Shape single{shape[0], shape[1], shape[2], half, 1};
    COHORT_TRY(pair.first, node.emit_reshape("firsts", pair.first, single));
    COHORT_TRY(pair.second, node.emit_reshape("seconds", pair.second, single));
  }
  COHORT_TRY(TensorId y, node.emit("pairs", Concat{interleaved ? 4 : 3}, {pair.first, pair.second}));
  if (interleaved) {
    COHORT_TRY(y, node.emit_reshape("rotated", y, {shape[0], shape[1], shape[2], rotated}));
  }
  if (rotated == shape[3]) return y;
  COHORT_TRY(const TensorId rest, features(node, "rest", x, rotated, shape[3] - rotated));
  return node.emit("all", Concat{3}, {y, rest});
}

}  // namespace

Result<void> convert_attention(NodeImport& node) { return AttentionImport(node).run(); }

/// Su et al., arXiv:2104.09864.
Result<void> convert_rotary_embedding(NodeImport& node) {
  COHORT_TRY(const Shape shape, node.shape(0));
  COHORT_TRY(const std::int64_t interleaved, node.integer("interleaved", 0));
  COHORT_TRY(const std::int64_t heads, node.integer("num_heads", 0));
  COHORT_TRY(std::int64_t rotated, node.integer("rotary_embedding_dim", 0));
  COHORT_TRY(TensorId x, node.tensor(0));
  if (shape.size() == 4) {  // [N, H, S, D]
    COHORT_TRY(x, node.emit("by_position", Transpose{{0, 2, 1, 3}}, {x}));
  } else {
    if (shape.size() != 3 || heads < 1 || shape[2] % heads != 0)
      return fail(ErrorCode::kInvalidInput, "{} does not divide into {} heads", to_string(shape), heads);
    COHORT_TRY(x, node.emit_reshape("heads", x, {shape[0], shape[1], heads, shape[2] / heads}));
  }
  const std::int64_t size = node.shape_of(x)[3];
  if (rotated == 0) rotated = size;
  if (rotated < 2 || rotated % 2 != 0 || rotated > size)
    return fail(ErrorCode::kInvalidInput, "attribute rotary_embedding_dim must be even and up to {}, not {}", size,
                rotated);
  COHORT_TRY(TensorId y, rotate(node, x, rotated, interleaved != 0));
  if (shape.size() == 4) {
    COHORT_TRY(y, node.emit("", Transpose{{0, 2, 1, 3}}, {y}));
  } else {
    COHORT_TRY(y, node.emit_reshape("", y, shape));
  }
  node.set_result(y);
  return {};
}

}  // namespace cohort::onnx
