#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "executor/cuda/plugin/cudnn_descriptor.hpp"
#include "simulator/plan/program.hpp"

namespace cohort::cuda {

/// Whose engines are asked for: a device by its handle, or one that is described in a file.
struct EngineSource {
  cudnnHandle_t handle = nullptr;
  const Descriptor* properties = nullptr;  ///< used where there is no handle
};

/// What of its numerics a caller accepts.
struct NumericLimits {
  bool tensor_cores = false;
  bool rounds_operands = false;   ///< float32 operands to 10 bits of mantissa: tf32
  bool nondeterministic = false;  ///< results that differ from run to run
};

/// float32 is exact, tf32 may round, 16-bit operands are multiplied as they are.
NumericLimits limits_of(Precision precision);

struct Knob {
  cudnnBackendKnobType_t type{};
  std::int64_t value = 0;

  friend bool operator==(const Knob&, const Knob&) = default;
};

/// One engine of cuDNN with its settings: what a plan stores.
struct Engine {
  std::int64_t index = 0;
  std::vector<Knob> knobs;  ///< by type
  Bytes workspace;
  std::vector<cudnnBackendNumericalNote_t> notes;
};

/// Whether its numerical notes say more than the limits accept. Sums in less than float32 and Winograd transforms in
/// tiles of 13x13 never are.
bool is_refused(const Engine& engine, const NumericLimits& limits);

/// "eng3:2=5,13=1": index and knobs by their numbers in cuDNN's header.
std::string engine_name(const Engine& engine);
/// Empty where the text is not such a name.
std::optional<Engine> engine_from(std::string_view name);

/// Tensors of a convolution's graph, as variant packs name them.
inline constexpr std::int64_t kXId = 1;
inline constexpr std::int64_t kWId = 2;
inline constexpr std::int64_t kYId = 3;
inline constexpr std::int64_t kBiasId = 4;
inline constexpr std::int64_t kFirstOperandId = 10;  ///< of the call's input number 0, and so on

/// The convolution of a call as a graph of cuDNN operations: y = post_ops(x * w + b). With `fused`
/// false, only x * w. Gradients, whose graph is one operation: kXId, kWId and kYId name what a ConvTranspose reads, its
/// filters and its result, or x, dy and dw. Filters lie as filters_of() says. Tensors are of the call's type, sums and
/// what lies between operations float32.
///
/// Alternatives, as cuDNN's heuristics rank them (mode A, then FALLBACK), without those that the
/// limits refuse, and those that cannot be built: the first eight, and for each further power of ten
/// of workspace, and each further set of numerical notes, the first; beyond the eight each engine with the settings
/// that stand first.
class ConvolutionGraph {
 public:
  /// Throws DeviceError where cuDNN refuses the graph as such.
  ConvolutionGraph(const OpCall& call, const EngineSource& source, bool fused);

  [[nodiscard]] std::vector<Engine> engines(const NumericLimits& limits) const;
  /// Prepares an engine; compiles it where it is compiled at run time. Empty: not supported here, or refused by
  /// the limits.
  [[nodiscard]] std::optional<Descriptor> plan(const Engine& engine, const NumericLimits& limits) const;

 private:
  [[nodiscard]] std::vector<Descriptor> ranked(cudnnBackendHeurMode_t mode) const;
  [[nodiscard]] std::optional<Descriptor> plan_of(const Descriptor& config) const;

  EngineSource source_;
  std::vector<Descriptor> parts_;  ///< what the graph refers to
  std::optional<Descriptor> graph_;
};

}  // namespace cohort::cuda
