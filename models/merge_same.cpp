#include "models/merge_same.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "models/model_edit.hpp"

namespace cohort {
namespace {

class Merge : private ModelEdit {
 public:
  explicit Merge(LoadedModel loaded) : ModelEdit(std::move(loaded)) {}

  LoadedModel run() {
    for (std::size_t i = 0; i < op_count(); ++i) {
      for (std::size_t position = 0; position < op(i).inputs.size(); ++position) {
        const TensorId source = first_of(op(i).inputs[position]);
        if (source != op(i).inputs[position]) read_instead(i, position, source);
      }
      if (is_output(op(i).outputs[0]) || is_training_op(op(i).attributes)) continue;
      std::vector<std::size_t>& readers = readers_of_[op(i).inputs];
      const auto twin = std::find_if(readers.begin(), readers.end(), [&](std::size_t j) { return is_same(i, j); });
      if (twin == readers.end())
        readers.push_back(i);
      else
        first_.emplace(op(i).outputs[0], op(*twin).outputs[0]);
    }
    drop_unread();
    return finish();
  }

 private:
  [[nodiscard]] bool is_same(std::size_t i, std::size_t j) const {
    const Tensor& a = model().tensor(op(i).outputs[0]);
    const Tensor& b = model().tensor(op(j).outputs[0]);
    return a.shape == b.shape && a.element == b.element && op(i).attributes == op(j).attributes &&
           op(i).post_ops == op(j).post_ops;
  }

  /// The tensor that holds the same and comes first.
  TensorId first_of(TensorId id) {
    const auto found = first_.find(id);
    if (found != first_.end()) return found->second;
    if (!is_constant(id) || element_count(shape(id)) != 1) return id;
    const auto bits = std::bit_cast<std::uint32_t>(loaded().weights.of(id)->front());
    return numbers_.try_emplace({model().tensor(id).element, shape(id), bits}, id).first->second;
  }

  std::map<TensorId, TensorId> first_;
  std::map<std::tuple<ElementType, Shape, std::uint32_t>, TensorId> numbers_;  ///< constants of one element
  std::map<std::vector<TensorId>, std::vector<std::size_t>> readers_of_;       ///< ops by what they read
};

}  // namespace

LoadedModel merge_same_ops(LoadedModel loaded) { return Merge(std::move(loaded)).run(); }

}  // namespace cohort
