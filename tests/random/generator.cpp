#include "tests/random/generator.hpp"

#include <algorithm>
#include <numeric>
#include <optional>

#include "base/random.hpp"
#include "models/builder.hpp"

namespace cohort {

namespace {

constexpr std::int64_t kMostElements = 4096;

class Generator {
 public:
  explicit Generator(std::uint64_t seed) : random_(seed), builder_("random" + std::to_string(seed)) {}

  Result<Model> make() {
    const std::int64_t inputs = pick(1, 2);
    for (std::int64_t i = 0; i < inputs; ++i) tensors_.push_back(builder_.input(name("x"), random_shape()));
    const std::int64_t ops = pick(3, 12);
    for (std::int64_t i = 0; i < ops; ++i) {
      if (const auto y = random_op()) tensors_.push_back(*y);
    }
    // One more op makes sure that the output is no input.
    tensors_.push_back(activation(tensors_.back()));
    builder_.output(tensors_.back());
    return builder_.finish();
  }

 private:
  std::int64_t pick(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(random_.next() % static_cast<std::uint64_t>(high - low + 1));
  }
  bool coin() { return pick(0, 1) == 1; }
  std::string name(std::string_view kind) { return fmt::format("{}{}", kind, count_++); }
  TensorId any() {
    // Later tensors more often, so that models are deep.
    const auto last = static_cast<std::int64_t>(tensors_.size()) - 1;
    return tensors_[static_cast<std::size_t>(std::max(pick(0, last), pick(0, last)))];
  }
  const Shape& shape(TensorId id) const { return builder_.shape(id); }

  Shape random_shape() {
    Shape result;
    const std::int64_t rank = pick(2, 5);
    for (std::int64_t d = 0; d < rank; ++d) result.push_back(rank == 5 ? pick(1, 4) : pick(1, 8));
    return result;
  }

  TensorId weight(Shape of) { return builder_.weight(name("w"), std::move(of)); }
  TensorId add(std::string_view kind, OpAttributes attributes, std::vector<TensorId> inputs) {
    return builder_.add(name(kind), std::move(attributes), std::move(inputs));
  }

  TensorId activation(TensorId x) {
    constexpr Activation kChoices[] = {
        {ActivationKind::kRelu, 0, 0},         {ActivationKind::kLeakyRelu, 0.1F, 0},
        {ActivationKind::kElu, 0.7F, 0},       {ActivationKind::kSigmoid, 0, 0},
        {ActivationKind::kTanh, 0, 0},         {ActivationKind::kClip, -0.5F, 2},
        {ActivationKind::kSelu, 1.67F, 1.05F}, {ActivationKind::kHardSigmoid, 0.2F, 0.5F},
        {ActivationKind::kHardSwish, 0, 0},    {ActivationKind::kSoftplus, 0, 0},
        {ActivationKind::kSoftsign, 0, 0},     {ActivationKind::kGelu, 0, 0},
        {ActivationKind::kGeluTanh, 0, 0},     {ActivationKind::kErf, 0, 0},
        {ActivationKind::kMish, 0, 0},         {ActivationKind::kNeg, 0, 0},
        {ActivationKind::kAbs, 0, 0},          {ActivationKind::kSwish, 1, 0},
        {ActivationKind::kCelu, 1.5F, 0},      {ActivationKind::kSin, 0, 0},
        {ActivationKind::kAtan, 0, 0},         {ActivationKind::kAsinh, 0, 0}};
    return add("act", kChoices[static_cast<std::size_t>(pick(0, static_cast<std::int64_t>(std::size(kChoices)) - 1))],
               {x});
  }

  TensorId binary(TensorId x) {
    constexpr BinaryKind kKinds[] = {BinaryKind::kAdd, BinaryKind::kSub, BinaryKind::kMul,
                                     BinaryKind::kMin, BinaryKind::kMax, BinaryKind::kPRelu};
    const BinaryKind kind = kKinds[static_cast<std::size_t>(pick(0, 5))];
    // An equal tensor, or one that repeats along some axes, first or second.
    for (const TensorId other : tensors_) {
      if (other != x && shape(other) == shape(x) && coin()) return add("bin", Binary{kind}, {x, other});
    }
    Shape repeated = shape(x);
    for (std::int64_t& extent : repeated) extent = coin() ? extent : 1;
    if (coin()) repeated.erase(repeated.begin());
    const TensorId other = weight(std::move(repeated));
    const bool swapped = kind != BinaryKind::kPRelu && coin();
    return add("bin", Binary{kind}, swapped ? std::vector{other, x} : std::vector{x, other});
  }

  /// Extents 1 to 3 per spatial axis that fit into x.
  std::optional<Window> window(TensorId x, bool strided) {
    Window result;
    for (std::size_t d = 2; d < shape(x).size(); ++d) {
      const std::int64_t kernel = pick(1, std::min<std::int64_t>(3, shape(x)[d]));
      result.kernel.push_back(kernel);
      result.stride.push_back(strided ? pick(1, 2) : 1);
      result.dilation.push_back(shape(x)[d] > 2 * (kernel - 1) ? pick(1, 2) : 1);
      result.pad_begin.push_back(pick(0, kernel - 1));
      result.pad_end.push_back(pick(0, kernel - 1));
    }
    if (result.kernel.empty() || result.kernel.size() > 3) return std::nullopt;
    return result;
  }

  std::optional<TensorId> convolution(TensorId x) {
    const auto found = window(x, true);
    if (!found) return std::nullopt;
    const std::int64_t channels = shape(x)[1];
    const std::int64_t groups = channels % 2 == 0 && coin() ? 2 : coin() ? channels : 1;
    const std::int64_t outputs = groups * pick(1, 3);
    const bool transposes = pick(0, 3) == 0;
    Shape w{transposes ? channels : outputs, transposes ? outputs / groups : channels / groups};
    w.insert(w.end(), found->kernel.begin(), found->kernel.end());
    std::vector<TensorId> inputs{x, weight(std::move(w))};
    if (coin()) inputs.push_back(weight({outputs}));
    if (!transposes) return add("conv", Convolution{*found, groups}, std::move(inputs));
    ConvTranspose op{*found, Shape(found->kernel.size(), 0), groups};
    for (std::size_t d = 0; d < op.output_pad.size(); ++d) {
      op.output_pad[d] = pick(0, op.window.stride[d] - 1);
      op.window.pad_begin[d] = op.window.pad_end[d] = 0;
    }
    return add("deconv", op, std::move(inputs));
  }

  std::optional<TensorId> pool(TensorId x) {
    auto found = window(x, true);
    if (!found) return std::nullopt;
    const bool average = coin();
    return add("pool", Pool{average ? PoolKind::kAverage : PoolKind::kMax, *found, coin(), average && coin()}, {x});
  }

  std::optional<TensorId> normalization(TensorId x) {
    const Shape s = shape(x);
    const std::int64_t channels = s[1];
    switch (pick(0, 4)) {
      case 0:
        return add("bn", BatchNormalization{0.01F},
                   {x, weight({channels}), weight({channels}), weight({channels}), weight({channels})});
      case 1: {
        const std::int64_t groups = coin() ? channels : 1;
        if (s.size() < 3) return std::nullopt;
        return add("gn", GroupNormalization{groups, 0.1F}, {x, weight({channels}), weight({channels})});
      }
      case 2: {
        const std::int64_t axis = pick(1, static_cast<std::int64_t>(s.size()) - 1);
        const Shape scale(s.begin() + axis, s.end());
        return add("ln", LayerNormalization{axis, 0.1F}, {x, weight(scale), weight(scale)});
      }
      case 3:
        return add("lrn", LocalResponseNormalization{pick(1, 5), 0.1F, 0.75F, 1}, {x});
      default:
        return add("softmax", Softmax{pick(0, static_cast<std::int64_t>(s.size()) - 1), coin()}, {x});
    }
  }

  std::optional<TensorId> product(TensorId x) {
    const Shape s = shape(x);
    if (coin()) {
      const std::int64_t features = element_count(s) / s[0];
      const std::int64_t outputs = pick(1, 12);
      std::vector<TensorId> inputs{x, weight({outputs, features})};
      if (coin()) inputs.push_back(weight({outputs}));
      return add("gemm", Gemm{}, std::move(inputs));
    }
    const MatMul op{coin(), coin()};
    const std::int64_t depth = s[s.size() - (op.transpose_a ? 2 : 1)];
    const std::int64_t columns = pick(1, 6);
    if (coin()) return add("square", MatMul{op.transpose_a, !op.transpose_a}, {x, x});
    return add("matmul", op, {x, weight(op.transpose_b ? Shape{columns, depth} : Shape{depth, columns})});
  }

  std::optional<TensorId> recurrent(TensorId x) {
    const Shape s = shape(x);
    if (s.size() != 3) return std::nullopt;
    const std::int64_t hidden = pick(1, 5);
    if (pick(0, 2) == 0)
      return add("lstm", Lstm{hidden},
                 {x, weight({4 * hidden, s[2]}), weight({4 * hidden, hidden}), weight({4 * hidden})});
    Recurrent op;
    op.cell = static_cast<RecurrentCell>(pick(0, 2));
    op.hidden = hidden;
    op.direction = static_cast<Direction>(pick(0, 2));
    op.linear_before_reset = op.cell == RecurrentCell::kGru && coin();
    op.final_state = coin();
    const std::int64_t directions = direction_count(op.direction);
    const std::int64_t rows = gate_count(op.cell) * hidden;
    return add(
        "rnn", op,
        {x, weight({directions, rows, s[2]}), weight({directions, rows, hidden}), weight({directions, 2 * rows})});
  }

  TensorId move(TensorId x) {
    const Shape s = shape(x);
    const auto rank = static_cast<std::int64_t>(s.size());
    switch (pick(0, 6)) {
      case 0: {
        std::vector<std::int64_t> axes(s.size());
        std::iota(axes.begin(), axes.end(), 0);
        for (std::size_t i = axes.size(); i > 1; --i)
          std::swap(axes[i - 1], axes[static_cast<std::size_t>(pick(0, static_cast<std::int64_t>(i) - 1))]);
        return add("transpose", Transpose{std::move(axes)}, {x});
      }
      case 1: {
        TensorSlice slice;
        for (const std::int64_t extent : s) {
          const std::int64_t step = coin() ? 1 : coin() ? 2 : -1;
          const std::int64_t start = step < 0 ? extent - 1 : pick(0, extent - 1);
          slice.start.push_back(start);
          slice.step.push_back(step);
          slice.count.push_back(step < 0 ? extent : (extent - 1 - start) / step + 1);
        }
        return add("slice", std::move(slice), {x});
      }
      case 2: {
        Pad pad;
        pad.mode = static_cast<PadMode>(pick(0, 3));
        pad.value = 0.5F;
        for (std::size_t d = 0; d < s.size(); ++d) {
          pad.begin.push_back(pick(0, 1));
          pad.end.push_back(pick(s[d] > 1 ? -1 : 0, 1));
        }
        return add("pad", std::move(pad), {x});
      }
      case 3:
        return builder_.reshape(name("reshape"), x,
                                rank > 2 ? Shape{s[0], element_count(s) / s[0]} : Shape{s[0], s[1], 1});
      case 4: {
        Shape repeats(s.size(), 1);
        repeats[static_cast<std::size_t>(pick(0, rank - 1))] = 2;
        return add("tile", Tile{std::move(repeats)}, {x});
      }
      case 5: {
        const std::int64_t axis = pick(0, rank - 1);
        return add("concat", Concat{axis}, {x, activation(x)});
      }
      default: {
        Shape wide = s;
        for (std::int64_t& extent : wide) extent = extent == 1 && coin() ? 3 : extent;
        return add("expand", Expand{std::move(wide)}, {x});
      }
    }
  }

  TensorId shrink_or_grow(TensorId x) {
    const Shape s = shape(x);
    if (coin()) {
      std::vector<std::int64_t> axes;
      for (std::size_t d = 1; d < s.size(); ++d) {
        if (coin() || (axes.empty() && d + 1 == s.size())) axes.push_back(static_cast<std::int64_t>(d));
      }
      constexpr ReduceKind kKinds[] = {ReduceKind::kSum, ReduceKind::kMean, ReduceKind::kMax, ReduceKind::kMin,
                                       ReduceKind::kLogSumExp};
      return add("reduce", Reduce{kKinds[static_cast<std::size_t>(pick(0, 4))], std::move(axes), true}, {x});
    }
    Resize resize;
    resize.mode = coin() ? ResizeMode::kNearest : ResizeMode::kLinear;
    resize.positions = coin() ? ResizePositions::kAsymmetric : ResizePositions::kHalfPixel;
    for (std::size_t d = 0; d < s.size(); ++d) {
      const std::int64_t factor = d > 1 && coin() ? 2 : 1;
      resize.shape.push_back(s[d] * factor);
      resize.scale.push_back(static_cast<double>(factor));
    }
    return add("resize", std::move(resize), {x});
  }

  /// Nothing where the op drawn does not take the tensor drawn.
  std::optional<TensorId> random_op() {
    const TensorId x = any();
    const bool is_large = element_count(shape(x)) > kMostElements;
    switch (pick(is_large ? 5 : 0, 11)) {
      case 0:
      case 1:
        return move(x);
      case 2:
        return recurrent(x);
      case 3:
        return product(x);
      case 4:
      case 5:
        return shrink_or_grow(x);
      case 6:
        return pool(x);
      case 7:
        return normalization(x);
      case 8:
        return binary(x);
      case 9:
        return activation(x);
      default:
        return convolution(x);
    }
  }

  Random random_;
  ModelBuilder builder_;
  std::vector<TensorId> tensors_;
  int count_ = 0;
};

}  // namespace

LoadedModel random_model(std::uint64_t seed) {
  Model model = Generator(seed).make().value();
  Weights weights = random_weights(model, seed);
  return {std::move(model), std::move(weights)};
}

}  // namespace cohort
