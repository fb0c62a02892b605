#pragma once

#include <string>

#include "base/result.hpp"
#include "planning/given_way.hpp"

namespace cohort {

/// "none", "auto", or names with ',' between them. Errors: kUsage for an empty name.
Result<FuseRequest> parse_fuse(const std::string& text);

}  // namespace cohort
