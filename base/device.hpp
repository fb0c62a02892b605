#pragma once

#include <map>
#include <string>

#include "base/units.hpp"

namespace cohort {

/// What is known of a device without running anything on it.
struct DeviceInfo {
  std::string id;    ///< "cpu:0", "reference:0", "cuda:0"
  std::string kind;  ///< "cpu", "reference", "cuda"
  std::string name;  ///< "AMD EPYC 9B45"
  int cores = 1;     ///< cores that ops can use at the same time
  Bytes memory;
  bool available = true;
  std::string reason;                           ///< why not available and how to get it; empty otherwise
  std::map<std::string, std::string> settings;  ///< library versions, ISA, environment: what a recording depends on
};

}  // namespace cohort
