#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "simulator/what_if/what_if.hpp"

namespace cohort {

/// What --fuse asks for.
struct FuseRequest {
  FuseChoice choice = FuseChoice::kNone;
  std::vector<std::string> names;  ///< of kNamed: as given, '*' for any text
};

/// "none", "auto", or names with ',' between them. Errors: kUsage for an empty name.
Result<FuseRequest> parse_fuse(const std::string& text);

}  // namespace cohort
