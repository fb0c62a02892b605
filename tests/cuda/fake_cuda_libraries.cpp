#include <cstddef>
#include <cstdint>
#include <cstdlib>

// Stands for whichever of NVIDIA's libraries it is linked to: of them all it has the functions that tell a version,
// which the environment says.

namespace {

std::size_t from(const char* variable) {
  const char* const value = std::getenv(variable);
  return value != nullptr ? static_cast<std::size_t>(std::atoll(value)) : 0;
}

}  // namespace

extern "C" {

std::size_t cudnnGetVersion() { return from("FAKE_CUDNN_VERSION"); }
std::size_t cublasLtGetVersion() { return from("FAKE_CUBLASLT_VERSION"); }
int cuptiGetVersion(std::uint32_t* version) {
  *version = static_cast<std::uint32_t>(from("FAKE_CUPTI_VERSION"));
  return 0;
}

}  // extern "C"
