#pragma once

#include <map>
#include <string>

namespace cohort {

/// What a recording's file says about how it was made: version of Cohort, date (UTC).
std::map<std::string, std::string> provenance();

}  // namespace cohort
