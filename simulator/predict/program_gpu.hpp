#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <tuple>

#include "base/result.hpp"
#include "simulator/contention/gpu_profile.hpp"
#include "simulator/contention/kernel_demand.hpp"
#include "simulator/costs/recorded_launches.hpp"
#include "simulator/engine/gpu_work.hpp"
#include "simulator/engine/task_graph.hpp"
#include "simulator/plan/program.hpp"

namespace cohort {

/// What a call computes and moves, from the shapes of its operands; every operand is moved once.
struct CallWork {
  Flops flops;
  Bytes traffic;
  std::int64_t outputs = 0;  ///< elements
  bool is_product = false;   ///< a convolution or matrix product
  Precision precision = Precision::kFloat32;
};
CallWork work_of(const OpCall& call);
/// Of one of the `members`, at least one, that share a call's work equally.
CallWork part_of(const CallWork& all, int members);
/// The same of an op that has not been lowered.
CallWork call_work_of(const Model& model, const Op& op, Precision precision);

/// The time that a call takes of a GPU at its full rates: by its arithmetic or, where that takes longer, its traffic.
Nanoseconds roofline_time(const CallWork& work, const GpuProfile& gpu);

/// The same of a GPU as libraries use it: products reach half of its arithmetic, and less where the assumed launch's
/// blocks do not fill it.
Nanoseconds rough_time(const CallWork& work, const GpuProfile& gpu);

/// The assumed launch of a call without recorded kernels: matrix products use tiles of 32 x 64 outputs and blocks of
/// 256 threads, one on an SM; everything else four elements per thread. Libraries choose tiles, and split sums, so that
/// a product covers the SMs; of several sizes this one predicts streams best, of networks on an H200 from the time of
/// one step and of ResNet-50's processes on an A100 (docs/contention.md). If the real grid differs, predictions of
/// kernels side by side are off.
LaunchShape launch_shape_of(const CallWork& work);
/// Of several members' ops in one launch: the blocks of all of them.
LaunchShape launch_shape_of(const OpCall& call);

/// What the calls of programs ask of a GPU: their recorded time, their recorded launch or the assumed one above, and
/// the share of arithmetic and memory throughput that follows from their work and time. A call whose launch is assumed
/// keeps every SM that its blocks cover busy: what holds it up is not known, and measured co-runs leave no gain to
/// others there. Caches results; one planning thread at a time.
class GpuDemands {
 public:
  /// `precision`: of ops that have not been lowered yet.
  explicit GpuDemands(GpuProfile profile, RecordedLaunches launches = {}, Precision precision = Precision::kFloat32)
      : profile_(std::move(profile)), launches_(std::move(launches)), precision_(precision) {}

  [[nodiscard]] const GpuProfile& profile() const { return profile_; }
  [[nodiscard]] Precision precision() const { return precision_; }
  /// The largest share, above 0 and up to 1, of the device that a call uses which takes `time` alone: of its room for
  /// blocks, its arithmetic or its memory.
  [[nodiscard]] double share(const CallWork& work, Nanoseconds time) const;
  /// The time of several ops in one launch, whose blocks run side by side: the longer of its longest op and the sum of
  /// all ops' times, each weighted by its share of the device.
  struct Part {
    Nanoseconds time{};  ///< alone
    CallWork work;
    std::size_t count = 1;  ///< of equal ops
  };
  [[nodiscard]] Nanoseconds together(std::span<const Part> parts) const;
  /// How many kernels a step launches, by the profiles; at least one.
  [[nodiscard]] int kernels(const Step& step) const { return launches_.kernels(step.cost); }
  /// The kernels of `program` with the durations of `graph`'s steps (steps without duration are no kernels), and the
  /// graph's copies, which are uploads.
  /// Errors: those of demand_of(), naming the step's task.
  Result<GpuWork> work(const Program& program, const TaskGraph& graph);

 private:
  Result<const KernelDemand*> demand(const Step& step, Nanoseconds time);

  GpuProfile profile_;
  RecordedLaunches launches_;
  Precision precision_ = Precision::kFloat32;
  std::map<std::tuple<CostKey, Nanoseconds>, KernelDemand> known_;
};

}  // namespace cohort
