#include "simulator/plan/weight_distances.hpp"

#include <algorithm>
#include <map>

namespace cohort {

Bytes bytes_of(const View& view) { return {element_count(view.shape) * element_bytes(view.type)}; }

Bytes input_read_by(const Program& program) {
  return {program.memory.input.value / std::max(1, program.input_buffers)};
}

Bytes footprint_of(const Program& program) {
  return program.memory.total() - program.memory.input + input_read_by(program);
}

std::vector<Bytes> weight_distances(const Program& program) {
  const Bytes all = footprint_of(program);
  std::vector<Bytes> distances(program.steps.size(), all);
  std::map<StepId, std::vector<std::size_t>> uses;  // of kernels that several steps run
  std::vector<Bytes> touched{Bytes{}};              // before each step
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    const Step& step = program.steps[i];
    Bytes own = step.packed_weights;
    for (const View& view : step.call.outputs) own += bytes_of(view);
    touched.push_back(touched.back() + own);
    if (!step.same_kernel_as) continue;
    std::vector<std::size_t>& steps = uses[*step.same_kernel_as];
    if (steps.empty()) steps.push_back(to_index(*step.same_kernel_as));
    steps.push_back(i);
  }
  for (const auto& [kernel, steps] : uses) {
    std::vector<Bytes> gaps{std::min(all, touched.back() - touched[steps.back()] + touched[steps.front()])};
    for (std::size_t i = 1; i < steps.size(); ++i)
      gaps.push_back(std::min(all, touched[steps[i]] - touched[steps[i - 1]]));
    std::nth_element(gaps.begin(), gaps.begin() + std::ssize(gaps) / 2, gaps.end());
    for (const std::size_t step : steps) distances[step] = gaps[gaps.size() / 2];
  }
  return distances;
}

}  // namespace cohort
