#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "executor/onednn/implementation.hpp"
#include "models/op_elementwise.hpp"

namespace cohort::onednn {

/// What a loop over a run of elements gets; steps are between elements. y may be x.
struct ActivationRun {
  const float* x;
  std::int64_t x_step, count;
  float alpha, beta;  ///< the activation's
  float* y;
  std::int64_t y_step;
};

/// y = f(x), vectorised where both steps are one; null where there are no loops for the function.
using ActivationLoops = void (*)(const ActivationRun&);
ActivationLoops activation_loops(const Activation& op);

/// Functions that follow what a loop computes, as post-ops do.
class ActivationChain {
 public:
  /// Elements that stay in the first cache from one function to the next.
  static constexpr std::int64_t kChunk = 4096;

  /// Empty where one of them is no function, or has no loops.
  static std::optional<ActivationChain> of(const std::vector<PostOp>& post_ops);

  [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(functions_.size()); }

  /// Calls loop(first, count) for parts of `all` elements, and the functions on each part of y in place.
  template <class ComputeLoop>
  void follow(std::int64_t all, float* y, std::int64_t y_step, const ComputeLoop& loop) const {
    const std::int64_t chunk = functions_.empty() ? all : kChunk;
    for (std::int64_t first = 0; first < all; first += chunk) {
      const std::int64_t count = std::min(chunk, all - first);
      loop(first, count);
      for (std::size_t i = 0; i < loops_.size(); ++i) {
        float* const from = y + first * y_step;
        loops_[i]({from, y_step, count, functions_[i].alpha, functions_[i].beta, from, y_step});
      }
    }
  }

 private:
  std::vector<Activation> functions_;
  std::vector<ActivationLoops> loops_;
};

/// A call's post-ops in place on its output: a pass over memory for each sum, and one for the functions that follow
/// each other. Empty where there are no loops for one, or what is added is a constant or lies where the output does.
Loop follow_in_place(const OpCall& call, int threads);

}  // namespace cohort::onednn
