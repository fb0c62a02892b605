#include "base/cuda_libraries.hpp"
#include "tracer/cupti/api.hpp"
#include "tracer/cupti/decoder.hpp"
#include "tracer/cupti/records.hpp"
#include "tracer/cupti/session.hpp"

namespace cohort::cupti {
namespace {

Result<std::unique_ptr<CuptiSession>> start(const CuptiOptions& options) {
  COHORT_CHECK(probe_cuda_driver());
  return start_session(options);
}

Result<std::string> version() {
  COHORT_TRY(const Api api, load_api());
  std::uint32_t number = 0;
  COHORT_CHECK(api.check(api.get_version(&number), "cuptiGetVersion"));
  return version_text(number);
}

constexpr CuptiPlugin kPlugin{&start, &decode, &version};

}  // namespace
}  // namespace cohort::cupti

extern "C" COHORT_PLUGIN_EXPORT const cohort::CuptiPlugin* cohort_cupti_plugin() { return &cohort::cupti::kPlugin; }
