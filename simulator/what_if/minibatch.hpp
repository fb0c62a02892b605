#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "simulator/trace_graph/trace_graph.hpp"
#include "simulator/transform/change.hpp"
#include "tracer/trace.hpp"

namespace cohort {

/// A recorded step and its minibatch.
struct RecordedStep {
  const Trace* trace = nullptr;
  const TraceGraph* graph = nullptr;
  int minibatch = 1;
};

/// Times of device work at another minibatch, and why they may be wrong.
struct MinibatchChange {
  Change change;
  std::vector<std::string> doubts;
};

/// From two recordings of the same model: the i-th op of a stream in both is the same op, and its time and blocks lie
/// on a straight line through both. Outside the two minibatches a time falls at most in proportion to the minibatch.
/// Host work stays as in the first recording.
/// Errors: kNegativeAnswer where they do not launch the same number of ops; kUsage for equal minibatches.
Result<MinibatchChange> interpolate_minibatch(TaskGraph& graph, const RecordedStep& first, const RecordedStep& second,
                                              int wanted);

/// From one recording with the shapes of ops' inputs ("Input Dims"): an op grows with the minibatch where an input's
/// first extent is the minibatch, or a product of leading extents of such a tensor, as where samples and words are
/// flattened to rows; not where all such inputs have the shape of a weight of a convolution, a product, a normalisation
/// or an embedding, as in an optimiser's step. Its kernels' blocks grow in proportion, and with them the waves:
///   T' = t0 + ceil(W r) / ceil(W) (T - t0), r = wanted / recorded, t0 what no block takes
/// Copies grow in proportion; all else stays.
/// Errors: kNegativeAnswer where no shapes were recorded, none has the minibatch, or ops of unknown shape take more
/// than a fifth of the device's time.
Result<MinibatchChange> scale_minibatch(TaskGraph& graph, const RecordedStep& recorded, int wanted, Nanoseconds fixed);

}  // namespace cohort
