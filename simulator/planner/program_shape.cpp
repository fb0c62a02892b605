#include "simulator/planner/program_shape.hpp"

namespace cohort {

ProgramShape shape_of(const Program& program) {
  ProgramShape shape;
  for (const Step& step : program.steps) {
    shape.push_back(static_cast<std::uint32_t>(to_index(step.stream)));
    shape.push_back(static_cast<std::uint32_t>(step.call.strategy));
    shape.push_back(static_cast<std::uint32_t>(step.call.multiprocessors));
    shape.push_back(static_cast<std::uint32_t>(step.dependencies.size()));
    for (const StepId id : step.dependencies) shape.push_back(static_cast<std::uint32_t>(to_index(id)));
  }
  return shape;
}

}  // namespace cohort
