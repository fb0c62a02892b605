#pragma once

#include <QString>
#include <memory>

#include "tracer/trace.hpp"

namespace cohort {

/// A trace that was predicted and is in no file, and what it is of.
struct NamedPrediction {
  QString name;  ///< "concurrent x2 + strided batch (fc1)"
  std::shared_ptr<const Trace> trace;
};

}  // namespace cohort
