#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <string>
#include <vector>

#include "base/text.hpp"
#include "simulator/contention/gpu_profile.hpp"
#include "simulator/contention/mig_slice.hpp"

namespace cohort {
namespace {

using namespace literals;

constexpr double kGiga = 1e9;
constexpr std::int64_t kGibibyte = std::int64_t{1} << 30;

/// One line of a data sheet. Rates that follow from the clock are computed: 128 bytes a cycle and SM of shared memory,
/// 64 to L2 (both: Jia et al., "Dissecting the NVIDIA Volta GPU Architecture via Microbenchmarking", 2018); Turing has
/// 64 of shared memory, too (NVIDIA, "Ampere GA102 GPU Architecture", 2021).
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

// L2 rates: P100, V100 and T4 as measured by Jia et al. 2018 and 2019 (1624, 2155 and 1270 GB/s); A100 5120 bytes a
// cycle (NVIDIA, "A100 Tensor Core GPU Architecture", 2020); Hopper has no published figure: A100's bytes a cycle at
// its own clock, which is an upper bound. L4, RTX 3090 and RTX 4090: T4's 20 bytes a cycle and SM.
constexpr std::string_view kPascal = "NVIDIA Tesla P100 whitepaper (WP-08019), 2016; L2: Jia et al. 2018";
constexpr std::string_view kVolta = "NVIDIA Tesla V100 whitepaper (WP-08608), 2017; L2: Jia et al. 2018";
constexpr std::string_view kAmpere = "NVIDIA A100 Tensor Core GPU Architecture and data sheet, 2020-2021";
constexpr std::string_view kHopper = "NVIDIA H100 Tensor Core GPU Architecture and data sheet, 2022; L2 estimated";
constexpr std::string_view kHopper200 = "NVIDIA H200 data sheet, 2023; SM as H100; L2 estimated";
constexpr std::string_view kTuring = "NVIDIA T4 data sheet, 2019; L2: Jia et al. 2019";
constexpr std::string_view kGa102 = "NVIDIA Ampere GA102 GPU Architecture, 2021; L2 estimated";
constexpr std::string_view kAda = "NVIDIA Ada GPU Architecture, 2023; L2 estimated";
constexpr std::string_view kAdaL4 = "NVIDIA L4 data sheet, 2023; L2 estimated";

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
constexpr Sheet kL4 = {{8, 9}, 58, 2040, 128, 121, 2366, 300, 48_MiB, 24, 25, kNewer, kAdaL4};
constexpr Sheet kRtx3090 = {{8, 6}, 82, 1695, 128, 71, 2780, 936, 6_MiB, 24, 25, kNewer, kGa102};
constexpr Sheet kRtx4090 = {{8, 9}, 128, 2520, 128, 165, 6451, 1008, 72_MiB, 24, 25, kNewer, kAda};

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
  const bool is_turing = sheet.capability == ComputeCapability{7, 5};
  profile.shared = {(is_turing ? 64.0 : 128.0) * sheet.sms * clock};
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

/// What a slice has of its GPU.
struct SliceParts {
  int compute;     ///< of 7
  int memory;      ///< eighths of memory and DRAM
  int l2;          ///< eighths
  int ampere_sms;  ///< of A100
  int hopper_sms;  ///< of H100 SXM and H200
};
/// All that there are. Source: NVIDIA, "Multi-Instance GPU User Guide", supported profiles; multiprocessors as
/// `nvidia-smi mig -lgip` prints them.
constexpr std::array<SliceParts, 6> kSlices = {{{1, 1, 1, 14, 16},
                                                {1, 2, 1, 14, 26},
                                                {2, 2, 2, 28, 32},
                                                {3, 4, 4, 42, 60},
                                                {4, 4, 4, 56, 64},
                                                {7, 8, 8, 98, 132}}};

/// Absent where the GPU has no such slice, or its slices are not published.
std::optional<Sheet> sheet_of(const MigSlice& slice, const Sheet& whole) {
  const bool ampere = &whole == &kA100Sxm40 || &whole == &kA100Sxm80 || &whole == &kA100Pcie80;
  const bool hopper = &whole == &kH100Sxm || &whole == &kH200;
  const auto memory = std::llround(8.0 * slice.gigabytes / static_cast<double>(whole.memory_gib));
  const auto* const parts = std::find_if(kSlices.begin(), kSlices.end(), [&](const SliceParts& each) {
    return each.compute == slice.compute && each.memory == memory;
  });
  if ((!ampere && !hopper) || parts == kSlices.end()) return std::nullopt;
  Sheet sheet = whole;
  sheet.sms = ampere ? parts->ampere_sms : parts->hopper_sms;
  sheet.tensor_flops *= static_cast<double>(sheet.sms) / whole.sms;
  sheet.l2_gb *= parts->l2 / 8.0;
  sheet.l2_size = Bytes{whole.l2_size.value * parts->l2 / 8};
  sheet.dram_gb *= parts->memory / 8.0;
  sheet.memory_gib = slice.gigabytes;
  return sheet;
}

/// A device's name in lower case, cut at spaces and dashes: "nvidia", "a100", "sxm4", "40gb".
class NameWords {
 public:
  explicit NameWords(std::string_view device) {
    for (const char c : to_lower(device)) {
      if (c == ' ' || c == '-') {
        words_.emplace_back();
      } else {
        words_.back() += c;
      }
    }
  }
  [[nodiscard]] bool has(std::string_view word) const {
    return std::find(words_.begin(), words_.end(), word) != words_.end();
  }
  /// Whether there are none but these: another word may say another make-up, as "NVL", "Ti", "Laptop" and "64GB" do.
  [[nodiscard]] bool are_among(std::initializer_list<std::string_view> known) const {
    return std::all_of(words_.begin(), words_.end(), [&](const std::string& word) {
      return word.empty() || std::find(kCommon.begin(), kCommon.end(), word) != kCommon.end() ||
             std::find(known.begin(), known.end(), word) != known.end();
    });
  }

 private:
  static constexpr std::array<std::string_view, 8> kCommon = {"nvidia", "tesla", "geforce", "gpu",
                                                              "tensor", "core",  "sxm",     "pcie"};
  std::vector<std::string> words_{""};
};

const Sheet* sheet_of(std::string_view device) {
  const NameWords name(device);
  const bool pcie = name.has("pcie");
  if (name.has("p100") && name.are_among({"p100", "sxm2", "16gb", "12gb"}))
    return pcie ? (name.has("12gb") ? &kP100Pcie12 : &kP100Pcie) : &kP100Sxm;
  if (name.has("v100") && name.are_among({"v100", "sxm2", "sxm3", "16gb", "32gb", "h", "ls"})) {
    const bool large = name.has("32gb");
    return pcie ? (large ? &kV100Pcie32 : &kV100Pcie16) : (large ? &kV100Sxm32 : &kV100Sxm16);
  }
  if (name.has("a100") && name.are_among({"a100", "sxm4", "40gb", "80gb", "pg506", "pg509", "200", "207", "217"}))
    return name.has("80gb") ? (pcie ? &kA100Pcie80 : &kA100Sxm80) : &kA100Sxm40;
  if (name.has("h100") && name.are_among({"h100", "sxm5", "80gb", "hbm3", "hbm2e"}))
    return pcie ? &kH100Pcie : &kH100Sxm;
  if (name.has("h200") && name.are_among({"h200", "sxm5", "141gb", "hbm3e"})) return &kH200;
  if (name.has("t4") && name.are_among({"t4", "16gb"})) return &kT4;
  if (name.has("l4") && name.are_among({"l4", "24gb"})) return &kL4;
  if (name.has("3090") && name.are_among({"rtx", "3090", "24gb"})) return &kRtx3090;
  if (name.has("4090") && name.are_among({"rtx", "4090", "24gb"})) return &kRtx4090;
  return nullptr;
}

}  // namespace

std::optional<GpuProfile> published_gpu_profile(std::string_view device) {
  const auto slice = mig_slice_of(device);
  const Sheet* const whole = sheet_of(slice ? slice->gpu : device);
  if (whole == nullptr) return std::nullopt;
  std::optional<Sheet> sheet = slice ? sheet_of(*slice, *whole) : *whole;
  // "A100 MIG 3g.40gb" does not say which A100: only one has such a slice.
  if (!sheet && whole == &kA100Sxm40 && !NameWords(slice->gpu).has("40gb")) sheet = sheet_of(*slice, kA100Sxm80);
  if (!sheet) return std::nullopt;
  return profile_of(device, *sheet);
}

}  // namespace cohort
