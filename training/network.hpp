#pragma once

#include <cstdint>
#include <string>

#include "base/result.hpp"
#include "models/source.hpp"
#include "models/training/differentiate.hpp"
#include "training/data_set.hpp"
#include "training/member.hpp"

namespace cohort {

/// A network that members of one source train.
struct TrainedNetwork {
  ModelSource source;     ///< its training step
  LoadedModel inference;  ///< as it was read or built
  TrainingModel training;
  LoadedModel recomputing;  ///< the same step, which computes cheap activations anew (TrainingSpec::recompute)
  LoadedModel evaluation;   ///< of the same states
  NetworkEnds ends;
  bool gives_probabilities = false;  ///< ends_in_softmax()
  std::string fingerprint;           ///< of the training step: its ops, shapes and states
};

/// Errors: those of onnx::load_network(), differentiate() and network_ends().
Result<TrainedNetwork> make_network_to_train(const ModelSource& source);

/// Values that training from nothing begins with: matrices and kernels uniform and of He's size by the seed, scales 1,
/// biases and means 0, variances 1. Source: He et al., arXiv:1502.01852.
Weights first_weights(const Model& inference, std::uint64_t seed);

/// States with the weights of the network's own, as the first step finds them: what the optimizer keeps is zero.
MemberState first_state(const TrainedNetwork& network, const Weights& weights);

/// ONNX of the network with what a member has learned. Errors: those of onnx::serialize_model().
Result<std::string> learned_onnx(const TrainedNetwork& network, const MemberState& state);

}  // namespace cohort
