#pragma once

#include <filesystem>
#include <functional>
#include <memory>

#include "executor/cuda/calls.hpp"
#include "executor/cuda/own/own_calls.hpp"
#include "executor/cuda/plugin/cudnn_convolution.hpp"

namespace cohort::cuda {

/// What differs from GPU to GPU.
struct DeviceAbilities {
  std::vector<Precision> precisions;
  int multiprocessors = 0;
};

/// Convolutions by cuDNN ("cudnn:eng28:2=4,3=0"; "cudnn+own:..." where bias and post-ops follow in a kernel of
/// ours), products by cuBLASLt ("lt:..."), everything by own kernels ("own:..."), which are listed last; for recurrent
/// layers and for products of members of different sizes own kernels come first, and behind them cuBLASLt's products
/// over all members ("lt-steps:...") and cuBLAS's grouped ones ("cublas:grouped"). Both the factory and `launcher` must
/// outlive what is prepared. Alternatives are kept by the call's shapes and strides. Each launch thread has handles and
/// plans of its own, made when the first call is prepared for it: cuDNN does not promise that a plan may be executed by
/// two threads at a time. `use` makes the device current in the calling thread, as the libraries are asked by any.
/// Throws DeviceError.
std::unique_ptr<CallFactory> make_library_calls(KernelLauncher& launcher, DeviceAbilities abilities,
                                                std::function<void()> use);

/// Lists what a device that is not here would run, from its properties in a file (parse_device_properties()):
/// convolutions by cuDNN's engines with their workspaces, all else by own
/// kernels, since cuBLASLt lists nothing without the device.
/// Errors: kInvalidInput naming the file where it cannot be read or is no such description.
Result<std::unique_ptr<OpCatalog>> make_described_catalog(const std::filesystem::path& file);

}  // namespace cohort::cuda
