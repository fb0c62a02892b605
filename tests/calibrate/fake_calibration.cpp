#include "calibrate/calibration_plugin.hpp"

#include "base/plugin.hpp"

// A plugin "calibration" that measures nothing, of a device that cuDNN does not describe.

namespace cohort {
namespace {

Result<Trace> calibrate(const CalibrationOptions& /*options*/) {
  Trace trace;
  trace.info.kind = TraceKind::kProfile;
  trace.info.device.name = "made up";
  return trace;
}

Result<DeviceDescriptions> properties(int /*device*/) {
  return DeviceDescriptions{{{"cuda", "{}"}}, {{"cudnn", "libcudnn.so.9 does not load"}}};
}

constexpr CalibrationPlugin kPlugin{&calibrate, &properties, nullptr};

}  // namespace
}  // namespace cohort

extern "C" COHORT_PLUGIN_EXPORT const cohort::CalibrationPlugin* cohort_calibration_plugin() {
  return &cohort::kPlugin;
}
