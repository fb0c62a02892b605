#include "models/training/backward.hpp"

#include <algorithm>
#include <bit>

#include "models/training/rules.hpp"

namespace cohort::training {
namespace {

/// Whether nobody may take its result for something that varies smoothly: not even almost everywhere zero is right
/// where a network was meant to learn through it.
bool breaks_gradient(const OpAttributes& attributes) {
  return std::holds_alternative<ArgMax>(attributes) || std::holds_alternative<MaxPoolIndices>(attributes);
}

std::int64_t size_of(const Graph& graph, TensorId pack) { return element_count(graph.shape(pack)); }

}  // namespace

Shape OpGradient::shape(TensorId id) const { return backward_.graph_.shape(id); }

TensorId OpGradient::dy() { return backward_.sum(y(), name("dy")); }

std::optional<float> OpGradient::uniform_dy() const {
  float sum = 0;
  for (const Gradient& gradient : backward_.gradients(y())) {
    const auto* uniform = std::get_if<UniformGradient>(&gradient);
    if (uniform == nullptr) return std::nullopt;
    sum += uniform->value;
  }
  return sum;
}

bool OpGradient::wants(std::size_t i) const { return backward_.depends_[to_index(x(i))]; }

void OpGradient::give(std::size_t i, TensorId dx) { backward_.gradients(x(i)).emplace_back(WholeGradient{dx}); }

void OpGradient::give_part(std::size_t i, TensorId pack, std::int64_t offset) {
  backward_.gradients(x(i)).emplace_back(PartGradient{pack, offset});
}

void OpGradient::give_uniform(std::size_t i, float value) {
  backward_.gradients(x(i)).emplace_back(UniformGradient{value});
}

void OpGradient::give_sum(std::size_t i, TensorId of_y_shape) {
  const Shape from = shape(of_y_shape);
  const Shape to = x_shape(i);
  const std::size_t ahead = from.size() - to.size();
  Reduce sum{ReduceKind::kSum, {}, true};
  for (std::size_t d = 0; d < from.size(); ++d) {
    if (from[d] != (d < ahead ? 1 : to[d - ahead])) sum.axes.push_back(static_cast<std::int64_t>(d));
  }
  const std::string suffix = fmt::format("dx{}", i);
  const TensorId summed = sum.axes.empty() ? of_y_shape : add(suffix + ".sum", std::move(sum), {of_y_shape});
  give(i, reshape(suffix, summed, to));
}

TensorId OpGradient::add(std::string_view suffix, OpAttributes attributes, std::vector<TensorId> inputs) {
  return backward_.graph_.add(name(suffix), std::move(attributes), std::move(inputs));
}
TensorId OpGradient::binary(std::string_view suffix, BinaryKind kind, TensorId a, TensorId b) {
  return add(suffix, Binary{kind}, {a, b});
}
TensorId OpGradient::unary(std::string_view suffix, ActivationKind kind, TensorId x) {
  return add(suffix, Activation{kind, 0, 0}, {x});
}
TensorId OpGradient::reshape(std::string_view suffix, TensorId x, Shape shape) {
  return backward_.graph_.reshape(name(suffix), x, std::move(shape));
}
TensorId OpGradient::scalar(float value) { return backward_.graph_.scalar(value); }

TensorId OpGradient::whole_constant(std::string_view suffix, const std::vector<std::int64_t>& values) {
  std::vector<float> elements;
  for (const std::int64_t value : values) elements.push_back(std::bit_cast<float>(static_cast<std::int32_t>(value)));
  return backward_.graph_.constant(name(suffix), {static_cast<std::int64_t>(values.size())}, std::move(elements),
                                   ElementType::kInt32);
}

const std::vector<float>* OpGradient::constant_values(TensorId id) const {
  if (backward_.graph_.model().tensor(id).role != TensorRole::kWeight) return nullptr;
  return backward_.graph_.weights().of(id).get();
}

Result<void> OpGradient::refuse() const {
  return fail(ErrorCode::kInvalidInput, "op {} ({}) has no gradient, and the loss depends on parameters through it",
              op_.name, type());
}

Backward::Backward(Graph& graph, const std::vector<TensorId>& parameters) : graph_(graph), parameters_(parameters) {}

std::vector<Gradient>& Backward::gradients(TensorId id) {
  if (gradients_.size() <= to_index(id)) gradients_.resize(graph_.model().tensors.size());
  return gradients_[to_index(id)];
}

void Backward::find_dependent(std::size_t forward_ops) {
  depends_.assign(graph_.model().tensors.size(), false);
  via_.assign(depends_.size(), std::nullopt);
  for (const TensorId id : parameters_) depends_[to_index(id)] = true;
  for (std::size_t i = 0; i < forward_ops; ++i) {
    const Op& op = graph_.model().ops[i];
    const std::size_t y = to_index(op.outputs[0]);
    const bool is_float = graph_.element(op.outputs[0]) == ElementType::kFloat32;
    for (const TensorId id : op.inputs) {
      const std::size_t x = to_index(id);
      const bool x_is_float = graph_.element(id) == ElementType::kFloat32;
      if (depends_[x] && is_float && x_is_float) depends_[y] = true;
      if (depends_[x] && breaks_gradient(op.attributes)) via_[y] = i;
      // Whole numbers hand it on, and what is made of whole numbers again.
      const bool hands_on = !is_float || std::holds_alternative<Cast>(op.attributes);
      if (!via_[x] || !hands_on) continue;
      via_[y] = via_[x];
      if (is_float) depends_[y] = true;
    }
  }
}

Result<void> Backward::run(TensorId loss) {
  const std::size_t forward_ops = graph_.model().ops.size();
  find_dependent(forward_ops);
  gradients(loss).emplace_back(UniformGradient{1});
  for (std::size_t i = forward_ops; i-- > 0;) {
    const Op op = graph_.model().ops[i];  // a copy: the graph grows
    if (gradients(op.outputs[0]).empty()) continue;
    if (const auto via = via_[to_index(op.outputs[0])]) {
      const Op& breaking = graph_.model().ops[*via];
      return OpGradient(*this, breaking).refuse();
    }
    if (!depends_[to_index(op.outputs[0])] || std::holds_alternative<Unpack>(op.attributes)) continue;
    OpGradient at(*this, op);
    COHORT_CHECK(std::visit([&](const auto& attributes) { return gradient(attributes, at); }, op.attributes));
  }
  return {};
}

TensorId Backward::tensor_of(const Gradient& gradient, const Shape& shape, const std::string& name) {
  if (const auto* whole = std::get_if<WholeGradient>(&gradient)) return whole->tensor;
  if (const auto* part = std::get_if<PartGradient>(&gradient))
    return graph_.add(name, Unpack{part->offset, shape}, {part->pack});
  return graph_.add(name, Expand{shape}, {graph_.scalar(std::get<UniformGradient>(gradient).value)});
}

TensorId Backward::sum(TensorId id, const std::string& name) {
  const Shape shape = graph_.shape(id);
  const std::vector<Gradient> all = gradients(id);
  TensorId total = tensor_of(all[0], shape, name);
  for (std::size_t i = 1; i < all.size(); ++i) {
    const TensorId next = tensor_of(all[i], shape, fmt::format("{}{}", name, i));
    // Each gets its own name: finding a free one is slow where there are many.
    total = graph_.add(i == 1 ? name : fmt::format("{}.sum{}", name, i), Binary{BinaryKind::kAdd}, {total, next});
  }
  gradients(id) = {WholeGradient{total}};
  return total;
}

const PartGradient* Backward::only_part(std::size_t parameter) const {
  const std::size_t tensor = to_index(parameters_[parameter]);
  if (tensor >= gradients_.size() || gradients_[tensor].size() != 1) return nullptr;
  return std::get_if<PartGradient>(gradients_[tensor].data());
}

std::size_t Backward::run_length(std::size_t first, const std::vector<std::int64_t>& offsets) const {
  const PartGradient* const begin = only_part(first);
  std::size_t length = 1;
  while (begin != nullptr && first + length < parameters_.size()) {
    const PartGradient* const next = only_part(first + length);
    if (next == nullptr || next->pack != begin->pack) break;
    if (next->offset - begin->offset != offsets[first + length] - offsets[first]) break;
    ++length;
  }
  return length;
}

TensorId Backward::padded(TensorId part, const std::string& name) {
  const std::int64_t count = element_count(graph_.shape(part));
  if (count == pack_place(count)) return part;
  return graph_.add(name + ".padded", Pack{{0}, pack_place(count)}, {part});
}

TensorId Backward::pack(const std::vector<std::int64_t>& offsets, std::int64_t size) {
  Pack pack{{}, size};
  std::vector<TensorId> parts;
  for (std::size_t i = 0; i < parameters_.size();) {
    const std::size_t length = run_length(i, offsets);
    const PartGradient* const first = only_part(i);
    const std::string name = graph_.model().tensor(parameters_[i]).name + ".gradient";
    if (first != nullptr) {
      const std::size_t last = i + length - 1;
      const std::int64_t begin = first->offset;
      const std::int64_t end = pack_place(only_part(last)->offset + element_count(graph_.shape(parameters_[last])));
      const TensorId from = first->pack;
      const bool is_all = begin == 0 && pack_place(end) == size_of(graph_, from);
      parts.push_back(is_all ? from : padded(graph_.add(name, Unpack{begin, {end - begin}}, {from}), name));
      pack.offsets.push_back(offsets[i]);
    } else if (!gradients(parameters_[i]).empty()) {
      parts.push_back(padded(sum(parameters_[i], name), name));
      pack.offsets.push_back(offsets[i]);
    }
    i += length;
  }
  if (parts.empty()) {  // the loss is constant almost everywhere
    parts.push_back(graph_.scalar(0));
    pack.offsets.push_back(0);
  }
  return graph_.add("gradient", std::move(pack), std::move(parts));
}

}  // namespace cohort::training
