#include "simulator/plan/member_classes.hpp"

#include <fmt/format.h>

#include <map>

namespace cohort {
namespace {

/// Tensors numbered in the order in which the model's inputs and ops name them: two files may list them otherwise.
class TensorNumbers {
 public:
  explicit TensorNumbers(const Model& model) {
    for (const TensorId id : model.inputs) of(id);
  }
  std::size_t of(TensorId id) { return numbers_.try_emplace(id, numbers_.size()).first->second; }

 private:
  std::map<TensorId, std::size_t> numbers_;
};

/// Equal for models of equal structure alone.
std::string structure_of(const Model& model, const std::vector<std::string>& signatures) {
  TensorNumbers numbers(model);
  std::string structure;
  for (std::size_t i = 0; i < model.ops.size(); ++i) {
    const Op& op = model.ops[i];
    structure += op.name + '\n' + signatures[i];
    for (const TensorId id : op.inputs) structure += fmt::format(" {}", numbers.of(id));
    structure += " ->";
    for (const TensorId id : op.outputs) structure += fmt::format(" {}", numbers.of(id));
    structure += '\n';
  }
  for (const TensorId id : model.outputs) structure += fmt::format(" {}", numbers.of(id));
  return structure;
}

}  // namespace

std::vector<MemberClass> member_classes(std::span<const Model* const> models, Precision precision) {
  std::vector<MemberClass> classes;
  std::map<const Model*, std::size_t> by_model;
  std::map<std::string, std::size_t> by_structure;
  for (std::uint32_t m = 0; m < models.size(); ++m) {
    const Model& model = *models[m];
    auto known = by_model.find(&model);
    if (known == by_model.end()) {
      std::vector<std::string> signatures;
      for (const Op& op : model.ops) signatures.push_back(signature_in(precision, signature_of(model, op)));
      const auto [place, is_new] = by_structure.emplace(structure_of(model, signatures), classes.size());
      if (is_new) classes.push_back({{}, &model, std::move(signatures)});
      known = by_model.emplace(&model, place->second).first;
    }
    classes[known->second].members.push_back(m);
  }
  return classes;
}

}  // namespace cohort
