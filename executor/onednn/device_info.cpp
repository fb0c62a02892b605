#include <fmt/format.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <dnnl.hpp>
#include <fstream>
#include <string>
#include <vector>

#include "executor/host/core_binding.hpp"
#include "executor/onednn/onednn_kernels.hpp"

namespace cohort {
namespace {

std::string cpu_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("model name", 0) != 0) continue;
    const std::size_t colon = line.find(": ");
    if (colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown CPU";
}

Bytes memory() {
  struct sysinfo info {};
  if (sysinfo(&info) != 0) return {};
  return {static_cast<std::int64_t>(info.totalram) * static_cast<std::int64_t>(info.mem_unit)};
}

/// The level 3 cache of the first core that this process may use; zero where the system does not tell. sysconf() has
/// the sum over all such caches of the package instead.
Bytes shared_cache() {
  const int core = usable_cores().front();
  for (int index = 0;; ++index) {
    const std::string folder = fmt::format("/sys/devices/system/cpu/cpu{}/cache/index{}/", core, index);
    int level = 0;
    if (!(std::ifstream(folder + "level") >> level)) return {};
    std::int64_t kibibytes = 0;
    if (level == 3 && std::ifstream(folder + "size") >> kibibytes) return Bytes{1024} * kibibytes;  // "32768K"
  }
}

std::string isa_name(dnnl::cpu_isa isa) {
  switch (isa) {
    case dnnl::cpu_isa::sse41:
      return "sse41";
    case dnnl::cpu_isa::avx:
      return "avx";
    case dnnl::cpu_isa::avx2:
      return "avx2";
    case dnnl::cpu_isa::avx2_vnni:
      return "avx2_vnni";
    case dnnl::cpu_isa::avx512_core:
      return "avx512_core";
    case dnnl::cpu_isa::avx512_core_vnni:
      return "avx512_core_vnni";
    case dnnl::cpu_isa::avx512_core_bf16:
      return "avx512_core_bf16";
    case dnnl::cpu_isa::avx512_core_amx:
      return "avx512_core_amx";
    default:
      return fmt::format("isa {:#x}", static_cast<unsigned>(isa));
  }
}

std::string environment(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr ? value : "default";
}

}  // namespace

DeviceInfo onednn_device_info() {
  DeviceInfo info;
  info.id = "cpu:0";
  info.kind = "cpu";
  info.name = cpu_name();
  info.cores = static_cast<int>(usable_cores().size());
  info.memory = memory();
  const dnnl::version_t* const version = dnnl::version();
  info.settings = {
      {"library", fmt::format("oneDNN {}.{}.{}", version->major, version->minor, version->patch)},
      {"isa", isa_name(dnnl::get_effective_cpu_isa())},
      {"omp_wait_policy", environment("OMP_WAIT_POLICY")},
      {"omp_proc_bind", environment("OMP_PROC_BIND")},
      {"glibc_tunables", environment("GLIBC_TUNABLES")},
  };
  // Nothing, or zero, where a virtual machine does not tell.
  if (const long cache = sysconf(_SC_LEVEL2_CACHE_SIZE); cache > 0)
    info.settings.emplace(kCoreCacheSetting, std::to_string(cache));
  if (const Bytes cache = shared_cache(); cache.value > 0)
    info.settings.emplace(kSharedCacheSetting, std::to_string(cache.value));
  return info;
}

}  // namespace cohort
