#pragma once

#include <filesystem>
#include <memory>

#include "tracer/trace.hpp"

namespace cohort {

/// A trace that was read, and the file that it was read from.
struct NamedTrace {
  std::filesystem::path file;
  std::shared_ptr<const Trace> trace;
};

}  // namespace cohort
