#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>

#include "base/plugin.hpp"

// A program that CUDA's driver would inject the tracer into: does here what the driver does (open the module,
// call InitializeInjection), runs kernels on a fake device, and ends as its argument says. A fourth argument is the
// driver that it loads.

int main(int argc, char** argv) {
  using cohort::SharedLibrary;
  if (argc < 4 || argc > 5) return 2;
  const std::string_view how = argv[3];
  // Registered before the tracer's, so that it runs after: the libraries of others take their time to be torn down.
  if (how == "slow end") std::atexit([] { std::this_thread::sleep_for(std::chrono::milliseconds(700)); });
  if (argc == 5 && !SharedLibrary::open(argv[4], SharedLibrary::Scope::kLocal)) return 2;
  const auto module = SharedLibrary::open(argv[1], SharedLibrary::Scope::kLocal);
  const auto device = SharedLibrary::open(argv[2], SharedLibrary::Scope::kLocal);
  if (!module || !device) return 2;
  if (how == "junk" || how == "only junk")  // what a process leaves that dies while it begins
    std::ofstream(std::string(std::getenv("COHORT_TRACE_SPOOL")) + ".0") << "Coh";
  if (how == "only junk") return 5;
  const auto initialize = module->function<int()>("InitializeInjection");
  const auto kernel = device->function<void(std::uint64_t, std::uint64_t, std::uint32_t, std::uint64_t)>("fake_kernel");
  const auto flush = device->function<int(std::uint32_t)>("cuptiActivityFlushAll");
  if (!initialize || !kernel || !flush) return 2;
  if (how == "ranges") {  // what NVTX does when it is first called
    const auto ranges = module->function<int(const void* (*)(std::uint32_t))>("InitializeInjectionNvtx2");
    if (!ranges || (*ranges)(nullptr) != 1) return 2;
  }
  (*initialize)();
  (*kernel)(10, 20, 1, 0);
  (*kernel)(30, 40, 2, 0);
  if (how == "crash") {
    (*flush)(0);              // what the tracer's thread does now and then
    (*kernel)(50, 60, 3, 0);  // not flushed any more
    std::abort();
  }
  if (how == "exec") {  // the same process goes on as another program, which the driver traces anew
    (*flush)(0);
    argv[3] = const_cast<char*>("well");
    ::execv(argv[0], argv);
    return 2;
  }
  return how == "zero" ? 0 : 5;  // its own exit code; handlers at exit flush the rest
}
