#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "simulator/colocation/colocate.hpp"

namespace cohort {

/// A table, with what it says of one process.
struct TimedModel {
  std::string file;
  std::string name;
  StepTimes times;
  ProcessDemands demands;
  Bytes copied;  ///< bytes of input that a sample copies to the GPU in every step
};
/// Named after its file.
TimedModel timed_model(const std::filesystem::path& file, StepTimes times, Bytes copied);

/// Rows of one process by what they are of. Nothing stands for all of one table, and of several for each one's last
/// minibatch and share, and whole steps.
struct RowSelection {
  std::vector<int> minibatches;
  std::vector<double> shares;  ///< in the unit of the table's column
  std::vector<std::string> parts;
};

/// Several equal processes of one table.
struct EqualProcesses {
  ProcessDemand demand;  ///< of each
  int count = 2;
  Colocation colocation;
  std::optional<MeasuredTogether> measured;  ///< where the table has it
};

/// For each selected row, in the table's order, and each count.
/// Errors: kUsage where no row is selected.
Result<std::vector<EqualProcesses>> equal_processes(const TimedModel& model, const RowSelection& selection,
                                                    const std::vector<int>& counts);

/// One process of each of several tables.
struct DifferentProcesses {
  std::vector<Colocated> processes;  ///< in the order of the tables
  ShareUnit unit = ShareUnit::kAll;
  GpuSharing sharing = GpuSharing::kTogether;
  Colocation colocation;
};

/// The selection gives a value for all tables or one for each. Where it gives shares of the multiprocessors, each
/// process has its own.
/// Errors: kUsage where a table has no such row, or its rows are of parts of the GPU that cannot be told together.
Result<DifferentProcesses> different_processes(std::span<const TimedModel> models, const RowSelection& selection);

}  // namespace cohort
