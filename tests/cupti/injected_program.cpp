#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <thread>

#include "base/plugin.hpp"

// A program that CUDA's driver would inject the tracer into: does here what the driver does (open the module,
// call InitializeInjection), runs kernels on a fake device, and ends as its argument says.

int main(int argc, char** argv) {
  using cohort::SharedLibrary;
  if (argc != 4) return 2;
  const auto module = SharedLibrary::open(argv[1], SharedLibrary::Scope::kLocal);
  const auto device = SharedLibrary::open(argv[2], SharedLibrary::Scope::kLocal);
  if (!module || !device) return 2;
  const auto initialize = module->function<int()>("InitializeInjection");
  const auto kernel = device->function<void(std::uint64_t, std::uint64_t, std::uint32_t, std::uint64_t)>("fake_kernel");
  const auto flush = device->function<int(std::uint32_t)>("cuptiActivityFlushAll");
  if (!initialize || !kernel || !flush) return 2;
  (*initialize)();
  (*kernel)(10, 20, 1, 0);
  (*kernel)(30, 40, 2, 0);
  const bool crashes = std::strcmp(argv[3], "crash") == 0;
  if (crashes) {
    (*flush)(0);              // what the tracer's thread does now and then
    (*kernel)(50, 60, 3, 0);  // not flushed any more
    std::abort();
  }
  return 5;  // its own exit code; handlers at exit flush the rest
}
