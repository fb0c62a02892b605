#pragma once

#include <optional>
#include <span>
#include <vector>

#include "executor/cuda/calls.hpp"
#include "executor/cuda/own/kernel_arguments.hpp"

namespace cohort::cuda::own {

/// Recurrent layers of one shape, each a member's own, as matrix products over all members: at once what does not
/// depend on the step before, and the rest step by step.
///
///     once         gates[b, t, n] = x[b, t, n] w[b]^T + bias[b]
///     at each t    gates[b, t] += h[b] r[b]^T                       LSTM, from the second step on
///                  turn[b] = h[b] r[b]^T                            GRU, whose reset gate comes behind the product
///                  h[b], y[b, t] = cell(gates[b, t], ...)
///
/// float32 alone: in 16 bits the gates would be rounded between the products.
class RecurrentSteps {
 public:
  /// Those of a call of one member or of several; empty where it cannot be run so.
  static std::optional<RecurrentSteps> of(const OpCall& call);

  /// One for each member.
  [[nodiscard]] const std::vector<OpCall>& calls() const { return calls_; }
  [[nodiscard]] Bytes workspace() const;
  /// What weights and the tables of one bind take of the store, at most.
  [[nodiscard]] Bytes packed_weights() const;
  /// `weights` as CallFactory::prepare() gets them for all calls. Throws DeviceError.
  void take_weights(std::span<const std::vector<float>> weights, WeightStore& store);

  /// The launches in order, on the memory of all calls, one behind another. The first product among them is that of the
  /// inputs, all others are of the state. Tables go to `store`. Throws DeviceError.
  [[nodiscard]] std::vector<KernelArguments> kernels(const CallArguments& arguments, WeightStore& store) const;

  /// Products [b, n, o] over all members, as kernels() has them; that of the state at one step, from the second on.
  [[nodiscard]] GemmArguments product_of_inputs(const CallArguments& arguments) const;
  [[nodiscard]] GemmArguments product_of_state(const CallArguments& arguments, std::int64_t step) const;

 private:
  explicit RecurrentSteps(std::vector<OpCall> calls) : calls_(std::move(calls)) {}

  struct Sizes {
    std::int64_t members = 1, steps = 1, samples = 1, inputs = 1, hidden = 1, gates = 4;
    [[nodiscard]] std::int64_t columns() const { return gates * hidden; }
  };
  /// The workspace's parts.
  struct Memory {
    float* x = nullptr;  ///< of all members; null where it is read where it lies
    float* gates = nullptr;
    float* turn = nullptr;  ///< of a GRU
    float* state = nullptr;
    float* cell = nullptr;  ///< of an LSTM
    std::int64_t bytes = 0;
  };

  [[nodiscard]] bool is_gru() const;
  [[nodiscard]] Sizes sizes() const;
  [[nodiscard]] Memory memory(std::byte* workspace) const;
  /// All members read the same x, whose samples lie at one distance from each other.
  [[nodiscard]] bool reads_in_place() const;
  [[nodiscard]] KernelArguments cell_of(std::size_t member, const CallArguments& arguments, std::int64_t step) const;
  /// Those of one member's call.
  [[nodiscard]] CallArguments arguments_of(std::size_t member, const CallArguments& arguments) const;

  std::vector<OpCall> calls_;
  const float* w_ = nullptr;           ///< dense [B, columns, I]
  const float* r_ = nullptr;           ///< dense [B, columns, H]
  const float* bias_ = nullptr;        ///< dense [B, columns]; null: none
  const float* state_bias_ = nullptr;  ///< of a GRU; likewise
};

}  // namespace cohort::cuda::own
