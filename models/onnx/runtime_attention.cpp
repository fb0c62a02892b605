#include <algorithm>
#include <limits>

#include "models/onnx/number_types.hpp"
#include "models/onnx/own_ops.hpp"

// Attention as ONNX Runtime writes it, as that of ONNX.

namespace cohort::onnx {

namespace {

/// What a mask is of.
struct Extents {
  std::int64_t samples = 0, keys = 0;
};

/// Which keys queries see, [N, 1, 1 or S, L]: input `mask` says so by a number for each sample, behind whose count keys
/// are filled up, or by 1 and 0 for each key.
Result<std::string> visible(OwnOps& ops, std::size_t mask, const Extents& of) {
  COHORT_TRY(const Shape shape, ops.import().shape(mask));
  const std::string given = ops.input(mask);
  const auto truth = [&] { return ops.add("Cast", {given}, {{"to", std::int64_t{Type::kBool}}}); };
  if (shape == Shape{of.samples}) {
    COHORT_TRY(const std::string positions, ops.counting(of.keys));
    const std::string counts = ops.add("Unsqueeze", {given, ops.integers({1, 2, 3})});
    return ops.add("Less", {positions, counts});
  }
  if (shape == Shape{of.samples, of.keys}) return ops.add("Unsqueeze", {truth(), ops.integers({1, 2})});
  if (shape.size() == 3 && shape[0] == of.samples && shape[2] == of.keys)
    return ops.add("Unsqueeze", {truth(), ops.integers({1})});
  return fail(ErrorCode::kInvalidInput, "a mask of {} for {} samples of {} keys is not supported", to_string(shape),
              of.samples, of.keys);
}

/// What attention adds to its scores or takes for its mask: of input `mask`, and of `bias`, each of which may be left
/// out.
Result<std::string> mask_of(OwnOps& ops, std::size_t mask, const std::string& bias, const Extents& of) {
  if (!ops.import().has_input(mask)) return bias;
  COHORT_TRY(const std::string seen, visible(ops, mask, of));
  if (bias.empty()) return seen;
  const std::string hidden = ops.number(-std::numeric_limits<float>::infinity());
  return ops.add("Where", {seen, bias, hidden});
}

/// Attributes of ONNX's Attention.
Result<OwnOps::Attributes> attention_attributes(OwnOps& ops) {
  NodeImport& import = ops.import();
  COHORT_TRY(const std::int64_t heads, import.integer("num_heads", 0));
  COHORT_TRY(const std::int64_t causal, import.integer("unidirectional", 0));
  COHORT_TRY(const float scale, import.number("scale", 0));
  COHORT_TRY(const std::int64_t rotary, import.integer("do_rotary", 0));
  COHORT_TRY(const float masked, import.number("mask_filter_value", -10000));
  import.ignore("past_present_share_buffer");
  // Such as still show something are what others add.
  if (masked > -1000)
    return fail(ErrorCode::kInvalidInput, "attribute mask_filter_value is {}, not far below 0", masked);
  if (rotary != 0) return fail(ErrorCode::kInvalidInput, "attribute do_rotary is supported only as 0");
  OwnOps::Attributes attributes = {{"q_num_heads", heads}, {"kv_num_heads", heads}, {"is_causal", causal}};
  if (scale != 0) attributes["scale"] = scale;
  return attributes;
}

Result<void> refuse(OwnOps& ops, std::size_t input, std::string_view what) {
  if (!ops.import().has_input(input)) return {};
  return fail(ErrorCode::kInvalidInput, "input {} ({}) is not supported", input, what);
}

/// Attention of `projected`, query, key and value of each sample and position side by side, as mask_of() has the rest.
Result<void> attend(OwnOps& ops, const std::string& projected, std::size_t mask, const std::string& bias) {
  NodeImport& import = ops.import();
  COHORT_TRY(const Shape x, import.shape(0));
  COHORT_TRY(const Shape weights, import.shape(1));
  if (x.size() != 3 || weights.size() != 2)
    return fail(ErrorCode::kInvalidInput, "takes [minibatch, length, size] and a matrix of weights, not {} and {}",
                to_string(x), to_string(weights));
  const std::int64_t third = weights[1] / 3;
  COHORT_CHECK(check_shape(weights));
  COHORT_TRY(const std::vector<std::int64_t> sizes, import.integer_list("qkv_hidden_sizes", {third, third, third}));
  const bool fit = std::all_of(sizes.begin(), sizes.end(), [&](std::int64_t s) { return s > 0 && s < weights[1]; });
  if (sizes.size() != 3 || !fit || sizes[0] + sizes[1] + sizes[2] != weights[1])
    return fail(ErrorCode::kInvalidInput, "{} columns of weights do not divide into query, key and value", weights[1]);
  COHORT_TRY(OwnOps::Attributes attributes, attention_attributes(ops));
  std::vector<std::string> inputs = ops.split(projected, -1, sizes);
  COHORT_TRY(const std::string masked, mask_of(ops, mask, bias, {x[0], x[1]}));
  inputs.push_back(masked);
  ops.give(ops.add("Attention", std::move(inputs), std::move(attributes)));
  return {};
}

}  // namespace

Result<void> make_attention(OwnOps& ops) {
  COHORT_CHECK(refuse(ops, 4, "past"));
  COHORT_CHECK(refuse(ops, 6, "past_sequence_length"));
  const std::string product = ops.add("MatMul", {ops.input(0), ops.input(1)});
  return attend(ops, ops.plus(product, ops.input(2)), 3, ops.input(5));
}

Result<void> make_quantized_attention(OwnOps& ops) {
  COHORT_CHECK(refuse(ops, 8, "past"));
  const std::string scale = ops.add("Mul", {ops.input(3), ops.input(4)});
  const std::string product = scaled_product(ops, {ops.input(0), ops.input(1), ops.input(6), ops.input(7)}, scale);
  return attend(ops, ops.plus(product, ops.input(2)), 5, "");
}

Result<void> make_multi_head_attention(OwnOps& ops) {
  enum Input : std::size_t { kQuery, kKey, kValue, kBias, kMask, kAttentionBias, kPastKey, kPastValue };
  NodeImport& import = ops.import();
  COHORT_TRY(OwnOps::Attributes attributes, attention_attributes(ops));
  if (!import.has_input(kKey) || !import.has_input(kValue))
    return fail(ErrorCode::kInvalidInput, "query, key and value in one tensor are not supported");
  COHORT_CHECK(refuse(ops, 8, "past_sequence_length"));
  COHORT_CHECK(refuse(ops, 9, "cache_indirection"));
  if (import.is_read(3)) return fail(ErrorCode::kInvalidInput, "output 3 (qk) is not supported");
  COHORT_TRY(const Shape query, import.shape(kQuery));
  COHORT_TRY(const Shape key, import.shape(kKey));
  COHORT_TRY(const Shape value, import.shape(kValue));
  if (query.size() != 3 || (key.size() != 3 && key.size() != 4) || value.size() != key.size())
    return fail(ErrorCode::kInvalidInput, "query {}, key {} and value {} are not supported", to_string(query),
                to_string(key), to_string(value));
  std::vector<std::string> inputs = {ops.input(kQuery), ops.input(kKey), ops.input(kValue)};
  if (import.has_input(kBias)) {
    if (key.size() != 3) return fail(ErrorCode::kInvalidInput, "a bias of keys {} is not supported", to_string(key));
    const std::vector<std::string> biases = ops.split(ops.input(kBias), 0, {query[2], key[2], value[2]});
    for (std::size_t i = 0; i < inputs.size(); ++i) inputs[i] = ops.plus(inputs[i], biases[i]);
  }
  std::int64_t keys = key[key.size() - 2];
  if (import.has_input(kPastKey)) {
    COHORT_TRY(const Shape past, import.shape(kPastKey));
    COHORT_CHECK(check_shape(past, 0));
    COHORT_CHECK(check_shape(key, 0));
    if (past.size() == 4 && element_count(past) > 0) keys += past[2];
  }
  COHORT_TRY(const std::string mask, mask_of(ops, kMask, ops.input(kAttentionBias), {query[0], keys}));
  inputs.insert(inputs.end(), {mask, ops.input(kPastKey), ops.input(kPastValue)});
  const std::vector<std::string> outputs = ops.add_several("Attention", 3, std::move(inputs), std::move(attributes));
  for (std::size_t i = 0; i < outputs.size(); ++i) ops.give(outputs[i], i);
  return {};
}

Result<void> make_rotary_embedding(OwnOps& ops) {
  NodeImport& import = ops.import();
  COHORT_TRY(const Shape x, import.shape(0));
  COHORT_TRY(const Shape positions, import.shape(1));
  COHORT_TRY(const Shape cosines, import.shape(2));
  COHORT_TRY(std::int64_t heads, import.integer("num_heads", 0));
  COHORT_TRY(const std::int64_t rotated, import.integer("rotary_embedding_dim", 0));
  COHORT_TRY(const std::int64_t interleaved, import.integer("interleaved", 0));
  COHORT_TRY(const float scale, import.number("scale", 1));
  COHORT_TRY(const std::int64_t packed, import.integer("is_packed_batching", 0));
  if (scale != 1 || packed != 0)
    return fail(ErrorCode::kInvalidInput, "attributes scale and is_packed_batching are supported only as 1 and 0");
  if ((x.size() != 3 && x.size() != 4) || cosines.size() != 2 || cosines[1] == 0)
    return fail(ErrorCode::kInvalidInput, "takes [minibatch, length, size], not {}", to_string(x));
  COHORT_CHECK(check_shape(cosines));
  if (heads == 0 && rotated > 0)
    return fail(ErrorCode::kInvalidInput, "attribute num_heads must be given beside rotary_embedding_dim");
  if (heads == 0 && x.size() == 3) heads = x[2] / (2 * cosines[1]);
  if (positions.size() < 2 && positions != Shape{} && positions != Shape{1})
    return fail(ErrorCode::kInvalidInput, "positions must be one, or [minibatch, length], not {}",
                to_string(positions));
  std::string at = ops.input(1);
  if (positions.size() < 2) {  // the first one's, those of the others follow
    const std::int64_t length = x[x.size() - 2];
    COHORT_TRY(const std::string steps, ops.counting(length));
    at = ops.add("Add", {at, steps});
    at = ops.add("Expand", {at, ops.integers({x[0], length})});
  }
  ops.give(ops.add("RotaryEmbedding", {ops.input(0), ops.input(2), ops.input(3), at},
                   {{"num_heads", heads}, {"rotary_embedding_dim", rotated}, {"interleaved", interleaved}}));
  return {};
}

}  // namespace cohort::onnx
