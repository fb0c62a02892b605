#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "simulator/costs/recorded_catalog.hpp"
#include "simulator/planner/planner.hpp"
#include "simulator/predict/program_gpu.hpp"

namespace cohort {

/// A made-up case to plan: models, what they cost in every form, and a device. Moves would leave pointers behind.
class RandomPlanning {
 public:
  struct Size {
    std::size_t ops = 3;
    std::size_t members = 4;
    int cores = 2;
    bool on_gpu = false;  ///< an H100 that a core launches for
    int copy_time = 1;    ///< of an element, in ns
    int towers = 1;       ///< of convolutions side by side between others; 1: a chain of convolutions and layers
  };

  /// A network of convolutions, then fully connected layers, or of towers, each op with random times: how much faster
  /// on all cores, slower beside others, better or worse fused; and a time to decode an image. Same seed, same case.
  RandomPlanning(std::uint64_t seed, const Size& size);
  RandomPlanning(const RandomPlanning&) = delete;
  RandomPlanning& operator=(const RandomPlanning&) = delete;
  ~RandomPlanning() = default;

  /// Small enough to try every plan: 2 to 4 ops, 2 to 4 members, 2 to 4 cores.
  static std::unique_ptr<RandomPlanning> small(std::uint64_t seed);
  /// The same on a GPU, for times of which a launch is a part that counts.
  static std::unique_ptr<RandomPlanning> small_on_gpu(std::uint64_t seed);

  [[nodiscard]] PlanningCase planning_case();
  [[nodiscard]] const Model& model() const { return model_; }

 private:
  Model model_;
  Plan base_;
  DeviceProfile device_;
  std::optional<CostTable> costs_;
  std::unique_ptr<RecordedCatalog> catalog_;
  std::vector<const Model*> models_;
  std::optional<GpuDemands> gpu_;
};

}  // namespace cohort
