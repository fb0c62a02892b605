#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "models/compute/fold_constants.hpp"
#include "models/onnx/onnx_file.hpp"

// Whatever the bytes: the reader ends soon, with a model that is valid before and after optimize_for_inference(), or
// with a message.

namespace {

void check(const cohort::Model& model) {
  const auto valid = cohort::validate(model);
  if (valid) return;
  std::fprintf(stderr, "a model that was read is not valid: %s\n", valid.error().message.c_str());
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  cohort::onnx::ReadOptions options;
  options.most_elements = std::int64_t{1} << 20;
  const auto loaded = cohort::onnx::parse_model({reinterpret_cast<const char*>(data), size}, options);
  if (!loaded) {
    if (loaded.error().message.empty()) std::abort();
    return 0;
  }
  check(loaded->model);
  check(cohort::optimize_for_inference(*loaded).model);
  return 0;
}
