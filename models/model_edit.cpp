#include "models/model_edit.hpp"

#include <algorithm>
#include <queue>

namespace cohort {

ModelEdit::ModelEdit(LoadedModel loaded) : loaded_(std::move(loaded)) {
  loaded_.weights.by_tensor.resize(model().tensors.size());
  readers_.resize(model().tensors.size());
  writer_.resize(model().tensors.size(), kNone);
  dead_.resize(model().ops.size(), false);
  for (std::size_t i = 0; i < model().ops.size(); ++i) {
    for (const TensorId id : model().ops[i].inputs) readers_[to_index(id)].push_back(i);
    writer_[to_index(model().ops[i].outputs[0])] = i;
  }
  for (const Tensor& tensor : model().tensors) names_.insert(tensor.name);
  for (const Op& each : model().ops) op_names_.insert(each.name);
}

LoadedModel ModelEdit::finish() {
  drop_unread();
  sort();
  compact();
  return std::move(loaded_);
}

std::size_t ModelEdit::only_reader(std::size_t i) const {
  const TensorId y = op(i).outputs[0];
  if (is_output(y)) return kNone;
  const auto& readers = readers_[to_index(y)];
  return readers.size() == 1 ? readers[0] : kNone;
}

bool ModelEdit::is_output(TensorId id) const {
  const auto& outputs = model().outputs;
  return std::find(outputs.begin(), outputs.end(), id) != outputs.end();
}

bool ModelEdit::is_constant(TensorId id) const {
  return model().tensor(id).role == TensorRole::kWeight && loaded_.weights.of(id) != nullptr;
}

void ModelEdit::take_place_of(std::size_t next, std::size_t i) {
  const TensorId y = op(next).outputs[0];
  drop(next);
  write(i, y);
}

void ModelEdit::read_instead(std::size_t i, std::size_t position, TensorId source) {
  stop_reading(i, op(i).inputs[position]);
  op(i).inputs[position] = source;
  readers_[to_index(source)].push_back(i);
}

void ModelEdit::read_also(std::size_t i, TensorId source) {
  op(i).inputs.push_back(source);
  readers_[to_index(source)].push_back(i);
}

void ModelEdit::read_less(std::size_t i) {
  stop_reading(i, op(i).inputs.back());
  op(i).inputs.pop_back();
}

void ModelEdit::write(std::size_t i, TensorId id) {
  op(i).outputs = {id};
  writer_[to_index(id)] = i;
}

void ModelEdit::stop_reading(std::size_t reader, TensorId id) {
  auto& all = readers_[to_index(id)];
  all.erase(std::find(all.begin(), all.end(), reader));
}

void ModelEdit::drop(std::size_t i) {
  for (const TensorId id : op(i).inputs) stop_reading(i, id);
  dead_[i] = true;
}

void ModelEdit::drop_if_unread(TensorId id) {
  const std::size_t i = writer(id);
  if (i != kNone && !dead_[i] && readers_[to_index(id)].empty() && !is_output(id)) drop(i);
}

void ModelEdit::drop_unread() {
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
    if (!needed[i] && !dead_[i]) drop(i);
  }
}

TensorId ModelEdit::new_tensor(std::string name, Shape shape, TensorRole role) {
  while (!names_.insert(name).second) name += "_";
  model().tensors.push_back({std::move(name), std::move(shape), role});
  loaded_.weights.by_tensor.emplace_back();
  readers_.emplace_back();
  writer_.push_back(kNone);
  return TensorId(static_cast<std::uint32_t>(model().tensors.size() - 1));
}

TensorId ModelEdit::new_view_of_weight(std::string name, TensorId weight, Shape shape) {
  const TensorId view = new_tensor(std::move(name), std::move(shape), TensorRole::kWeight);
  loaded_.weights.by_tensor[to_index(view)] = loaded_.weights.by_tensor[to_index(weight)];
  return view;
}

TensorId ModelEdit::new_reshape(TensorId x, std::string name, const Shape& shape) {
  const TensorId y = new_tensor(std::move(name), shape, TensorRole::kActivation);
  Op reshape;
  reshape.name = model().tensor(y).name;
  while (!op_names_.insert(reshape.name).second) reshape.name += "_";
  reshape.attributes = Reshape{};
  model().ops.push_back(std::move(reshape));
  dead_.push_back(false);
  read_also(op_count() - 1, x);
  write(op_count() - 1, y);
  return y;
}

void ModelEdit::replace_weight(std::size_t i, std::size_t position, std::vector<float> values) {
  TensorId id = op(i).inputs[position];
  if (readers_[to_index(id)].size() > 1) {
    id = new_tensor(model().tensor(id).name + ".folded", shape(id), TensorRole::kWeight);
    read_instead(i, position, id);
  }
  loaded_.weights.by_tensor[to_index(id)] = std::make_shared<const std::vector<float>>(std::move(values));
}

void ModelEdit::sort() {
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

/// Numbers the tensors that are left anew, in the old order.
void ModelEdit::compact() {
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

}  // namespace cohort
