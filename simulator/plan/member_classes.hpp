#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "models/model.hpp"
#include "simulator/plan/precision.hpp"

namespace cohort {

/// Members of equal structure: the same op names with the same signatures, in the same order, on the same tensors.
struct MemberClass {
  std::vector<std::uint32_t> members;   ///< ascending
  const Model* model = nullptr;         ///< of the first
  std::vector<std::string> signatures;  ///< by op, as profiles of the precision name them: signature_in()
};

/// Classes in order of their first member.
std::vector<MemberClass> member_classes(std::span<const Model* const> models,
                                        Precision precision = Precision::kFloat32);

}  // namespace cohort
