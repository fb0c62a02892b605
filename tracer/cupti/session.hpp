#pragma once

#include <memory>

#include "base/result.hpp"
#include "tracer/cupti_plugin.hpp"

namespace cohort::cupti {

/// A recording in this process that spools into memory and is decoded at its end. Errors: as CuptiPlugin::start, which
/// also asks for a driver first.
Result<std::unique_ptr<CuptiSession>> start_session(const CuptiOptions& options);

}  // namespace cohort::cupti
