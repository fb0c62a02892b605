#include "simulator/plan/member_classes.hpp"

#include <map>

namespace cohort {

std::vector<MemberClass> member_classes(std::span<const Model* const> models) {
  std::vector<MemberClass> classes;
  std::map<const Model*, std::size_t> by_model;
  std::map<std::string, std::size_t> by_structure;
  for (std::uint32_t m = 0; m < models.size(); ++m) {
    const Model& model = *models[m];
    auto known = by_model.find(&model);
    if (known == by_model.end()) {
      std::vector<std::string> signatures;
      std::string structure;
      for (const Op& op : model.ops) {
        signatures.push_back(signature_of(model, op));
        structure += op.name + '\n' + signatures.back() + '\n';
      }
      const auto [place, is_new] = by_structure.emplace(std::move(structure), classes.size());
      if (is_new) classes.push_back({{}, &model, std::move(signatures)});
      known = by_model.emplace(&model, place->second).first;
    }
    classes[known->second].members.push_back(m);
  }
  return classes;
}

}  // namespace cohort
