#include "models/op_training.hpp"

namespace cohort {

Pack pack_of(const std::vector<Shape>& parts) {
  Pack pack;
  for (const Shape& part : parts) {
    pack.offsets.push_back(pack.size);
    pack.size = pack_place(pack.size + element_count(part));
  }
  return pack;
}

bool derives_from_result(ActivationKind kind) {
  switch (kind) {
    case ActivationKind::kRelu:
    case ActivationKind::kSigmoid:
    case ActivationKind::kTanh:
    case ActivationKind::kClip:
    case ActivationKind::kHardSigmoid:
    case ActivationKind::kSoftsign:
    case ActivationKind::kSqrt:
    case ActivationKind::kNeg:
    case ActivationKind::kExp:
    case ActivationKind::kReciprocal:
    case ActivationKind::kFloor:
    case ActivationKind::kCeil:
    case ActivationKind::kRound:
    case ActivationKind::kSign:
      return true;
    default:
      return false;
  }
}

}  // namespace cohort
