#pragma once

#include <cstdint>

#include "base/random.hpp"
#include "simulator/engine/task_graph.hpp"
#include "simulator/transform/change.hpp"

namespace cohort {

/// Two threads that launch kernels on three streams, with events and waits between them.
TaskGraph random_graph(Random& random);

/// About one in so many of the tasks.
Selection some_of(const TaskGraph& graph, Random& random, std::uint64_t one_in);

}  // namespace cohort
