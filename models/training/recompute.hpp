#pragma once

#include "models/model.hpp"

namespace cohort {

/// A training step in which the backward pass computes cheap activations anew instead of keeping them: results of
/// activations, arithmetic, dropout and normalisation by statistics, with the reshapes between them, whose own inputs
/// are kept for the backward pass anyway. So nothing is kept longer for it, and of
///
///     conv1 ── normalise + relu ── conv2        kept for gradients: what conv1 gives, and what conv2 reads
///
/// one of two tensors is left to keep. The op that computes "relu1" again is "relu1.again"; it stands before the first
/// one that reads its result, in the backward pass. Tensors keep their ids; new ones stand last. What is computed is
/// the same, bit for bit. A model that recomputes already, or has no backward pass, stays as it is.
///
/// Source: Chen et al., arXiv:1604.06174; for normalisation: Rota Bulò et al., arXiv:1712.02616.
Model recompute_activations(const Model& model);

/// Whether recompute_activations() would change it.
bool can_recompute(const Model& model);

}  // namespace cohort
