#pragma once

#include <filesystem>
#include <vector>

#include "cli/command.hpp"
#include "planning/named_trace.hpp"

namespace cohort {

/// Fits a device profile to a recording of microbenchmarks, starting from the published figures of its device, and
/// writes it; prints how far the fitted model is from what was measured, and which fields stay as published.
/// `profiles`, with ops beside others (cohort profile --beside), are then fitted on that device: what each op uses, and
/// how far ops beside ops are predicted.
/// Errors: kInvalidInput naming the file, where the recording holds no microbenchmarks, or names a device without
/// published figures; where a profile holds no op beside anything.
Result<void> write_device_fit(const NamedTrace& recording, const std::vector<NamedTrace>& profiles,
                              const std::filesystem::path& output, CommandContext& context);

}  // namespace cohort
