#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "models/model.hpp"
#include "simulator/plan/program.hpp"

namespace cohort {

/// How the tensors of several members lie in one buffer.
enum class StackForm {
  kChannels,  ///< [N, B*C, H, W]
  kModels,    ///< [B, ...]
};

/// A tensor of one member: where it is and which steps make it.
struct Value {
  View view;
  std::vector<StepId> producers;
};

/// Names a stack: the same tensor of several members in one form.
struct StackKey {
  StackForm form{};
  std::vector<MemberTensor> parts;

  friend bool operator<(const StackKey& a, const StackKey& b);
};

/// Whether `view` lies dense in `layout`.
bool is_dense(const View& view, Layout layout);
/// Whether walking `view` in logical order walks memory in order, so that it can be reshaped in place.
bool is_row_major(const View& view);

/// The buffers of a Program under construction and the views cut from them.
class Values {
 public:
  /// Members' tensors of floating point lie in memory as `type`; whole numbers, inputs and outputs as kFloat32.
  Values(std::span<const Model* const> models, Layout layout, DataType type);

  /// A new buffer holding a dense tensor of `shape` in the plan's layout.
  View allocate(std::string name, BufferKind kind, const Shape& shape, DataType type);
  /// A new buffer for a member's tensor, dense in that tensor's layout.
  View allocate(std::string name, BufferKind kind, const MemberTensor& what);
  BufferId allocate_workspace(std::string name, Bytes size);

  /// One buffer for a stack, and each part's view into it; the whole is empty of producers yet.
  /// `kind` is kOutput where one of the parts is an output.
  Value& make_stack(const StackKey& key);
  /// A stack that already lies in memory: another's, under other shapes.
  void add_stack(const StackKey& key, Value whole) { stacks_.insert_or_assign(key, std::move(whole)); }
  [[nodiscard]] Value* find_stack(const StackKey& key);
  /// What its members have is no longer there; views into it stay as they are.
  void forget_stack(const StackKey& key) { stacks_.erase(key); }
  [[nodiscard]] bool has_stack(const StackKey& key) const { return stacks_.contains(key); }

  void set(MemberId member, TensorId tensor, Value value) {
    values_[to_index(member)][to_index(tensor)] = std::move(value);
  }
  [[nodiscard]] const Value& of(MemberId member, TensorId tensor) const {
    return *values_[to_index(member)][to_index(tensor)];
  }
  [[nodiscard]] const Tensor& tensor(MemberId member, TensorId tensor) const {
    return models_[to_index(member)]->tensor(tensor);
  }
  [[nodiscard]] DataType type_of(const Tensor& tensor) const {
    return tensor.element == ElementType::kFloat32 ? type_ : DataType::kFloat32;
  }
  /// How the tensor lies where nothing else decides; a model's inputs have the plan's layout.
  [[nodiscard]] Layout layout_of(MemberId member, TensorId tensor) const {
    return layouts_[to_index(member)][to_index(tensor)];
  }
  /// Whether the tensor's own memory is what is read from outside: not where a float32 copy of it is.
  [[nodiscard]] bool is_output(MemberId member, TensorId tensor) const;

  /// The part's view into the stack that `whole` is.
  [[nodiscard]] View slice(const StackKey& key, const View& whole, std::size_t part) const;

  [[nodiscard]] std::vector<Buffer>& buffers() { return buffers_; }

 private:
  View allocate(std::string name, BufferKind kind, const Shape& shape, DataType type, Layout layout);

  std::span<const Model* const> models_;
  Layout layout_;
  DataType type_;
  std::vector<Buffer> buffers_;
  std::vector<std::vector<Layout>> layouts_;               ///< by member and tensor
  std::vector<std::vector<std::optional<Value>>> values_;  ///< by member and tensor
  std::map<StackKey, Value> stacks_;
};

}  // namespace cohort
