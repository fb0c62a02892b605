#include "view/explore/fusing_strategies.hpp"

#include "simulator/plan/fuse.hpp"

namespace cohort {

std::vector<Strategy> strategies_for(const Model& model, const Op& op, bool on_gpu) {
  std::vector<Strategy> found;
  for (const Strategy strategy :
       {Strategy::kDenseConvolution, Strategy::kGroupedConvolution, Strategy::kStridedBatch, Strategy::kGroupedGemm}) {
    if (strategy == Strategy::kGroupedGemm && !on_gpu) continue;
    const bool reads_input = !op.inputs.empty() && model.tensor(op.inputs[0]).role == TensorRole::kInput;
    if (fuse(model, op, strategy, 2, reads_input)) found.push_back(strategy);
  }
  return found;
}

}  // namespace cohort
