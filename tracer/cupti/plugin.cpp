#include "base/cuda_libraries.hpp"
#include "tracer/cupti/decoder.hpp"
#include "tracer/cupti/session.hpp"

namespace cohort::cupti {
namespace {

Result<std::unique_ptr<CuptiSession>> start(const CuptiOptions& options) {
  COHORT_CHECK(probe_cuda_driver());
  return start_session(options);
}

constexpr CuptiPlugin kPlugin{&start, &decode};

}  // namespace
}  // namespace cohort::cupti

extern "C" COHORT_PLUGIN_EXPORT const cohort::CuptiPlugin* cohort_cupti_plugin() { return &cohort::cupti::kPlugin; }
