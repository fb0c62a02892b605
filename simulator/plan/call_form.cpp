#include "simulator/plan/call_form.hpp"

#include <algorithm>
#include <functional>
#include <string_view>
#include <utility>

namespace cohort {
namespace {

void mix(std::size_t& hash, std::size_t more) { hash ^= more + 0x9e3779b97f4a7c15ULL + (hash << 6) + (hash >> 2); }

void mix(std::size_t& hash, const Shape& shape) {
  for (const std::int64_t each : shape) mix(hash, static_cast<std::size_t>(each));
}

/// Libraries ask how far operands are aligned, to this many bytes at most; buffers begin where all can.
constexpr std::int64_t kAlignment = 64;

std::int64_t misaligned(const View& view) { return view.offset * element_bytes(view.type) % kAlignment; }

bool same_view(const View& a, const View& b) {
  return a.type == b.type && misaligned(a) == misaligned(b) && a.shape == b.shape && a.strides == b.strides;
}

bool same_operand(const Operand& a, const Operand& b) {
  if (a.index() != b.index()) return false;
  if (const auto* view = std::get_if<View>(&a)) return same_view(*view, std::get<View>(b));
  const auto& weight = std::get<WeightView>(a);
  const auto& other = std::get<WeightView>(b);
  return weight.type == other.type && weight.shape == other.shape;
}

/// Whether the call writes over what it reads there, and whether into the same buffer.
std::pair<bool, bool> in_place(const OpCall& call, std::size_t input) {
  const auto* const view = std::get_if<View>(&call.inputs[input]);
  if (view == nullptr) return {false, false};
  const auto same_buffer = [&](const View& output) { return output.buffer == view->buffer; };
  return {std::find(call.outputs.begin(), call.outputs.end(), *view) != call.outputs.end(),
          std::any_of(call.outputs.begin(), call.outputs.end(), same_buffer)};
}

}  // namespace

bool same_form(const OpCall& a, const OpCall& b) {
  if (a.signature != b.signature || a.strategy != b.strategy || a.width != b.width || a.precision != b.precision ||
      a.multiprocessors != b.multiprocessors || a.attributes != b.attributes || a.post_ops != b.post_ops ||
      a.inputs.size() != b.inputs.size() || a.outputs.size() != b.outputs.size())
    return false;
  for (std::size_t i = 0; i < a.inputs.size(); ++i) {
    if (!same_operand(a.inputs[i], b.inputs[i]) || in_place(a, i) != in_place(b, i)) return false;
  }
  for (std::size_t i = 0; i < a.outputs.size(); ++i) {
    if (!same_view(a.outputs[i], b.outputs[i])) return false;
  }
  return true;
}

std::size_t hash_of_form(const OpCall& call) {
  std::size_t hash = std::hash<std::string_view>()(call.signature);
  mix(hash, static_cast<std::size_t>(call.strategy));
  mix(hash, static_cast<std::size_t>(call.width));
  for (const Operand& operand : call.inputs) {
    if (const auto* view = std::get_if<View>(&operand)) mix(hash, view->strides);
  }
  for (const View& view : call.outputs) mix(hash, view.strides);
  return hash;
}

}  // namespace cohort
