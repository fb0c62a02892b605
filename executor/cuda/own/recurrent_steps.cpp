#include "executor/cuda/own/recurrent_steps.hpp"

#include <algorithm>

#include "executor/cuda/own/lowering.hpp"
#include "executor/cuda/own/own_calls.hpp"
#include "executor/cuda/own/table.hpp"
#include "executor/device_error.hpp"
#include "executor/reference/call.hpp"

namespace cohort::cuda::own {
namespace {

constexpr std::int64_t kAlignment = 64;

bool is_recurrent(const OpCall& call) {
  return std::holds_alternative<Lstm>(call.attributes) || std::holds_alternative<Recurrent>(call.attributes);
}

const View& x_of(const OpCall& call) { return std::get<View>(call.inputs[0]); }

bool alike(const OpCall& call, const OpCall& first) {
  if (!is_recurrent(call) || !check_supported(call) || call.outputs[0].type != DataType::kFloat32) return false;
  const std::size_t own = own_input_count(call);
  if (own != own_input_count(first) || canonical(call.attributes, {}) != canonical(first.attributes, {})) return false;
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    const bool is_view = std::holds_alternative<View>(call.inputs[i]);
    if (i < own && shape_of(call.inputs[i]) != shape_of(first.inputs[i])) return false;
    if (is_view != (i == 0 || i >= own)) return false;  // parameters that are computed lie with their members
  }
  return true;
}

/// The distance of one sample of x to the next, through all steps.
std::int64_t row_of(const View& x) { return x.shape[1] > 1 ? x.strides[1] : x.strides[0]; }

std::int32_t narrow(std::int64_t value) { return static_cast<std::int32_t>(value); }

}  // namespace

std::optional<RecurrentSteps> RecurrentSteps::of(const OpCall& call) {
  if (!is_recurrent(call)) return std::nullopt;  // of a grouped one: its first member's
  std::vector<OpCall> calls = call.parts.empty() ? std::vector{call} : parts_of(call);
  const OpCall& first = calls.front();
  if (!std::all_of(calls.begin(), calls.end(), [&](const OpCall& each) { return alike(each, first); }))
    return std::nullopt;
  if (x_of(first).shape[0] < 2) return std::nullopt;
  return RecurrentSteps(std::move(calls));
}

bool RecurrentSteps::is_gru() const { return std::holds_alternative<Recurrent>(calls_.front().attributes); }

RecurrentSteps::Sizes RecurrentSteps::sizes() const {
  const OpCall& call = calls_.front();
  const Shape& x = x_of(call).shape;
  const std::int64_t hidden =
      is_gru() ? std::get<Recurrent>(call.attributes).hidden : std::get<Lstm>(call.attributes).hidden;
  return {static_cast<std::int64_t>(calls_.size()), x[0], x[1], x[2], hidden, is_gru() ? 3 : 4};
}

bool RecurrentSteps::reads_in_place() const {
  const View& x = x_of(calls_.front());
  const bool same = std::all_of(calls_.begin(), calls_.end(), [&](const OpCall& call) { return x_of(call) == x; });
  const bool dense = x.shape[2] == 1 || x.strides[2] == 1;
  const bool even = x.shape[1] == 1 || x.strides[0] == x.shape[1] * x.strides[1];
  return same && dense && even && row_of(x) >= x.shape[2];
}

RecurrentSteps::Memory RecurrentSteps::memory(std::byte* workspace) const {
  const Sizes s = sizes();
  Memory memory;
  const auto take = [&](std::int64_t values) {
    auto* const at = workspace == nullptr ? nullptr : reinterpret_cast<float*>(workspace + memory.bytes);
    memory.bytes += (values * static_cast<std::int64_t>(sizeof(float)) + kAlignment - 1) / kAlignment * kAlignment;
    return at;
  };
  const std::int64_t rows = s.members * s.samples;
  if (!reads_in_place()) memory.x = take(rows * s.steps * s.inputs);
  memory.gates = take(rows * s.steps * s.columns());
  if (is_gru()) memory.turn = take(rows * s.columns());
  memory.state = take(rows * s.hidden);
  if (!is_gru()) memory.cell = take(rows * s.hidden);
  return memory;
}

Bytes RecurrentSteps::workspace() const { return Bytes{memory(nullptr).bytes}; }

Bytes RecurrentSteps::packed_weights() const {
  const Sizes s = sizes();
  const std::int64_t values = s.members * s.columns() * (s.inputs + s.hidden + 2);
  constexpr auto kCell =
      static_cast<std::int64_t>(std::max(sizeof(LstmCellArguments), sizeof(GruCellArguments)) + sizeof(std::int32_t));
  constexpr std::int64_t kRounded = 512;  // a table's two parts
  const std::int64_t tables =
      s.members > 1 ? 2 * s.members * kTableRoom.value + s.steps * (s.members * kCell + kRounded) : 0;
  return Bytes{values * static_cast<std::int64_t>(sizeof(float)) + tables};
}

void RecurrentSteps::take_weights(std::span<const std::vector<float>> weights, WeightStore& store) {
  const std::int64_t columns = sizes().columns();
  std::vector<float> w, r, bias, state_bias;
  for (const OpCall& call : calls_) {
    w.insert(w.end(), weights[0].begin(), weights[0].end());
    r.insert(r.end(), weights[1].begin(), weights[1].end());
    const bool biased = own_input_count(call) > 3;
    if (biased) {
      bias.insert(bias.end(), weights[2].begin(), weights[2].begin() + columns);
      state_bias.insert(state_bias.end(), weights[2].begin() + columns, weights[2].end());
    }
    weights = weights.subspan(biased ? 3 : 2);
  }
  const auto add = [&](const std::vector<float>& values) {
    return values.empty() ? nullptr : static_cast<const float*>(store.add(std::as_bytes(std::span(values))));
  };
  w_ = add(w);
  r_ = add(r);
  bias_ = add(bias);
  state_bias_ = add(state_bias);
}

CallArguments RecurrentSteps::arguments_of(std::size_t member, const CallArguments& arguments) const {
  std::size_t first = 0;
  for (std::size_t i = 0; i < member; ++i) first += calls_[i].inputs.size();
  const auto begin = arguments.inputs.begin() + static_cast<std::ptrdiff_t>(first);
  const auto end = begin + static_cast<std::ptrdiff_t>(calls_[member].inputs.size());
  return {{begin, end}, {arguments.outputs[member]}, nullptr};
}

GemmArguments RecurrentSteps::product_of_inputs(const CallArguments& arguments) const {
  const Sizes s = sizes();
  const Memory work = memory(arguments.workspace);
  GemmArguments product;
  product.batch = narrow(s.members);
  product.rows = narrow(s.steps * s.samples);
  product.columns = narrow(s.columns());
  product.inner = narrow(s.inputs);
  product.x = work.x != nullptr ? work.x : arguments.inputs[0];
  product.x_batch = work.x != nullptr ? s.steps * s.samples * s.inputs : 0;
  product.x_row = work.x != nullptr ? s.inputs : row_of(x_of(calls_.front()));
  product.w = w_;
  product.w_row = s.inputs;
  product.w_batch = s.columns() * s.inputs;
  product.bias = bias_;
  product.bias_batch = s.columns();
  product.y = work.gates;
  product.y_batch = s.steps * s.samples * s.columns();
  product.y_row = s.columns();
  return product;
}

GemmArguments RecurrentSteps::product_of_state(const CallArguments& arguments, std::int64_t step) const {
  const Sizes s = sizes();
  const Memory work = memory(arguments.workspace);
  GemmArguments product;
  product.batch = narrow(s.members);
  product.rows = narrow(s.samples);
  product.columns = narrow(s.columns());
  product.inner = narrow(s.hidden);
  product.x = work.state;
  product.x_batch = s.samples * s.hidden;
  product.x_row = s.hidden;
  product.w = r_;
  product.w_row = s.hidden;
  product.w_batch = s.columns() * s.hidden;
  product.y = is_gru() ? work.turn : work.gates + step * s.samples * s.columns();
  product.y_batch = (is_gru() ? 1 : s.steps) * s.samples * s.columns();
  product.y_row = s.columns();
  if (is_gru()) return product;
  product.post.count = 1;
  product.post.of[0].operand = product.y;  // kAdd: the share of the inputs, in place
  product.post.of[0].strides = {{product.y_batch, product.y_row, 1}};
  return product;
}

KernelArguments RecurrentSteps::cell_of(std::size_t member, const CallArguments& arguments, std::int64_t step) const {
  const Sizes s = sizes();
  const Memory work = memory(arguments.workspace);
  const auto place = static_cast<std::int64_t>(member);
  const Shape& strides = calls_[member].outputs[0].strides;
  const auto fill = [&](auto cell) {
    cell.samples = narrow(s.samples);
    cell.hidden = narrow(s.hidden);
    cell.first = step == 0;
    cell.state = work.state + place * s.samples * s.hidden;
    cell.y = advanced(arguments.outputs[member], step * strides[0], DataType::kFloat32);
    cell.y_sample = strides[strides.size() - 2];
    cell.y_hidden = strides[strides.size() - 1];
    return cell;
  };
  const float* const gates = work.gates + (place * s.steps + step) * s.samples * s.columns();
  if (is_gru()) {
    auto cell = fill(GruCellArguments{});
    cell.from_input = gates;
    cell.from_state = work.turn + place * s.samples * s.columns();
    cell.state_bias = state_bias_ == nullptr ? nullptr : state_bias_ + place * s.columns();
    return cell;
  }
  auto cell = fill(LstmCellArguments{});
  cell.gates = gates;
  cell.cell = work.cell + place * s.samples * s.hidden;
  return cell;
}

std::vector<KernelArguments> RecurrentSteps::kernels(const CallArguments& arguments, WeightStore& store) const {
  const Sizes s = sizes();
  const Memory work = memory(arguments.workspace);
  std::vector<KernelArguments> all;
  // What is done for each member on its own, in one launch.
  const auto each = [&](auto&& kernels_of_member) {
    std::vector<std::vector<KernelArguments>> parts;
    for (std::size_t i = 0; i < calls_.size(); ++i) parts.push_back(kernels_of_member(i));
    for (KernelArguments& launch : tabled(parts, store)) all.push_back(launch);
  };
  if (work.x != nullptr) {
    each([&](std::size_t i) {
      OpCall copy = calls_[i];
      const View& x = x_of(calls_[i]);
      copy.attributes = Expand{x.shape};
      copy.post_ops.clear();
      Operands operands;
      operands.inputs = {{arguments_of(i, arguments).inputs[0], x.shape, x.strides, x.type}};
      operands.y = work.x + static_cast<std::int64_t>(i) * s.steps * s.samples * s.inputs;
      operands.y_shape = x.shape;
      operands.y_strides = {s.samples * s.inputs, s.inputs, 1};
      operands.own_inputs = 1;
      return map_kernels(copy, operands);
    });
  }
  all.emplace_back(product_of_inputs(arguments));
  for (std::int64_t step = 0; step < s.steps; ++step) {
    if (step > 0) all.emplace_back(product_of_state(arguments, step));
    each([&](std::size_t i) { return std::vector{cell_of(i, arguments, step)}; });
  }
  each([&](std::size_t i) {
    std::vector<KernelArguments> finish;
    if (calls_[i].post_ops.empty()) return finish;
    auto epilogue = make_epilogue(calls_[i], arguments_of(i, arguments), nullptr);
    if (!epilogue) throw DeviceError(epilogue.error().message);
    finish.emplace_back(*std::move(epilogue));
    return finish;
  });
  return all;
}

}  // namespace cohort::cuda::own
