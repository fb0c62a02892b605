#include "simulator/costs/reuse_distance.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <variant>

namespace cohort {
namespace {

/// Where an operand lies: in the arena by its place there, else in memory that only its buffer has.
struct Place {
  std::size_t operand = 0;  ///< of the call
  bool arena = false;
  std::int64_t at = 0;  ///< byte in the arena, or buffer

  friend auto operator<=>(const Place&, const Place&) = default;
};

struct CostKeyHash {
  std::size_t operator()(const CostKey& key) const {
    const std::hash<std::string> hash;
    return hash(key.signature) + 31 * hash(key.algorithm) + 101 * static_cast<std::size_t>(key.width + key.threads);
  }
};

double count(Bytes bytes) { return static_cast<double>(bytes.value); }

/// What is touched in a part of a program step.
class Touched {
 public:
  explicit Touched(const Program& program) : program_(program) {
    for (const Step& step : program.steps) {
      for (const Operand& operand : step.call.inputs) {
        const View* view = std::get_if<View>(&operand);
        if (view != nullptr && program.buffer(view->buffer).kind == BufferKind::kInput) read_ += count(bytes_of(*view));
      }
      for (const View& view : step.call.outputs) written_ += count(bytes_of(view));
      weights_ += count(step.packed_weights);
    }
  }

  [[nodiscard]] Bytes in(double part) const {
    const MemoryUse& memory = program_.memory;
    const double arena = count(memory.activations) + count(memory.workspace);
    const double input = count(input_read_by(program_));
    const double touched = std::min(arena, std::max(arena, written_) * part) +
                           std::min(input, std::max(input, read_) * part) +
                           std::min(count(memory.weights), weights_ * part);
    return part < 1 ? Bytes{std::llround(touched)} : footprint_of(program_);
  }

 private:
  const Program& program_;
  double written_ = 0;  ///< bytes of values that steps make
  double read_ = 0;     ///< bytes of input that steps read
  double weights_ = 0;  ///< bytes of weights that steps read, those that several share for each
};

/// By operand of one call, in how many places those of the others like it lie.
std::vector<std::size_t> places_of_operands(const Program& program, const EqualCalls& calls) {
  std::vector<Place> places;
  std::size_t operands = 0;
  const auto add = [&](std::size_t operand, const View& view) {
    const Buffer& buffer = program.buffer(view.buffer);
    const bool arena = in_arena(buffer);
    const std::int64_t own = arena ? buffer.offset.value : static_cast<std::int64_t>(to_index(view.buffer));
    const std::int64_t at = arena ? own + view.offset * element_bytes(view.type) : own;
    places.push_back({operand, arena, at});
    operands = std::max(operands, operand + 1);
  };
  for (const StepId id : calls.steps) {
    const OpCall& call = program.step(id).call;
    for (std::size_t i = 0; i < call.inputs.size(); ++i) {
      if (const View* view = std::get_if<View>(&call.inputs[i])) add(i, *view);
    }
    for (std::size_t i = 0; i < call.outputs.size(); ++i) add(call.inputs.size() + i, call.outputs[i]);
  }
  std::sort(places.begin(), places.end());
  places.erase(std::unique(places.begin(), places.end()), places.end());
  std::vector<std::size_t> counts(operands, 0);
  for (const Place& place : places) ++counts[place.operand];
  return counts;
}

std::vector<Reuse> reuses_of(const Program& program, const EqualCalls& calls, const Touched& touched) {
  const Step& step = program.step(calls.steps.front());
  const std::vector<std::size_t> places = places_of_operands(program, calls);
  std::map<double, double, std::greater<>> bytes;  // by part of the program step that passes
  const bool share = calls.weights != footprint_of(program);
  if (!share) bytes[1] += count(step.packed_weights);
  const auto add = [&](std::size_t operand, const View& view) {
    bytes[static_cast<double>(places[operand]) / static_cast<double>(calls.steps.size())] += count(bytes_of(view));
  };
  for (std::size_t i = 0; i < step.call.inputs.size(); ++i) {
    if (const View* view = std::get_if<View>(&step.call.inputs[i])) add(i, *view);
  }
  for (std::size_t i = 0; i < step.call.outputs.size(); ++i) add(step.call.inputs.size() + i, step.call.outputs[i]);
  double all = share ? count(step.packed_weights) : 0;
  for (const auto& [part, of_part] : bytes) all += of_part;
  std::vector<Reuse> reuses;
  if (share && all > 0) reuses.push_back({calls.weights, count(step.packed_weights) / all});
  for (const auto& [part, of_part] : bytes) reuses.push_back({touched.in(part), all > 0 ? of_part / all : 1.0});
  return reuses;
}

}  // namespace

std::vector<EqualCalls> reuse_distances(const Program& program) {
  std::vector<EqualCalls> all;
  std::unordered_map<CostKey, std::size_t, CostKeyHash> known;
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    const auto [place, is_new] = known.try_emplace(program.steps[i].cost, all.size());
    if (is_new) all.emplace_back();
    all[place->second].steps.push_back(StepId(i));
  }
  const Touched touched(program);
  const std::vector<Bytes> weights = weight_distances(program);
  for (EqualCalls& calls : all) {
    calls.weights = weights[to_index(calls.steps[calls.steps.size() / 2])];
    calls.reuses = reuses_of(program, calls, touched);
  }
  return all;
}

}  // namespace cohort
