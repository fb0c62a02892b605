#include "base/plugin.hpp"
#include "executor/cuda/plugin/cuda_backend.hpp"
#include "executor/cuda/plugin/library_calls.hpp"
#include "executor/cuda_plugin.hpp"

namespace {

cohort::Result<std::unique_ptr<cohort::OpCatalog>> described(const std::filesystem::path& file) {
  return cohort::cuda::make_described_catalog(file);
}

}  // namespace

extern "C" COHORT_PLUGIN_EXPORT const cohort::CudaPlugin* cohort_cuda_plugin() {
  static constexpr cohort::CudaPlugin kPlugin{cohort::cuda::list_devices, cohort::cuda::open_device, described};
  return &kPlugin;
}
