#pragma once

#include <map>
#include <string>

#include "base/result.hpp"
#include "models/source.hpp"

namespace cohort {

/// What a recording's file says about how it was made: version of Cohort, date (UTC).
std::map<std::string, std::string> provenance();

/// A model's source among a trace's settings, and back.
void write_source(const ModelSource& source, std::map<std::string, std::string>& settings);
/// Errors: kInvalidInput where the settings hold none.
Result<ModelSource> read_source(const std::map<std::string, std::string>& settings);

}  // namespace cohort
