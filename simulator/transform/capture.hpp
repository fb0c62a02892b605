#pragma once

#include <string_view>

namespace cohort {

/// Whether a call of CUDA's or HIP's runtime or driver cannot be part of a graph, so that the host makes it beside
/// graph launches: calls that wait for device work, synchronous copies and memsets, and what allocates, frees or pins
/// memory or loads code. Their stream-ordered forms (cudaMallocAsync) become nodes.
/// Source: CUDA C++ Programming Guide, "Creating a Graph Using Stream Capture", prohibited and unhandled operations.
bool refuses_capture(std::string_view call);

}  // namespace cohort
