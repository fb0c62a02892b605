#include "tests/strategies/backends.hpp"

#include "executor/host/host_session.hpp"
#include "executor/reference/reference_kernels.hpp"
#ifdef COHORT_WITH_ONEDNN
#include "executor/onednn/onednn_kernels.hpp"
#endif

namespace cohort::testing {

std::unique_ptr<Backend> make_backend(const std::string& name) {
  constexpr int kCores = 2;
#ifdef COHORT_WITH_ONEDNN
  if (name == "onednn") return std::make_unique<HostBackend>(make_onednn_kernels(kCores), onednn_device_info());
#endif
  if (name == "reference")
    return std::make_unique<HostBackend>(make_reference_kernels(kCores), reference_device_info(kCores));
  return nullptr;
}

}  // namespace cohort::testing
