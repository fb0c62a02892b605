#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "base/device.hpp"
#include "simulator/costs/recorded_catalog.hpp"

namespace cohort {

/// The recorded algorithms that the present device has for a call: fused widths that were never profiled may have other
/// algorithms than those that were.
class ProfiledDeviceCatalog final : public OpCatalog {
 public:
  /// `device` is null if the profiled device is not here; then recorded algorithms are used as they are. All must
  /// outlive this.
  ProfiledDeviceCatalog(const CostTable& costs, const DeviceInfo& profiled, Precision precision, int cores,
                        const OpCatalog* device);

  [[nodiscard]] Result<std::vector<Alternative>> alternatives(const OpCall& call, int threads) const override;
  [[nodiscard]] bool accepts_strides(const OpCall& call) const override;
  [[nodiscard]] std::vector<Precision> precisions() const override { return recorded_.precisions(); }
  [[nodiscard]] int multiprocessors() const override;
  [[nodiscard]] int cores() const override { return recorded_.cores(); }
  [[nodiscard]] std::optional<int> most_streams() const override;

 private:
  const CostTable& costs_;
  RecordedCatalog recorded_;
  bool on_gpu_;
  const OpCatalog* device_;
};

/// Whether `here` would run ops as the profiled device did: by the same library, for the same instructions. None does
/// of a profile whose ops were not timed (kEstimatedFrom).
bool is_profiled_device(const DeviceInfo& here, const DeviceInfo& profiled);

/// That more of a profile's ops can be timed on its device.
/// Errors, naming `what`: kInvalidInput where it was made from step times, and its ops were never timed.
Result<void> check_can_be_timed(const DeviceInfo& profiled, std::string_view what);
/// Errors, naming `what`: kDeviceMissing where this is another device than the profiled one.
Result<void> check_profiled_device(const DeviceInfo& here, const DeviceInfo& profiled, std::string_view what);

}  // namespace cohort
