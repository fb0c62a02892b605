#pragma once

#include <memory>
#include <string>

#include "executor/backend.hpp"

namespace cohort::testing {

/// "reference" or "onednn" on two cores; null where this build has none of that name.
std::unique_ptr<Backend> make_backend(const std::string& name);

}  // namespace cohort::testing
