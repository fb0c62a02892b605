#include "simulator/plan/program.hpp"

#include <algorithm>
#include <charconv>

namespace cohort {

std::string member_ranges(std::span<const MemberId> members) {
  std::string text;
  for (std::size_t i = 0; i < members.size();) {
    std::size_t last = i;
    while (last + 1 < members.size() && to_index(members[last + 1]) == to_index(members[last]) + 1) ++last;
    if (!text.empty()) text += ',';
    text += std::to_string(to_index(members[i]));
    if (last > i) text += '-' + std::to_string(to_index(members[last]));
    i = last + 1;
  }
  return text;
}

int most_threads(const Program& program) {
  int most = 1;
  for (const Step& step : program.steps) most = std::max(most, step.cost.threads);
  return most;
}

Shape dense_strides(const Shape& shape, Layout layout) {
  const std::size_t rank = shape.size();
  const bool channels_last = layout == Layout::kNhwc && rank >= 4;
  const std::size_t channels = rank - 3;
  Shape strides(rank);
  std::int64_t stride = 1;
  const auto add = [&](std::size_t axis) {
    strides[axis] = stride;
    stride *= shape[axis];
  };
  if (channels_last) add(channels);
  for (std::size_t axis = rank; axis-- > 0;) {
    if (!channels_last || axis != channels) add(axis);
  }
  return strides;
}

OpCall grouped_call(std::vector<OpCall> calls) {
  OpCall grouped;
  std::map<std::string, int> counts;
  grouped.attributes = calls.front().attributes;
  grouped.precision = calls.front().precision;
  grouped.strategy = Strategy::kGroupedGemm;
  grouped.width = static_cast<int>(calls.size());
  for (OpCall& call : calls) {
    ++counts[call.signature];
    grouped.parts.push_back(
        {std::move(call.attributes), std::move(call.post_ops), call.inputs.size(), std::move(call.signature)});
    for (Operand& operand : call.inputs) grouped.inputs.push_back(std::move(operand));
    grouped.outputs.push_back(std::move(call.outputs.front()));
  }
  grouped.signature = grouped_signature(counts);
  return grouped;
}

std::string grouped_signature(const std::map<std::string, int>& ops) {
  std::string text;
  for (const auto& [signature, count] : ops)
    text += fmt::format("{}{} * {}", text.empty() ? kGroupPrefix : " + ", count, signature);
  return text;
}

namespace {

constexpr std::string_view kAnd = " + ";
constexpr std::string_view kTimes = " * ";
constexpr std::string_view kFor = " for ";
constexpr std::string_view kMultiprocessors = " multiprocessors";

/// The number of "4 * Gemm ..."; absent where the text does not begin so: behind " + " also post-ops stand.
std::optional<int> times_of(std::string_view text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (error != std::errc() || !text.starts_with(kTimes)) return std::nullopt;
  return number;
}

/// Where the first op of "4 * Gemm + Relu ... + 2 * Gemm ..." ends.
std::size_t end_of_first(std::string_view text) {
  std::size_t end = text.find(kAnd);
  while (end != std::string_view::npos && !times_of(text.substr(end + kAnd.size()))) end = text.find(kAnd, end + 1);
  return std::min(end, text.size());
}

}  // namespace

std::map<std::string, int> ops_of(std::string_view signature) {
  if (!signature.starts_with(kGroupPrefix)) return {{std::string(signature), 1}};
  std::map<std::string, int> ops;
  std::string_view rest = signature.substr(kGroupPrefix.size());
  while (!rest.empty()) {
    const std::string_view one = rest.substr(0, end_of_first(rest));
    if (const auto number = times_of(one)) ops.emplace(one.substr(one.find(kTimes) + kTimes.size()), *number);
    rest.remove_prefix(std::min(rest.size(), one.size() + kAnd.size()));
  }
  return ops;
}

std::string signature_for(int multiprocessors, std::string signature) {
  if (multiprocessors > 0) signature += fmt::format("{}{}{}", kFor, multiprocessors, kMultiprocessors);
  return signature;
}

std::string_view for_all_multiprocessors(std::string_view signature) {
  return signature.ends_with(kMultiprocessors) ? signature.substr(0, signature.rfind(kFor)) : signature;
}

std::string recorded_signature(std::string_view signature) {
  if (signature.starts_with(kGroupPrefix)) {
    if (auto ops = ops_of(signature); ops.size() == 1) return ops.begin()->first;
  }
  return std::string(signature);
}

std::vector<OpCall> parts_of(const OpCall& grouped) {
  std::vector<OpCall> calls;
  auto input = grouped.inputs.begin();
  for (std::size_t i = 0; i < grouped.parts.size(); ++i) {
    const CallPart& part = grouped.parts[i];
    const auto end = input + static_cast<std::ptrdiff_t>(part.inputs);
    OpCall& call = calls.emplace_back();
    call.attributes = part.attributes;
    call.post_ops = part.post_ops;
    call.inputs.assign(input, end);
    call.outputs = {grouped.outputs[i]};
    call.signature = part.signature;
    call.precision = grouped.precision;
    call.multiprocessors = grouped.multiprocessors;
    input = end;
  }
  return calls;
}

namespace {

std::string print_operand(const Program& program, const Operand& operand) {
  if (const auto* weights = std::get_if<WeightView>(&operand))
    return fmt::format("weights {}", to_string(weights->shape));
  const View& view = std::get<View>(operand);
  return fmt::format("{}+{} {}{}{}", program.buffer(view.buffer).name, view.offset, to_string(view.shape),
                     view.type == DataType::kFloat32 ? "" : " ",
                     view.type == DataType::kFloat32 ? "" : to_string(view.type));
}

std::string_view kind_name(BufferKind kind) {
  switch (kind) {
    case BufferKind::kInput:
      return "input";
    case BufferKind::kActivation:
      return "activation";
    case BufferKind::kWorkspace:
      return "workspace";
    case BufferKind::kOutput:
      return "output";
    case BufferKind::kState:
      return "state";
  }
  return "";
}

}  // namespace

std::string memory_parts(const MemoryUse& use) {
  std::string text =
      fmt::format("weights {}, activations {}, workspace {}, input {}", format_bytes(use.weights + use.parameters),
                  format_bytes(use.activations), format_bytes(use.workspace), format_bytes(use.input));
  if (use.gradients.value > 0) text += fmt::format(", of the activations gradients {}", format_bytes(use.gradients));
  if (use.optimizer.value > 0) text += fmt::format(", optimizer {}", format_bytes(use.optimizer));
  return text;
}

std::string memory_text(const MemoryUse& use) {
  return fmt::format("{} ({})", format_bytes(use.total()), memory_parts(use));
}

std::string print(const Program& program) {
  std::string text;
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    const Step& step = program.steps[i];
    text += fmt::format("{:4} {} stream {} threads {} {} {}", i, step.task, to_index(step.stream), step.cost.threads,
                        op_type(step.call.attributes), step.cost.algorithm);
    for (const Operand& operand : step.call.inputs) text += fmt::format(" <{}>", print_operand(program, operand));
    text += " ->";
    for (const View& view : step.call.outputs) text += fmt::format(" <{}>", print_operand(program, view));
    if (step.same_kernel_as) text += fmt::format(" by the kernel of {}", to_index(*step.same_kernel_as));
    if (!step.dependencies.empty()) text += " after";
    for (const StepId id : step.dependencies) text += fmt::format(" {}", to_index(id));
    text += "\n";
  }
  for (const Buffer& buffer : program.buffers)
    text += fmt::format("{} {} {} bytes at {}\n", kind_name(buffer.kind), buffer.name, buffer.size.value,
                        buffer.offset.value);
  text += fmt::format("weights {} activations {} workspace {} input {} bytes\n", program.memory.weights.value,
                      program.memory.activations.value, program.memory.workspace.value, program.memory.input.value);
  return text;
}

}  // namespace cohort
