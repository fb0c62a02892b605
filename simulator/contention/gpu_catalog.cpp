#include <algorithm>
#include <array>
#include <initializer_list>

#include "base/text.hpp"
#include "simulator/contention/gpu_profile.hpp"

namespace cohort {
namespace {

using namespace literals;

constexpr double kGiga = 1e9;
constexpr std::int64_t kGibibyte = std::int64_t{1} << 30;

/// One line of a data sheet. Rates that follow from the clock are computed: 128 bytes a cycle and SM of shared memory,
/// 64 to L2 (both: Jia et al., "Dissecting the NVIDIA Volta GPU Architecture via Microbenchmarking", 2018).
struct Sheet {
  ComputeCapability capability;
  int sms;
  double clock_mhz;
  int fma_lanes;        ///< float32 lanes an SM
  double tensor_flops;  ///< teraflops
  double l2_gb;         ///< GB/s
  double dram_gb;       ///< GB/s
  Bytes l2_size;
  std::int64_t memory_gib;
  double link_gb;  ///< GB/s one way that pinned copies reach: about 80% of the PCIe generation's raw rate
  LaunchCosts launch;
  std::string_view source;
};

/// Typical figures: call to kernel start on an idle stream and gaps on a busy one as public traces of V100 and H100
/// show them; the rest are rough values to be replaced by a calibration. How long a launch holds the driver's lock is
/// published nowhere: all of it. A chain's nodes cost what others do: only drivers since CUDA 12.6 take them in at
/// once.
constexpr LaunchCosts kOlder = {4_us, 7_us, 750_ns, 8_us, 400_ns, 1_us, 1500_ns, 1500_ns, 4_us, 400_ns};
constexpr LaunchCosts kNewer = {2500_ns, 7_us, 1_us, 6_us, 200_ns, 700_ns, 1200_ns, 1300_ns, 2500_ns, 200_ns};

// L2 rates: P100 and V100 as measured by Jia et al. 2018 (1624 and 2155 GB/s); A100 5120 bytes a cycle (NVIDIA, "A100
// Tensor Core GPU Architecture", 2020); Hopper has no published figure: A100's bytes a cycle at its own clock, which
// is an upper bound; T4 as measured by Jia et al. 2019 (1270 GB/s). Of L4, RTX 3090 and 4090 none is published either:
// 32 bytes a cycle and SM, half of what an SM can take.
constexpr std::string_view kPascal = "NVIDIA Tesla P100 whitepaper (WP-08019), 2016; L2: Jia et al. 2018";
constexpr std::string_view kVolta = "NVIDIA Tesla V100 whitepaper (WP-08608), 2017; L2: Jia et al. 2018";
constexpr std::string_view kAmpere = "NVIDIA A100 Tensor Core GPU Architecture and data sheet, 2020-2021";
constexpr std::string_view kHopper = "NVIDIA H100 Tensor Core GPU Architecture and data sheet, 2022; L2 estimated";
constexpr std::string_view kHopper200 = "NVIDIA H200 data sheet, 2023; SM as H100; L2 estimated";

constexpr std::string_view kTuring = "NVIDIA T4 data sheet, 2019; L2: Jia et al. 2019";
constexpr std::string_view kGa102 = "NVIDIA Ampere GA102 GPU Architecture, 2021; L2 estimated";
constexpr std::string_view kAda = "NVIDIA Ada GPU Architecture, 2023; L2 estimated";
constexpr std::string_view kL4 = "NVIDIA L4 data sheet, 2023; L2 estimated";

constexpr Sheet kP100Sxm = {{6, 0}, 56, 1480, 64, 0, 1624, 732, 4_MiB, 16, 12, kOlder, kPascal};
constexpr Sheet kP100Pcie = {{6, 0}, 56, 1303, 64, 0, 1430, 732, 4_MiB, 16, 12, kOlder, kPascal};
constexpr Sheet kP100Pcie12 = {{6, 0}, 56, 1303, 64, 0, 1430, 549, 3_MiB, 12, 12, kOlder, kPascal};
constexpr Sheet kV100Sxm16 = {{7, 0}, 80, 1530, 64, 125, 2155, 900, 6_MiB, 16, 12, kOlder, kVolta};
constexpr Sheet kV100Sxm32 = {{7, 0}, 80, 1530, 64, 125, 2155, 900, 6_MiB, 32, 12, kOlder, kVolta};
constexpr Sheet kV100Pcie16 = {{7, 0}, 80, 1380, 64, 112, 1944, 900, 6_MiB, 16, 12, kOlder, kVolta};
constexpr Sheet kV100Pcie32 = {{7, 0}, 80, 1380, 64, 112, 1944, 900, 6_MiB, 32, 12, kOlder, kVolta};
constexpr Sheet kA100Sxm40 = {{8, 0}, 108, 1410, 64, 312, 7219, 1555, 40_MiB, 40, 25, kNewer, kAmpere};
constexpr Sheet kA100Sxm80 = {{8, 0}, 108, 1410, 64, 312, 7219, 2039, 40_MiB, 80, 25, kNewer, kAmpere};
constexpr Sheet kA100Pcie80 = {{8, 0}, 108, 1410, 64, 312, 7219, 1935, 40_MiB, 80, 25, kNewer, kAmpere};
constexpr Sheet kH100Sxm = {{9, 0}, 132, 1980, 128, 989, 10138, 3352, 50_MiB, 80, 50, kNewer, kHopper};
constexpr Sheet kH100Pcie = {{9, 0}, 114, 1755, 128, 756, 8986, 2039, 50_MiB, 80, 50, kNewer, kHopper};
constexpr Sheet kH200 = {{9, 0}, 132, 1980, 128, 989, 10138, 4800, 50_MiB, 141, 50, kNewer, kHopper200};
constexpr Sheet kT4 = {{7, 5}, 40, 1590, 64, 65, 1270, 320, 4_MiB, 16, 12, kOlder, kTuring};
constexpr Sheet kL4Sheet = {{8, 9}, 58, 2040, 128, 121, 3786, 300, 48_MiB, 24, 25, kNewer, kL4};
constexpr Sheet kRtx3090 = {{8, 6}, 82, 1695, 128, 71, 4448, 936, 6_MiB, 24, 25, kNewer, kGa102};
constexpr Sheet kRtx4090 = {{8, 9}, 128, 2520, 128, 165, 10322, 1008, 72_MiB, 24, 25, kNewer, kAda};

GpuProfile profile_of(std::string_view device, const Sheet& sheet) {
  GpuProfile profile;
  profile.device = device;
  profile.source = sheet.source;
  profile.capability = sheet.capability;
  profile.sms = sheet.sms;
  profile.sm = *sm_limits(sheet.capability);
  const double clock = sheet.clock_mhz * 1e6;
  profile.clock = {clock};
  profile.fma = {2.0 * sheet.fma_lanes * sheet.sms * clock};
  profile.tensor = {sheet.tensor_flops * 1e12};
  profile.shared = {128.0 * sheet.sms * clock};
  profile.sm_port = {64.0 * clock};
  profile.l2 = {sheet.l2_gb * kGiga};
  profile.dram = {sheet.dram_gb * kGiga};
  profile.l2_size = sheet.l2_size;
  profile.memory = Bytes{sheet.memory_gib * kGibibyte};
  profile.copy_engines = 2;
  profile.to_device = {sheet.link_gb * kGiga};
  profile.to_host = {sheet.link_gb * kGiga};
  profile.launch = sheet.launch;
  return profile;
}

}  // namespace

std::optional<GpuProfile> published_gpu_profile(std::string_view device) {
  const std::string name = to_lower(device);
  const auto has = [&](std::initializer_list<std::string_view> words) {
    return std::any_of(words.begin(), words.end(),
                       [&](std::string_view word) { return name.find(word) != std::string::npos; });
  };
  const bool pcie = has({"pcie"});
  const Sheet* sheet = nullptr;
  // Parts of other make-up whose names begin alike.
  if (has({" mig ", "gh200", "nvl", "h100 96gb", "h800", "v100s", "v100-dgxs", "cmp"})) return std::nullopt;
  if (has({"p100"})) sheet = pcie ? (has({"12gb"}) ? &kP100Pcie12 : &kP100Pcie) : &kP100Sxm;
  if (has({"v100"})) {
    const bool large = has({"32gb"});
    sheet = pcie ? (large ? &kV100Pcie32 : &kV100Pcie16) : (large ? &kV100Sxm32 : &kV100Sxm16);
  }
  if (has({"a100"})) {
    const bool large = has({"80gb"});
    sheet = large ? (pcie ? &kA100Pcie80 : &kA100Sxm80) : &kA100Sxm40;
  }
  if (has({"h100"})) sheet = pcie ? &kH100Pcie : &kH100Sxm;
  if (has({"h200"})) sheet = &kH200;
  if (has({"rtx 3090"}) && !has({" ti"})) sheet = &kRtx3090;
  if (has({"rtx 4090"}) && !has({"laptop", " d"})) sheet = &kRtx4090;
  for (const auto& [word, one] : {std::pair("t4", &kT4), std::pair("l4", &kL4Sheet)}) {
    if (name == word || name.ends_with(std::string(" ") + word)) sheet = one;  // "NVIDIA L4", not L40
  }
  if (sheet == nullptr) return std::nullopt;
  return profile_of(device, *sheet);
}

}  // namespace cohort
