#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "executor/cuda/device_api.hpp"
#include "simulator/plan/op_catalog.hpp"

namespace cohort::cuda {

/// Where the operands of a prepared call lie on the device: one pointer per input (null for a
/// WeightView) and per output, each to the view's first element, and the workspace, which begins at a
/// multiple of 64 bytes.
struct CallArguments {
  std::vector<const void*> inputs;
  std::vector<void*> outputs;
  std::byte* workspace = nullptr;
};

/// A call on given memory: nothing is left to do but to launch it.
class BoundCall {
 public:
  BoundCall() = default;
  BoundCall(const BoundCall&) = delete;
  BoundCall& operator=(const BoundCall&) = delete;
  virtual ~BoundCall() = default;

  /// Gives the call to a stream, also while that is being captured. Neither allocates nor searches. By
  /// one thread at a time for all calls prepared for a launch thread. Throws DeviceError.
  virtual void launch(StreamHandle stream) = 0;
};

/// A call with its weights on the device.
class PreparedCall {
 public:
  PreparedCall() = default;
  PreparedCall(const PreparedCall&) = delete;
  PreparedCall& operator=(const PreparedCall&) = delete;
  virtual ~PreparedCall() = default;

  /// The prepared call must outlive what it binds. Throws DeviceError.
  virtual std::unique_ptr<BoundCall> bind(const CallArguments& arguments) = 0;
};

/// Constant values on the device, for as long as a session lives.
class WeightStore {
 public:
  WeightStore() = default;
  WeightStore(const WeightStore&) = delete;
  WeightStore& operator=(const WeightStore&) = delete;
  virtual ~WeightStore() = default;

  /// Begins at a multiple of 256 bytes. Throws DeviceError.
  virtual const void* add(std::span<const std::byte> bytes) = 0;
};

/// How a call is to be run.
struct CallChoice {
  std::string algorithm;
  int launch_thread = 0;  ///< Program::launch_thread_of(): libraries have a handle for each
  int stream = 0;         ///< Step::stream: cuDNN has a handle for each that runs grouped convolutions
};

/// Prepares calls: what tells the library-backed device from the one of own kernels alone.
class CallFactory : public OpCatalog {
 public:
  /// `weights` holds the dense values of each WeightView among the inputs, in order.
  /// Errors: kInvalidInput where alternatives() does not list the algorithm. Throws DeviceError.
  virtual Result<std::unique_ptr<PreparedCall>> prepare(const OpCall& call, const CallChoice& choice,
                                                        std::span<const std::vector<float>> weights,
                                                        WeightStore& store) const = 0;
};

}  // namespace cohort::cuda
