#pragma once

#include <optional>
#include <string_view>

namespace cohort {

/// A part of a GPU that is a device of its own (MIG, multi-instance GPU).
struct MigSlice {
  std::string_view gpu;  ///< name of the whole GPU
  int compute = 1;       ///< of the GPU's 7 parts with multiprocessors
  int gigabytes = 0;     ///< of the GPU's memory, as NVIDIA rounds them
};

/// The slice that a device's name says, "NVIDIA A100-SXM4-40GB MIG 3g.20gb" or "... 1g.5gb+me"; absent for other names.
/// Views `device`.
std::optional<MigSlice> mig_slice_of(std::string_view device);

}  // namespace cohort
