#include <iterator>
#include <string_view>

#include "models/onnx/number_types.hpp"
#include "models/onnx/own_ops.hpp"

// Attention of language models as ONNX Runtime writes it: groups of query heads share keys, which a cache holds.

namespace cohort::onnx {

namespace {

struct Lengths {
  std::int64_t samples = 0, queries = 0, past = 0;

  [[nodiscard]] std::int64_t keys() const { return past + queries; }
};

class GroupQueryAttention {
 public:
  explicit GroupQueryAttention(OwnOps& ops) : ops_(ops), import_(ops.import()) {}

  Result<void> make() {
    COHORT_CHECK(refuse_rest());
    COHORT_CHECK(read_shapes());
    COHORT_CHECK(check_total());
    COHORT_TRY(std::vector<std::string> heads, projections());
    COHORT_TRY(const std::int64_t rotates, import_.integer("do_rotary", 0));
    if (rotates != 0) {
      COHORT_TRY(const std::string positions, query_positions());
      COHORT_TRY(heads[0], rotated(heads[0], heads_, positions));
      COHORT_TRY(heads[1], rotated(heads[1], shared_heads_, positions));
    }
    COHORT_TRY(OwnOps::Attributes attributes, attention_attributes());
    COHORT_TRY(const std::int64_t window, import_.integer("local_window_size", -1));
    if (window == 0 || window < -1)
      return fail(ErrorCode::kInvalidInput, "attribute local_window_size must be -1 or above 0, not {}", window);
    std::string mask = ops_.input(kAttentionBias);
    if (lengths_.past > 0) {
      COHORT_TRY(mask, visible(window));
    } else if (window > 0) {
      attributes["left_window_size"] = window - 1;  // a window counts the query's own key
    }
    heads.insert(heads.end(), {mask, ops_.input(kPastKey), ops_.input(kPastValue)});
    std::vector<std::string> outputs = ops_.add_several("Attention", 3, std::move(heads), std::move(attributes));
    for (std::size_t i = 1; i < outputs.size() && lengths_.past > 0; ++i) {
      COHORT_TRY(outputs[i], joined(outputs[i]));
    }
    for (std::size_t i = 0; i < outputs.size(); ++i) ops_.give(outputs[i], i);
    return {};
  }

 private:
  enum Input : std::size_t {
    kQuery,
    kKey,
    kValue,
    kPastKey,
    kPastValue,
    kLastKey,
    kTotalLength,
    kCosines,
    kSines,
    kPositions,
    kAttentionBias,
    kHeadSink
  };

  Result<void> refuse_rest() {
    constexpr std::string_view kInputs[] = {"head_sink",     "k_scale",       "v_scale",
                                            "q_norm_weight", "k_norm_weight", "query_seqlens"};
    for (std::size_t i = 0; i < std::size(kInputs); ++i) {
      if (import_.has_input(kHeadSink + i))
        return fail(ErrorCode::kInvalidInput, "input {} ({}) is not supported", kHeadSink + i, kInputs[i]);
    }
    for (const char* const name : {"smooth_softmax", "sliding_window_cache"}) {
      COHORT_TRY(const std::int64_t value, import_.integer(name, 0));
      if (value > 0) return fail(ErrorCode::kInvalidInput, "attribute {} is supported only as 0", name);
    }
    COHORT_TRY(const std::int64_t causal, import_.integer("causal", 1));
    if (causal != 1) return fail(ErrorCode::kInvalidInput, "attribute causal is supported only as 1");
    if (import_.is_read(3)) return fail(ErrorCode::kInvalidInput, "output 3 (output_qk) is not supported");
    for (const char* const name : {"qk_output", "kv_cache_bit_width", "k_quant_type", "v_quant_type", "qk_norm_epsilon",
                                   "q_norm_epsilon", "k_norm_epsilon"})
      import_.ignore(name);  // of what is refused
    return {};
  }

  Result<void> read_shapes() {
    COHORT_TRY(heads_, import_.integer("num_heads", 0));
    COHORT_TRY(shared_heads_, import_.integer("kv_num_heads", 0));
    COHORT_TRY(const Shape query, import_.shape(kQuery));
    if (query.size() != 3 || heads_ > query[2] || heads_ < 1 || shared_heads_ < 1 || heads_ % shared_heads_ != 0)
      return fail(ErrorCode::kInvalidInput, "query {} does not divide into {} heads that share {}", to_string(query),
                  heads_, shared_heads_);
    lengths_.samples = query[0];
    lengths_.queries = query[1];
    const bool is_packed = !import_.has_input(kKey);
    const std::int64_t heads = is_packed ? heads_ + 2 * shared_heads_ : heads_;
    size_ = query[2] / heads;
    if (size_ < 1 || query[2] % heads != 0)
      return fail(ErrorCode::kInvalidInput, "query {} does not divide into {} heads", to_string(query), heads);
    if (!is_packed) {
      COHORT_TRY(const Shape key, import_.shape(kKey));
      COHORT_TRY(const Shape value, import_.shape(kValue));
      const Shape expected = {query[0], query[1], shared_heads_ * size_};
      if (key != expected || value != expected)
        return fail(ErrorCode::kInvalidInput, "key {} and value {} must be {}", to_string(key), to_string(value),
                    to_string(expected));
    }
    if (import_.has_input(kPastKey)) {
      COHORT_TRY(const Shape past, import_.shape(kPastKey));
      if (past.size() != 4)
        return fail(ErrorCode::kInvalidInput, "past_key must have 4 dimensions, not {}", to_string(past));
      lengths_.past = past[2];
    }
    if (lengths_.past > 0 && import_.has_input(kAttentionBias))
      return fail(ErrorCode::kInvalidInput, "input {} (attention_bias) is supported without past keys only",
                  kAttentionBias);
    return {};
  }

  /// Where past and present keys share a buffer, it is longer than what it holds, and how much of it is filled is known
  /// only when a step runs.
  Result<void> check_total() {
    const Constant* const total = import_.needed_constant(kTotalLength);
    if (total == nullptr || total->integers() == nullptr || total->integers()->size() != 1)
      return fail(ErrorCode::kInvalidInput,
                  "input {} (total_sequence_length) must be one whole number that is known when the file is read; "
                  "--set-input makes an input one",
                  std::size_t{kTotalLength});
    if (total->integers()->front() == lengths_.keys()) return {};
    return fail(
        ErrorCode::kInvalidInput,
        "total_sequence_length is {} where {} past and {} new keys are {}; a cache longer than what it holds is "
        "not supported",
        total->integers()->front(), lengths_.past, lengths_.queries, lengths_.keys());
  }

  /// Query, key and value, with all heads side by side.
  Result<std::vector<std::string>> projections() {
    if (import_.has_input(kKey)) return std::vector{ops_.input(kQuery), ops_.input(kKey), ops_.input(kValue)};
    return ops_.split(ops_.input(kQuery), -1, {heads_ * size_, shared_heads_ * size_, shared_heads_ * size_});
  }

  std::string sum(const std::string& a, const std::string& b) { return ops_.add("Add", {a, b}); }
  std::string less(const std::string& a, const std::string& b) { return ops_.add("Less", {a, b}); }
  std::string whole(std::int64_t value) { return ops_.integers({value}); }
  std::string reshaped(const std::string& x, std::vector<std::int64_t> shape) {
    return ops_.add("Reshape", {x, ops_.integers(std::move(shape))});
  }
  Result<std::string> counting(std::int64_t count, std::vector<std::int64_t> shape) {
    COHORT_TRY(const std::string values, ops_.counting(count));
    return reshaped(values, std::move(shape));
  }

  /// How many past keys each sample has, in that shape: up to as many as the cache holds. The position of its last key,
  /// an input, counts the new ones as well. Without a cache a sample that is shorter is filled up behind, where no
  /// query of its own looks.
  std::string past(std::vector<std::int64_t> shape) {
    const std::string last = ops_.add("Cast", {ops_.input(kLastKey)}, {{"to", std::int64_t{Type::kInt64}}});
    return reshaped(ops_.add("Sub", {last, whole(lengths_.queries - 1)}), std::move(shape));
  }

  /// [N, S], behind those of the past where the file does not say.
  Result<std::string> query_positions() {
    if (import_.has_input(kPositions)) {
      COHORT_TRY(const Shape given, import_.shape(kPositions));
      const Shape expected = {lengths_.samples, lengths_.queries};
      if (given == expected) return ops_.input(kPositions);
      return fail(ErrorCode::kInvalidInput, "input {} (position_ids) {} must be {}", std::size_t{kPositions},
                  to_string(given), to_string(expected));
    }
    COHORT_TRY(const std::string steps, counting(lengths_.queries, {1, -1}));
    if (lengths_.past > 0) return sum(past({-1, 1}), steps);
    return ops_.add("Expand", {steps, ops_.integers({lengths_.samples, lengths_.queries})});
  }

  /// Which keys of a cache and behind it queries see, [N, 1, S, L], or [N, 1, 1, L] without a window. That no query
  /// sees the keys behind its own is up to Attention.
  Result<std::string> visible(std::int64_t window) {
    COHORT_TRY(const std::string keys, counting(lengths_.keys(), {1, 1, 1, -1}));
    const std::string held = past({-1, 1, 1, 1}), room = whole(lengths_.past);
    const std::string is_new = ops_.add("GreaterOrEqual", {keys, room});
    const std::string seen = ops_.add("Or", {is_new, less(keys, held)});
    if (window <= 0) return seen;
    COHORT_TRY(const std::string steps, counting(lengths_.queries, {1, 1, -1, 1}));
    const std::string behind = sum(held, ops_.add("Sub", {keys, room}));
    const std::string positions = ops_.add("Where", {is_new, behind, keys});
    const std::string distance = ops_.add("Sub", {sum(held, steps), positions});
    return ops_.add("And", {seen, less(distance, whole(window))});
  }

  /// Past and new keys or values, [N, K, L, D], without the room between them that a cache with fewer than it could
  /// hold leaves. One that says it holds more stops the step.
  Result<std::string> joined(const std::string& all) {
    const std::int64_t length = lengths_.keys(), rows = lengths_.samples * shared_heads_;
    COHORT_TRY(const std::string keys, counting(length, {1, 1, -1}));
    COHORT_TRY(const std::string heads, counting(rows, {lengths_.samples, shared_heads_, 1}));
    const std::string held = past({-1, 1, 1}), room = whole(lengths_.past);
    const std::string behind = ops_.add("Sub", {sum(keys, room), held});
    const std::string last = whole(length - 1);
    const std::string from = ops_.add("Where", {less(keys, held), keys, ops_.add("Min", {behind, last})});
    const std::string too_many = ops_.add("Max", {ops_.add("Sub", {held, room}), whole(0)});
    const std::string outside = ops_.add("Mul", {too_many, whole(rows * length)});
    const std::string first = ops_.add("Mul", {heads, whole(length)});
    const std::string at = sum(sum(from, outside), first);
    return ops_.add("Gather", {reshaped(all, {rows * length, size_}), at}, {{"axis", std::int64_t{0}}});
  }

  Result<std::string> rotated(const std::string& x, std::int64_t heads, const std::string& positions) {
    COHORT_TRY(const Shape cosines, import_.shape(kCosines));
    COHORT_TRY(const std::int64_t interleaved, import_.integer("rotary_interleaved", 0));
    if (cosines.size() != 2 || cosines[1] * 2 > size_)
      return fail(ErrorCode::kInvalidInput, "cos_cache {} does not fit heads of {}", to_string(cosines), size_);
    return ops_.add("RotaryEmbedding", {x, ops_.input(kCosines), ops_.input(kSines), positions},
                    {{"num_heads", heads}, {"rotary_embedding_dim", cosines[1] * 2}, {"interleaved", interleaved}});
  }

  Result<OwnOps::Attributes> attention_attributes() {
    COHORT_TRY(const float scale, import_.number("scale", 0));
    COHORT_TRY(const float softcap, import_.number("softcap", 0));
    import_.ignore("rotary_interleaved");
    OwnOps::Attributes attributes = {
        {"q_num_heads", heads_}, {"kv_num_heads", shared_heads_}, {"is_causal", std::int64_t{1}}, {"softcap", softcap}};
    if (scale != 0) attributes["scale"] = scale;
    return attributes;
  }

  OwnOps& ops_;
  NodeImport& import_;
  std::int64_t heads_ = 0, shared_heads_ = 0, size_ = 0;
  Lengths lengths_;
};

}  // namespace

Result<void> make_group_query_attention(OwnOps& ops) { return GroupQueryAttention(ops).make(); }

}  // namespace cohort::onnx
