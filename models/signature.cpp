#include "models/model.hpp"

namespace cohort {

std::string signature_of(const Model& model, const Op& op) {
  std::string text = canonical(op.attributes, op.post_ops);
  for (const TensorId id : op.inputs) {
    const Tensor& tensor = model.tensor(id);
    text += tensor.role == TensorRole::kWeight ? " w" : " x";
    text += to_string(tensor.shape);
  }
  for (const TensorId id : op.outputs) {
    text += " -> ";
    text += to_string(model.tensor(id).shape);
  }
  return text;
}

}  // namespace cohort
