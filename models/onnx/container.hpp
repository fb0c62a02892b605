#pragma once

#include <filesystem>
#include <string_view>

#include "models/onnx/graph.hpp"

namespace cohort::onnx {

/// As parse_graph(), of a model that lies in `folder`: values of its tensors may lie in other files there.
Result<Graph> parse_graph(std::string_view bytes, const std::filesystem::path& folder);

/// The part of check_model() that needs no graph.
Result<void> check_container(std::string_view bytes);

}  // namespace cohort::onnx
