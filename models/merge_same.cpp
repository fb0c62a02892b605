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
    // Weights that training changes may be equal in one of several models that are to run as one.
    if (!is_constant(id) || !model().tensor(id).fixed) return id;
    std::vector<TensorId>& alike = constants_[look_of(id)];
    const auto same =
        std::find_if(alike.begin(), alike.end(), [&](TensorId other) { return has_same_bits(id, other); });
    const TensorId first = same != alike.end() ? *same : id;
    if (first == id) alike.push_back(id);
    first_.emplace(id, first);  // is not compared again
    return first;
  }

  /// What is the same for equal constants, and found without reading all of a large one.
  using Look = std::tuple<ElementType, Shape, std::vector<std::uint32_t>>;
  [[nodiscard]] Look look_of(TensorId id) const {
    constexpr std::size_t kMost = 16;
    const std::vector<float>& values = *loaded().weights.of(id);
    std::vector<std::uint32_t> some;
    for (std::size_t i = 0; i < values.size(); i += 1 + values.size() / kMost)
      some.push_back(std::bit_cast<std::uint32_t>(values[i]));
    return {model().tensor(id).element, shape(id), std::move(some)};
  }

  [[nodiscard]] bool has_same_bits(TensorId a, TensorId b) const {
    const std::vector<float>& x = *loaded().weights.of(a);
    const std::vector<float>& y = *loaded().weights.of(b);
    const auto same = [](float p, float q) {
      return std::bit_cast<std::uint32_t>(p) == std::bit_cast<std::uint32_t>(q);
    };
    return std::equal(x.begin(), x.end(), y.begin(), y.end(), same);
  }

  std::map<TensorId, TensorId> first_;
  std::map<Look, std::vector<TensorId>> constants_;
  std::map<std::vector<TensorId>, std::vector<std::size_t>> readers_of_;  ///< ops by what they read
};

}  // namespace

LoadedModel merge_same_ops(LoadedModel loaded) { return Merge(std::move(loaded)).run(); }

}  // namespace cohort
