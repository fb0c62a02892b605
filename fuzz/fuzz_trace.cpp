#include <cstddef>
#include <cstdint>

#include "fuzz/trace_input.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  cohort::check_trace_input({reinterpret_cast<const char*>(data), size});
  return 0;
}
