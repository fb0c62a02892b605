#include "simulator/plan/values.hpp"

#include <algorithm>

#include "simulator/plan/launches.hpp"
#include "simulator/plan/tensor_layout.hpp"

namespace cohort {
namespace {

/// Extents and strides of the tensors of `parts` members together: one after another, each as it lies alone in
/// `layout`, or channels beside channels.
std::pair<Shape, Shape> stacked(StackForm form, Shape shape, std::size_t parts, Layout layout) {
  const auto count = static_cast<std::int64_t>(parts);
  if (form == StackForm::kChannels) {
    shape[1] *= count;
    return {shape, dense_strides(shape, layout)};
  }
  Shape strides = dense_strides(shape, layout);
  strides.insert(strides.begin(), element_count(shape));
  shape.insert(shape.begin(), count);
  return {shape, strides};
}

}  // namespace

bool operator<(const StackKey& a, const StackKey& b) {
  const auto less = [](const MemberTensor& x, const MemberTensor& y) {
    return std::tie(x.member, x.tensor) < std::tie(y.member, y.tensor);
  };
  if (a.form != b.form) return a.form < b.form;
  return std::lexicographical_compare(a.parts.begin(), a.parts.end(), b.parts.begin(), b.parts.end(), less);
}

bool is_dense(const View& view, Layout layout) {
  const Shape dense = dense_strides(view.shape, layout);
  for (std::size_t i = 0; i < view.shape.size(); ++i) {
    if (view.shape[i] != 1 && view.strides[i] != dense[i]) return false;
  }
  return true;
}

bool is_row_major(const View& view) { return is_dense(view, Layout::kNchw); }

Values::Values(std::span<const Model* const> models, Layout layout, DataType type)
    : models_(models), layout_(layout), type_(type) {
  for (const Model* model : models) {
    values_.emplace_back(model->tensors.size());
    const bool again = !layouts_.empty() && models[layouts_.size() - 1] == model;
    layouts_.push_back(again ? layouts_.back() : tensor_layouts(*model, layout));
  }
}

View Values::allocate(std::string name, BufferKind kind, const Shape& shape, DataType type) {
  return allocate(std::move(name), kind, shape, type, layout_);
}

View Values::allocate(std::string name, BufferKind kind, const Shape& shape, DataType type, Layout layout) {
  const auto id = static_cast<BufferId>(buffers_.size());
  const Bytes size{element_count(shape) * element_bytes(type)};
  buffers_.push_back({std::move(name), kind, size, {}, {}});
  return {id, 0, shape, dense_strides(shape, layout), type};
}

View Values::allocate(std::string name, BufferKind kind, const MemberTensor& what) {
  const Tensor& tensor = this->tensor(what.member, what.tensor);
  return allocate(std::move(name), kind, tensor.shape, type_of(tensor), layout_of(what.member, what.tensor));
}

BufferId Values::allocate_workspace(std::string name, Bytes size) {
  buffers_.push_back({std::move(name), BufferKind::kWorkspace, size, {}, {}});
  return static_cast<BufferId>(buffers_.size() - 1);
}

bool Values::is_output(MemberId member, TensorId tensor) const {
  if (type_of(this->tensor(member, tensor)) != DataType::kFloat32) return false;
  const std::vector<TensorId>& outputs = models_[to_index(member)]->outputs;
  return std::find(outputs.begin(), outputs.end(), tensor) != outputs.end();
}

View Values::slice(const StackKey& key, const View& whole, std::size_t part) const {
  const MemberTensor& first = key.parts[part];
  View view{whole.buffer, 0, tensor(first.member, first.tensor).shape, whole.strides, whole.type};
  const auto index = static_cast<std::int64_t>(part);
  if (key.form == StackForm::kModels) {
    view.offset = index * whole.strides[0];
    view.strides.erase(view.strides.begin());
  } else {
    view.offset = index * view.shape[1] * whole.strides[1];
  }
  return view;
}

Value& Values::make_stack(const StackKey& key) {
  std::vector<MemberId> members;
  bool output = false;
  for (const MemberTensor& part : key.parts) {
    members.push_back(part.member);
    output = output || is_output(part.member, part.tensor);
  }
  const Tensor& first = tensor(key.parts[0].member, key.parts[0].tensor);
  auto [shape, strides] =
      stacked(key.form, first.shape, key.parts.size(), layout_of(key.parts[0].member, key.parts[0].tensor));
  View whole = allocate(fmt::format("{}/{}", member_ranges(members), first.name),
                        output ? BufferKind::kOutput : BufferKind::kActivation, shape, type_of(first));
  whole.strides = std::move(strides);
  return stacks_.emplace(key, Value{whole, {}}).first->second;
}

Value* Values::find_stack(const StackKey& key) {
  const auto found = stacks_.find(key);
  return found == stacks_.end() ? nullptr : &found->second;
}

}  // namespace cohort
