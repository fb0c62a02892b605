#pragma once

#include <functional>
#include <string_view>

#include "simulator/transform/change.hpp"

namespace cohort {

/// Tasks that a predicate holds for.
Selection select(const TaskGraph& graph, const std::function<bool(const Task&)>& holds);

/// Tasks whose own name, or that of an op or layer around them, is `pattern`: '*' stands for any
/// text, and a pattern without it for any name that contains it. Time: O(labels + scopes + tasks).
Selection select_named(const TaskGraph& graph, std::string_view pattern);

}  // namespace cohort
