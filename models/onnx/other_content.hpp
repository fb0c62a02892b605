#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace cohort::onnx {

/// What a file that should hold ONNX data is instead, and the way out, after "it is ", from its first bytes: a Git LFS
/// pointer, a web page or an archive. Nothing where it looks like none of them.
std::optional<std::string> other_content(std::string_view bytes);

}  // namespace cohort::onnx
