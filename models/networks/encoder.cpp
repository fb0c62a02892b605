// Transformer encoder: Vaswani et al., "Attention Is All You Need", NeurIPS 2017, arXiv:1706.03762, as BERT
// has it (Devlin et al., arXiv:1810.04805), by default of BERT-tiny's sizes (Turc et al.,
// arXiv:1908.08962). Its input are embedded tokens, because looking them up computes nothing; the pooler
// is left out.

#include "models/networks/blocks.hpp"
#include "models/networks/makers.hpp"

namespace cohort {

namespace {

constexpr float kNormEpsilon = 1e-12F;

struct Sizes {
  std::int64_t minibatch = 1, tokens = 0, width = 0, heads = 0;
};

TensorId normalized(ModelBuilder& b, const std::string& name, TensorId x) {
  const std::int64_t width = b.shape(x).back();
  const TensorId scale = b.weight(name + ".scale", {width});
  const TensorId shift = b.weight(name + ".shift", {width});
  return b.add(name, LayerNormalization{1, kNormEpsilon}, {x, scale, shift});
}

/// [samples * tokens, width] -> a matrix for each sample and head: [tokens, width / heads], or with
/// `transposed` [width / heads, tokens]. Axes of one keep the tensor in between from being laid out as an
/// image, channels last.
TensorId split_heads(ModelBuilder& b, const std::string& name, TensorId x, const Sizes& s, bool transposed) {
  const std::int64_t head = s.width / s.heads;
  x = b.reshape(name + ".heads", x, {s.minibatch, s.tokens, s.heads, 1, head, 1});
  const std::vector<std::int64_t> order =
      transposed ? std::vector<std::int64_t>{0, 2, 4, 3, 1, 5} : std::vector<std::int64_t>{0, 2, 1, 3, 4, 5};
  x = b.add(name + ".by_head", Transpose{order}, {x});
  const Shape& shape = b.shape(x);
  return b.reshape(name + ".batch", x, {s.minibatch * s.heads, shape[2], shape[4]});
}

TensorId join_heads(ModelBuilder& b, const std::string& name, TensorId x, const Sizes& s) {
  x = b.reshape(name + ".heads", x, {s.minibatch, s.heads, s.tokens, 1, s.width / s.heads, 1});
  x = b.add(name + ".by_token", Transpose{{0, 2, 1, 3, 4, 5}}, {x});
  return b.reshape(name + ".joined", x, {s.minibatch * s.tokens, s.width});
}

/// softmax(q k^T) v. The factor 1 / sqrt(width / heads) is part of the query's weights.
TensorId attention(ModelBuilder& b, const std::string& name, TensorId x, const Sizes& s) {
  const auto project = [&](const char* what, bool transposed) {
    return split_heads(b, name + what, b.linear(name + what, x, s.width), s, transposed);
  };
  const TensorId query = project(".query", false);
  const TensorId key = project(".key", true);
  const TensorId value = project(".value", false);
  TensorId scores = b.add(name + ".scores", MatMul{}, {query, key});
  scores = b.add(name + ".softmax", Softmax{2}, {scores});
  const TensorId context = b.add(name + ".context", MatMul{}, {scores, value});
  return b.linear(name + ".output", join_heads(b, name + ".context", context, s), s.width);
}

TensorId layer(ModelBuilder& b, const std::string& name, TensorId x, const Sizes& s) {
  TensorId y = attention(b, name + ".attention", x, s);
  x = normalized(b, name + ".attention.norm", add(b, name + ".attention.add", y, x));
  y = b.linear(name + ".up", x, 4 * s.width);
  y = b.add(name + ".gelu", Activation{ActivationKind::kGelu, 0, 0}, {y});
  y = b.linear(name + ".down", y, s.width);
  return normalized(b, name + ".norm", add(b, name + ".add", y, x));
}

Result<Model> make_encoder(std::int64_t minibatch, const NetworkArguments& arguments) {
  Sizes sizes;
  sizes.minibatch = minibatch;
  COHORT_TRY(const std::int64_t layers, integer_argument(arguments, "layers", 1, 256));
  COHORT_TRY(sizes.tokens, integer_argument(arguments, "tokens", 1, 65536));
  COHORT_TRY(sizes.width, integer_argument(arguments, "width", 1, 16384));
  COHORT_TRY(sizes.heads, integer_argument(arguments, "heads", 1, 1024));
  if (sizes.width % sizes.heads != 0)
    return fail(ErrorCode::kInvalidInput, "argument heads: must divide width {}, and {} does not", sizes.width,
                sizes.heads);
  ModelBuilder b("encoder");
  TensorId x = b.input("input", {minibatch, sizes.tokens, sizes.width});
  x = b.reshape("tokens", x, {minibatch * sizes.tokens, sizes.width});
  x = normalized(b, "embeddings.norm", x);
  for (std::int64_t i = 0; i < layers; ++i) x = layer(b, fmt::format("layer{}", i), x, sizes);
  b.output(b.reshape("output", x, {minibatch, sizes.tokens, sizes.width}));
  return b.finish();
}

}  // namespace

Network encoder() {
  return {"encoder",
          "transformer encoder of BERT-tiny's sizes on embedded tokens (Devlin et al., arXiv:1810.04805)",
          {{"layers", "2", "number of layers"},
           {"tokens", "128", "length of a sequence"},
           {"width", "128", "features of a token"},
           {"heads", "2", "attention heads, which divide the width"}},
          make_encoder};
}

}  // namespace cohort
