#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "base/cancel.hpp"
#include "base/result.hpp"
#include "executor/backend.hpp"
#include "models/source.hpp"

namespace cohort {

/// Profiles a training step as `cohort profile MODEL --train OPTIMIZER` does, within its usual budget, and writes the
/// profile. An existing file is replaced.
/// Errors: those of onnx::load() and profile_model(); of the file.
Result<void> profile_training_step(Backend& backend, const ModelSource& source, const std::filesystem::path& file,
                                   const CancelToken& cancel, const std::function<void(const std::string&)>& progress);

}  // namespace cohort
