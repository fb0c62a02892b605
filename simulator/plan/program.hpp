#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/ids.hpp"
#include "base/result.hpp"
#include "base/units.hpp"
#include "models/model.hpp"
#include "simulator/plan/plan.hpp"

namespace cohort {

enum class StepId : std::uint32_t {};
enum class BufferId : std::uint32_t {};
enum class StreamId : std::uint32_t {};
enum class MemberId : std::uint32_t {};

enum class BufferKind {
  kInput,       ///< written by the input pipeline, one instance per minibatch in flight
  kActivation,  ///< in the arena
  kWorkspace,   ///< in the arena
  kOutput,      ///< kept until the next step has run
  kState,       ///< lives across steps, read and updated in place by them
};

/// A block of device memory. Arena buffers whose uses the Program orders may share bytes.
struct Buffer {
  std::string name;
  BufferKind kind = BufferKind::kActivation;
  Bytes size;
  Bytes offset;               ///< in the arena; zero for inputs and outputs
  std::vector<StepId> users;  ///< ascending; the first writes it unless it is an input or a state
};
/// Activations and workspaces share the arena; all other buffers have their own memory.
inline bool in_arena(const Buffer& buffer) {
  return buffer.kind == BufferKind::kActivation || buffer.kind == BufferKind::kWorkspace;
}

/// Elements of a buffer seen as a tensor. Strides are in elements; a zero stride repeats.
struct View {
  BufferId buffer{};
  std::int64_t offset = 0;  ///< elements
  Shape shape;
  Shape strides;
  DataType type = DataType::kFloat32;

  friend bool operator==(const View&, const View&) = default;
};

struct MemberTensor {
  MemberId member{};
  TensorId tensor{};

  friend bool operator==(const MemberTensor&, const MemberTensor&) = default;
};

/// Constant values: those of `parts` one after another, seen as one dense tensor of `shape`. The
/// backend copies and packs them when a Program is loaded, for each step that has a kernel of its own.
struct WeightView {
  std::vector<MemberTensor> parts;
  Shape shape;
  DataType type = DataType::kFloat32;  ///< as the device stores it; values are given in float32

  friend bool operator==(const WeightView&, const WeightView&) = default;
};

using Operand = std::variant<View, WeightView>;

/// One member's own op in a call that does several members' at once.
struct CallPart {
  OpAttributes attributes;
  std::vector<PostOp> post_ops;  ///< their operands count from the part's first input
  std::size_t inputs = 0;        ///< the part's share of the call's inputs, which are in order of parts; one output
  std::string signature;
};

/// One op on given memory: all a backend needs to prepare and run it. Fused ops of a model batch
/// are ordinary calls with larger shapes.
struct OpCall {
  OpAttributes attributes;
  std::vector<PostOp> post_ops;
  std::vector<Operand> inputs;
  std::vector<View> outputs;

  // What the call computes, whatever its memory: by this, recorded costs and alternatives are found.
  std::string signature;  ///< of the single-member op (signature_of), or "Copy [shape]"; see signature_in()
  /// kSerial also for concurrent ops: the call is the same. kDenseConvolution for matrix products
  /// over a shared input, too.
  Strategy strategy = Strategy::kSerial;
  int width = 1;  ///< members computed by the call
  Precision precision = Precision::kFloat32;
  int multiprocessors = 0;  ///< number that libraries should choose algorithms for; 0: all
  /// If not empty, the call launches these independent ops together, and its own attributes and post-ops are ignored.
  std::vector<CallPart> parts;
};

/// One call that does the work of `calls`, which must be independent.
OpCall grouped_call(std::vector<OpCall> calls);
/// The calls that a grouped one is made of.
std::vector<OpCall> parts_of(const OpCall& grouped);
/// "Group: 2 * Gemm [4, 8] + 1 * Gemm [4, 9]": each op with its count.
inline constexpr std::string_view kGroupPrefix = "Group: ";
/// The signature under which a call tuned for some multiprocessors is recorded: "Gemm ... for 66 multiprocessors"; 0,
/// all, is not mentioned. And the reverse.
std::string signature_for(int multiprocessors, std::string signature);
std::string_view for_all_multiprocessors(std::string_view signature);
/// The beginning of a copy's signature, and the words before the number of parts of its stack.
inline constexpr std::string_view kCopyPrefix = "Copy ";
inline constexpr std::string_view kStackOf = " a stack of ";
/// The signature of a grouped call from its ops' signatures and counts, and the reverse. Any other call is one op,
/// once.
std::string grouped_signature(const std::map<std::string, int>& ops);
std::map<std::string, int> ops_of(std::string_view signature);
/// The signature under which timings and launches of a call are looked up, with strategy and width: for a grouped call
/// of equal ops that of the op, as the width is their number; else the call's own.
std::string recorded_signature(std::string_view signature);

/// What determines a step's cost; recorded costs are looked up by it.
struct CostKey {
  std::string signature;  ///< signature, strategy and width as in OpCall
  Strategy strategy = Strategy::kSerial;
  int width = 1;
  int threads = 1;
  std::string algorithm;
  std::string alone = {};  ///< as in Alternative

  friend auto operator<=>(const CostKey&, const CostKey&) = default;
};

/// One launch. Steps are in launch order, which is also a topological order.
struct Step {
  std::string task;  ///< stable id, the same for predicted and measured tasks: "3/conv1", "0-15/conv1"
  std::string op;    ///< model op name, or the tensor's for copies
  std::vector<MemberId> members;
  std::uint32_t group = 0;  ///< position in Plan::groups
  Phase phase = Phase::kForward;
  OpCall call;
  CostKey cost;
  StreamId stream{};
  std::optional<BufferId> workspace;
  Bytes packed_weights;
  /// On a CPU: an earlier step of the stream, whose kernel with its packed weights runs this step, too.
  std::optional<StepId> same_kernel_as = std::nullopt;
  std::vector<StepId> dependencies;  ///< ascending; by data, buffer reuse and `after`, without those that others imply

  /// The packed weights that are there for this step alone.
  [[nodiscard]] Bytes own_weights() const { return same_kernel_as ? Bytes{} : packed_weights; }
};

struct ProgramInput {
  BufferId buffer{};
  Shape shape;
  std::vector<MemberId> members;  ///< that read it; all where the input is shared
  std::string name;
  ElementType element = ElementType::kFloat32;
  /// kSetting: the first axis counts `members`, each of which reads its own row.
  TensorRole role = TensorRole::kInput;
};
struct ProgramOutput {
  MemberId member{};
  std::string name;
  View view;
  ElementType element = ElementType::kFloat32;
};

/// A state that a member keeps from step to step, dense in logical order.
struct ProgramState {
  MemberId member{};
  TensorId tensor{};  ///< of the member's model
  std::string name;
  View view;
};

struct MemoryUse {
  Bytes weights;      ///< constants, as packed
  Bytes activations;  ///< the arena's part that is not workspace, outputs included
  Bytes workspace;    ///< what the arena grows by for workspaces
  Bytes input;        ///< all buffers in flight
  Bytes parameters;   ///< trained parameters and running statistics: the states' first rows
  Bytes optimizer;    ///< states' other rows
  Bytes gradients;    ///< of the parameters; part of `activations`

  [[nodiscard]] Bytes total() const { return weights + activations + workspace + input + parameters + optimizer; }
};

/// "weights 8 MiB, activations 2 MiB, workspace 1 MiB, input 1 MiB", with further parts for a training step.
std::string memory_parts(const MemoryUse& use);
/// "12 MiB (weights 8 MiB, ...)"
std::string memory_text(const MemoryUse& use);

/// A Plan lowered on its Models: one step of the whole model batch, from input buffers to outputs.
/// The simulator costs it, the executor runs it.
struct Program {
  std::vector<Step> steps;
  std::vector<Buffer> buffers;
  std::vector<ProgramInput> inputs;
  std::vector<ProgramOutput> outputs;
  std::vector<ProgramState> states;  ///< by member, then as in its model
  int streams = 1;
  int launch_threads = 1;  ///< of a GPU
  int input_buffers = 2;
  Layout layout = Layout::kNhwc;
  Precision precision = Precision::kFloat32;
  LaunchMode launch = LaunchMode::kGraph;
  Bytes arena;
  MemoryUse memory;
  std::size_t member_count = 0;

  [[nodiscard]] const Step& step(StepId id) const { return steps[to_index(id)]; }
  [[nodiscard]] const Buffer& buffer(BufferId id) const { return buffers[to_index(id)]; }
  /// The launch thread of a stream, numbered from 0.
  [[nodiscard]] int launch_thread_of(StreamId stream) const {
    return static_cast<int>(to_index(stream) % static_cast<std::size_t>(launch_threads));
  }
};

/// "3", "0-15", "0-3,7": ascending members as task ids name them.
std::string member_ranges(std::span<const MemberId> members);

/// Of any of its steps, at least 1: more mean that what one step writes lies in the caches of several cores.
int most_threads(const Program& program);

/// Strides of a dense tensor of one member, whose 4-d form is in `layout`.
Shape dense_strides(const Shape& shape, Layout layout);

/// One line per step and buffer, for people and golden tests.
std::string print(const Program& program);

}  // namespace cohort
