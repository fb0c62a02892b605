#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/device.hpp"
#include "base/units.hpp"
#include "simulator/plan/plan.hpp"

namespace cohort {

/// A profiled model, or a program whose trace was recorded.
struct ExploredModel {
  std::string name;
  std::vector<std::filesystem::path> files;  ///< several: one for each minibatch
  std::optional<std::int64_t> minibatch;     ///< as recorded; absent: several, or unknown
};

/// What can be named in a group of a plan, or in `fused` and `scale` of a trace.
struct ExploredOp {
  std::string name;
  std::string type;                  ///< "Conv"; of a trace "kernel", "copy" ...
  std::size_t models = 1;            ///< so many of the models have an op of that name
  std::size_t count = 1;             ///< of a trace: in one step of each
  Nanoseconds time{};                ///< all of that name in one step of each model alone; 0 where unknown
  std::vector<Strategy> strategies;  ///< of a profile: those by which members can compute it together
};

/// Most launch threads of a GPU with single launches; more are useless.
inline constexpr int kMostLaunchThreads = 64;

/// What is being explored, and which settings apply.
struct ExploreFacts {
  enum class Kind { kProfiles, kTraces };
  Kind kind = Kind::kProfiles;
  std::string name;  ///< of the first model: what files are called
  DeviceInfo device;
  bool on_gpu = false;
  std::vector<ExploredModel> models;
  std::vector<ExploredOp> ops;            ///< of profiles by first appearance, of traces most time first
  std::vector<std::int64_t> minibatches;  ///< to choose from, ascending; one of them where it cannot be changed
  bool any_minibatch = false;             ///< of a trace with recorded shapes: any number can be asked for
  int most_models = 4096;                 ///< of each
  int most_streams = 1;                   ///< a CPU's cores; of a GPU 128
  bool launches = false;                  ///< graphs and launch threads apply
  int most_launch_threads = 1;
  bool reads_input = false;  ///< how input is read was recorded: `data`, decode_workers, buffers
  bool shares_input = true;  ///< shared_input applies
  bool limits_workspace = false;
  bool limits_memory = true;  ///< of a trace: where it recorded allocations
  std::optional<Bytes> device_memory;
  std::size_t measured_runs = 0;  ///< traces of plans that were run, among the files: points of scaling()
};

}  // namespace cohort
