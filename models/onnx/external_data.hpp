#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "base/result.hpp"

namespace cohort::onnx {

/// Bytes of a tensor that lie in a file beside the model. `fields` are the tensor's external_data:
/// location, and where given offset and length (the rest of the file otherwise).
/// Errors: kInvalidInput for a location that is absolute or, links followed, not inside of `folder`,
/// for a file that cannot be read, and for a range that it does not have.
Result<std::string> external_bytes(const std::filesystem::path& folder,
                                   const std::map<std::string, std::string>& fields);

}  // namespace cohort::onnx
