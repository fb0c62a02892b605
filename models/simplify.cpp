#include <algorithm>
#include <queue>
#include <set>

#include "models/affine.hpp"
#include "models/recognize.hpp"

namespace cohort {

namespace {

constexpr std::size_t kNone = SIZE_MAX;
/// Libraries limit the length of a chain of post-ops; no network comes near this.
constexpr std::size_t kMostPostOps = 8;

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
      return true;
    default:
      return false;
  }
}

/// Whether the function can stand in one chain with those that it already has: oneDNN up to 2.6 gives each function of
/// a chain the parameters of the first one of its kind, and takes Relu for a LeakyRelu.
/// tests/kernels/onednn_post_ops_test.cpp holds the whole table of pairs and triples.
bool is_told_apart(const Activation& activation, const std::vector<PostOp>& chain) {
  const auto kind_of = [](const Activation& each) {
    return each.kind == ActivationKind::kLeakyRelu ? ActivationKind::kRelu : each.kind;
  };
  return std::none_of(chain.begin(), chain.end(), [&](const PostOp& post_op) {
    const auto* const other = std::get_if<Activation>(&post_op);
    return other != nullptr && kind_of(*other) == kind_of(activation) && *other != activation;
  });
}

/// Merges ops into the op before them. Merged ops stay in place, marked dead, until compact().
class Simplifier {
 public:
  Simplifier(LoadedModel loaded, bool strict_nan) : loaded_(std::move(loaded)), strict_nan_(strict_nan) {
    loaded_.weights.by_tensor.resize(model().tensors.size());
    readers_.resize(model().tensors.size());
    writer_.resize(model().tensors.size(), kNone);
    dead_.resize(model().ops.size(), false);
    for (std::size_t i = 0; i < model().ops.size(); ++i) {
      for (const TensorId id : model().ops[i].inputs) readers_[to_index(id)].push_back(i);
      writer_[to_index(model().ops[i].outputs[0])] = i;
    }
    for (const Tensor& tensor : model().tensors) names_.insert(tensor.name);
  }

  LoadedModel run(bool folds_constants) {
    drop_unread();  // what nobody reads must not keep its input from being merged
    for (auto& readers : readers_) std::erase_if(readers, [&](std::size_t i) { return dead_[i]; });
    for (std::size_t i = 0; i < model().ops.size(); ++i) {
      if (!dead_[i]) skip_reshapes(i);
    }
    for (std::size_t i = 0; i < model().ops.size(); ++i) {
      if (!dead_[i]) skip_flatten(i);
    }
    for (std::size_t i = 0; i < model().ops.size() && folds_constants; ++i) {
      while (!dead_[i] && merge_affine(i)) {
      }
    }
    for (std::size_t i = 0; i < model().ops.size(); ++i) {
      while (!dead_[i] && merge_post_op(i)) {
      }
    }
    drop_unread();
    sort();
    compact();
    return std::move(loaded_);
  }

 private:
  Model& model() { return loaded_.model; }
  [[nodiscard]] const Model& model() const { return loaded_.model; }
  Op& op(std::size_t i) { return model().ops[i]; }
  [[nodiscard]] const Op& op(std::size_t i) const { return model().ops[i]; }
  std::vector<std::size_t>& readers(TensorId id) { return readers_[to_index(id)]; }

  [[nodiscard]] bool is_product(std::size_t i) const {
    const auto* gemm = std::get_if<Gemm>(&op(i).attributes);
    return std::holds_alternative<Convolution>(op(i).attributes) || (gemm != nullptr && !gemm->stacked);
  }

  /// The op that alone reads, once, what op `i` writes.
  [[nodiscard]] std::size_t only_reader(std::size_t i) const {
    const TensorId y = op(i).outputs[0];
    const auto& outputs = model().outputs;
    if (std::find(outputs.begin(), outputs.end(), y) != outputs.end()) return kNone;
    const auto& readers = readers_[to_index(y)];
    return readers.size() == 1 ? readers[0] : kNone;
  }

  void stop_reading(std::size_t reader, TensorId id) {
    auto& all = readers(id);
    all.erase(std::find(all.begin(), all.end(), reader));
  }

  /// Op `i` takes the place of `next`, which read what `i` wrote.
  void take_place_of(std::size_t next, std::size_t i) {
    for (const TensorId id : op(next).inputs) stop_reading(next, id);
    op(i).outputs = op(next).outputs;
    writer_[to_index(op(i).outputs[0])] = i;
    dead_[next] = true;
  }

  void read_instead(std::size_t i, std::size_t position, TensorId source) {
    stop_reading(i, op(i).inputs[position]);
    op(i).inputs[position] = source;
    readers(source).push_back(i);
  }

  /// The op that writes `x` where that is a Reshape and nothing else.
  [[nodiscard]] std::size_t reshape_before(TensorId x) const {
    const std::size_t writer = writer_[to_index(x)];
    if (writer == kNone || !op(writer).post_ops.empty()) return kNone;
    return std::holds_alternative<Reshape>(op(writer).attributes) ? writer : kNone;
  }

  /// Reads around a Reshape to the shape that its input has, and in a Reshape around any other.
  void skip_reshapes(std::size_t i) {
    for (std::size_t position = 0; position < op(i).inputs.size(); ++position) {
      const TensorId x = op(i).inputs[position];
      const std::size_t before = reshape_before(x);
      if (before == kNone) continue;
      const TensorId source = op(before).inputs[0];
      const bool same_shape = model().tensor(source).shape == model().tensor(x).shape;
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
      const Shape& from = model().tensor(source).shape;
      if (from.empty() || from[0] != model().tensor(x).shape[0]) return;
      read_instead(i, 0, source);
    }
  }

  bool merge_affine(std::size_t i) {
    if (!is_product(i) || !op(i).post_ops.empty()) return false;
    const std::size_t next = only_reader(i);
    if (next == kNone) return false;
    const bool has_bias = op(i).inputs.size() > 2;
    const TensorId w = op(i).inputs[1];
    if (!is_constant(w) || (has_bias && !is_constant(op(i).inputs[2]))) return false;
    const auto affine = channel_affine_of(loaded_, op(next), op(i).outputs[0]);
    if (!affine) return false;
    const std::vector<float>* bias = has_bias ? loaded_.weights.of(op(i).inputs[2]).get() : nullptr;
    WeightAndBias folded = fold_affine(*loaded_.weights.of(w), bias, *affine);
    replace_weight(i, 1, std::move(folded.weight));
    if (!has_bias) add_bias(i, model().tensor(w).shape[0]);
    replace_weight(i, 2, std::move(folded.bias));
    take_place_of(next, i);
    return true;
  }

  [[nodiscard]] bool is_constant(TensorId id) const {
    return model().tensor(id).role == TensorRole::kWeight && loaded_.weights.of(id) != nullptr;
  }

  TensorId new_weight(std::string name, Shape shape) {
    while (!names_.insert(name).second) name += "_";
    model().tensors.push_back({std::move(name), std::move(shape), TensorRole::kWeight});
    loaded_.weights.by_tensor.emplace_back();
    readers_.emplace_back();
    writer_.push_back(kNone);
    return TensorId(static_cast<std::uint32_t>(model().tensors.size() - 1));
  }

  void add_bias(std::size_t i, std::int64_t channels) {
    const TensorId bias = new_weight(op(i).name + ".bias", {channels});
    op(i).inputs.push_back(bias);
    readers(bias).push_back(i);
  }

  /// Gives input `position` of op `i` other values; those of ops that share the weight stay.
  void replace_weight(std::size_t i, std::size_t position, std::vector<float> values) {
    TensorId id = op(i).inputs[position];
    if (readers(id).size() > 1) {
      stop_reading(i, id);
      id = new_weight(model().tensor(id).name + ".folded", model().tensor(id).shape);
      op(i).inputs[position] = id;
      readers(id).push_back(i);
    }
    loaded_.weights.by_tensor[to_index(id)] = std::make_shared<const std::vector<float>>(std::move(values));
  }

  bool merge_post_op(std::size_t i) {
    const auto* binary = std::get_if<Binary>(&op(i).attributes);
    const bool is_add = binary != nullptr && *binary == Binary{BinaryKind::kAdd};
    const bool normalizes = std::holds_alternative<BatchNormalization>(op(i).attributes) ||
                            std::holds_alternative<NormalizeByStatistics>(op(i).attributes);
    if ((!is_product(i) && !is_add && !normalizes) || op(i).post_ops.size() >= kMostPostOps) return false;
    const std::size_t next = only_reader(i);
    if (next == kNone || !op(next).post_ops.empty()) return false;
    if (const auto* activation = std::get_if<Activation>(&op(next).attributes);
        activation != nullptr && follows_product(activation->kind)) {
      // With a normalisation libraries take a rectifier, and nothing else.
      if (normalizes && activation->kind != ActivationKind::kRelu) return false;
      if (strict_nan_ || !is_told_apart(*activation, op(i).post_ops)) return false;
      op(i).post_ops.emplace_back(*activation);
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
    if (operand.role == TensorRole::kWeight || operand.shape != model().tensor(y).shape) return false;
    // Where both operands could take the addition, the later one does: the order can stay.
    const std::size_t writer = writer_[to_index(other)];
    if (writer != kNone && writer > i && is_product(writer) && only_reader(writer) == next &&
        op(writer).post_ops.size() < kMostPostOps)
      return false;
    op(i).post_ops.emplace_back(AddOperand{op(i).inputs.size()});
    op(i).inputs.push_back(other);
    readers(other).push_back(i);
    take_place_of(next, i);
    return true;
  }

  void drop_unread() {
    std::vector<bool> needed(model().ops.size(), false);
    std::vector<std::size_t> pending;
    const auto need = [&](TensorId id) {
      const std::size_t writer = writer_[to_index(id)];
      if (writer == kNone || needed[writer]) return;
      needed[writer] = true;
      pending.push_back(writer);
    };
    for (const TensorId id : model().outputs) need(id);
    for (std::size_t i = 0; i < model().ops.size(); ++i) {
      if (!dead_[i] && updates_state(op(i))) need(op(i).outputs[0]);
    }
    while (!pending.empty()) {
      const std::size_t i = pending.back();
      pending.pop_back();
      for (const TensorId id : op(i).inputs) need(id);
    }
    for (std::size_t i = 0; i < needed.size(); ++i) {
      if (!needed[i]) dead_[i] = true;
    }
  }

  /// Topological order of the ops that are left, which stays as it was as far as possible.
  void sort() {
    std::vector<std::size_t> missing(model().ops.size(), 0);
    std::vector<std::vector<std::size_t>> followers(model().ops.size());
    std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> ready;
    for (std::size_t i = 0; i < model().ops.size(); ++i) {
      if (dead_[i]) continue;
      for (const TensorId id : op(i).inputs) {
        const std::size_t writer = writer_[to_index(id)];
        if (writer == kNone) continue;
        followers[writer].push_back(i);
        ++missing[i];
      }
      if (missing[i] == 0) ready.push(i);
    }
    std::vector<Op> sorted;
    while (!ready.empty()) {
      const std::size_t i = ready.top();
      ready.pop();
      for (const std::size_t follower : followers[i]) {
        if (--missing[follower] == 0) ready.push(follower);
      }
      sorted.push_back(std::move(op(i)));
    }
    model().ops = std::move(sorted);
  }

  /// Drops tensors that nothing uses and numbers the rest anew, in the old order.
  void compact() {
    std::vector<bool> used(model().tensors.size(), false);
    for (const TensorId id : model().inputs) used[to_index(id)] = true;
    for (const Op& kept : model().ops) {
      for (const TensorId id : kept.inputs) used[to_index(id)] = true;
      for (const TensorId id : kept.outputs) used[to_index(id)] = true;
    }
    std::vector<TensorId> renumbered(model().tensors.size());
    std::vector<Tensor> tensors;
    Weights weights;
    for (std::size_t i = 0; i < used.size(); ++i) {
      if (!used[i]) continue;
      renumbered[i] = TensorId(static_cast<std::uint32_t>(tensors.size()));
      tensors.push_back(std::move(model().tensors[i]));
      weights.by_tensor.push_back(std::move(loaded_.weights.by_tensor[i]));
    }
    const auto renumber = [&](std::vector<TensorId>& ids) {
      for (TensorId& id : ids) id = renumbered[to_index(id)];
    };
    renumber(model().inputs);
    renumber(model().outputs);
    for (Op& kept : model().ops) {
      renumber(kept.inputs);
      renumber(kept.outputs);
    }
    model().tensors = std::move(tensors);
    loaded_.weights = std::move(weights);
  }

  LoadedModel loaded_;
  bool strict_nan_;
  std::vector<std::vector<std::size_t>> readers_;  ///< by tensor; an op that reads it twice stands twice
  std::vector<std::size_t> writer_;                ///< by tensor
  std::vector<bool> dead_;                         ///< by op
  std::set<std::string> names_;
};

}  // namespace

LoadedModel simplify(LoadedModel loaded, bool strict_nan) {
  recognize_functions(loaded);
  return Simplifier(std::move(loaded), strict_nan).run(true);
}

LoadedModel simplify_training(LoadedModel loaded, bool strict_nan) {
  return Simplifier(std::move(loaded), strict_nan).run(false);
}

}  // namespace cohort
