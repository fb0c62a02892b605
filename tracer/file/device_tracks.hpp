#pragma once

#include "tracer/trace.hpp"

namespace cohort {

/// Gives categories to slices of files that state none, where tracks and names tell what they are: on a stream of a
/// process "/device:GPU:0" (the profilers of JAX and TensorFlow), "Ascend Hardware" or "CUDA functions" (PyTorch before
/// 1.8) kernels, copies and memsets, with their device and stream as arguments; elsewhere calls of CUDA and HIP. Names
/// of tracks must be known. Time: O(n).
void recognise_device_tracks(Trace& trace);

}  // namespace cohort
