#include "simulator/contention/gpu_profile.hpp"

#include <gtest/gtest.h>

#include <sstream>

namespace cohort {
namespace {

using namespace literals;

TEST(GpuProfile, IsFoundByTheNameInATrace) {
  struct Row {
    const char* name;
    int sms;
    double dram_gb;
  };
  for (const Row& row : {Row{"Tesla P100-PCIE-16GB", 56, 732}, Row{"Tesla P100-SXM2-16GB", 56, 732},
                         Row{"Tesla V100-SXM2-32GB", 80, 900}, Row{"Tesla V100-PCIE-16GB", 80, 900},
                         Row{"NVIDIA A100-PG509-200", 108, 1555}, Row{"NVIDIA A100-SXM4-80GB", 108, 2039},
                         Row{"NVIDIA A100 80GB PCIe", 108, 1935}, Row{"NVIDIA H100 80GB HBM3", 132, 3352},
                         Row{"NVIDIA H100 PCIe", 114, 2039}, Row{"NVIDIA H200", 132, 4800},
                         Row{"NVIDIA A100-PG506-207", 108, 1555}, Row{"Tesla V100-SXM3-32GB-H", 80, 900},
                         Row{"Tesla V100-SXM2-32GB-LS", 80, 900}, Row{"Tesla T4", 40, 320}, Row{"NVIDIA L4", 58, 300},
                         Row{"NVIDIA GeForce RTX 3090", 82, 936}, Row{"NVIDIA GeForce RTX 4090", 128, 1008}}) {
    const auto profile = published_gpu_profile(row.name);
    ASSERT_TRUE(profile) << row.name;
    EXPECT_EQ(profile->device, row.name);
    EXPECT_EQ(profile->sms, row.sms) << row.name;
    EXPECT_DOUBLE_EQ(profile->dram.per_second, row.dram_gb * 1e9) << row.name;
    EXPECT_TRUE(validate(*profile)) << validate(*profile).error().message;
  }
}

TEST(GpuProfile, IsFoundByTheNameThatPeopleWrite) {
  std::istringstream known{std::string(kPublishedGpus)};
  int found = 0;
  for (std::string name; std::getline(known >> std::ws, name, ',');) {
    EXPECT_TRUE(published_gpu_profile(name)) << name;
    EXPECT_EQ(published_gpu_profile(name)->sms, published_gpu_profile("NVIDIA " + name)->sms) << name;
    ++found;
  }
  EXPECT_EQ(found, 9);
}

TEST(GpuProfile, IsAbsentForDevicesOfOtherMakeUp) {
  for (const char* name : {"",
                           "NVIDIA GeForce RTX 3090 Ti",
                           "NVIDIA GeForce RTX 3080",
                           "NVIDIA GeForce RTX 4090 D",
                           "NVIDIA GeForce RTX 4090 Laptop GPU",
                           "NVIDIA L40",
                           "NVIDIA L40S",
                           "A100X",
                           "NVIDIA RTX A1000",
                           "Quadro P1000",
                           "RTX 3090Ti",
                           "RTX 4090D",
                           "h100-fit",
                           "NVIDIA A100-SXM-64GB",
                           "GRID A100-10C",
                           "Tesla V100-FHHL-16GB",
                           "Tesla V100S-PCIE-32GB",
                           "NVIDIA T400 4GB",
                           "GRID T4-16Q",
                           "NVIDIA H100 NVL",
                           "NVIDIA GH200 480GB",
                           "NVIDIA A100-SXM4-40GB MIG",
                           "NVIDIA A100-SXM4-40GB MIG 8g.40gb",
                           "NVIDIA H100 PCIe MIG 1g.10gb",
                           "NVIDIA H100 80GB HBM3 MIG 5g.40gb",
                           "A100 MIG 5g.20gb",
                           "NVIDIA A100-SXM4-40GB MIG 3g.40gb",
                           "NVIDIA A100-SXM4-40GB MIG 2g.20gb",
                           "AMD Instinct MI300X"}) {
    EXPECT_FALSE(published_gpu_profile(name)) << name;
  }
}

TEST(GpuProfile, KnowsSlicesOfWholeGpus) {
  const auto whole = published_gpu_profile("NVIDIA A100-SXM4-40GB");
  const auto slice = published_gpu_profile("NVIDIA A100-SXM4-40GB MIG 3g.20gb");
  ASSERT_TRUE(whole && slice);
  EXPECT_EQ(slice->device, "NVIDIA A100-SXM4-40GB MIG 3g.20gb");
  EXPECT_EQ(slice->sms, 42);
  EXPECT_DOUBLE_EQ(slice->fma.per_second / whole->fma.per_second, 42.0 / 108);
  EXPECT_DOUBLE_EQ(slice->tensor.per_second / whole->tensor.per_second, 42.0 / 108);
  EXPECT_DOUBLE_EQ(slice->dram.per_second, whole->dram.per_second / 2);
  EXPECT_EQ(slice->l2_size.value, whole->l2_size.value / 2);
  EXPECT_EQ(slice->memory.value, whole->memory.value / 2);
  EXPECT_TRUE(validate(*slice));
  const auto small = published_gpu_profile("NVIDIA A100-SXM4-80GB MIG 1g.10gb");
  ASSERT_TRUE(small);
  EXPECT_EQ(small->sms, 14);
  EXPECT_DOUBLE_EQ(small->dram.per_second, 2039e9 / 8);
  const auto hopper = published_gpu_profile("NVIDIA H200 MIG 3g.71gb");
  ASSERT_TRUE(hopper);
  EXPECT_EQ(hopper->sms, 60);
  EXPECT_DOUBLE_EQ(hopper->dram.per_second, 4800e9 / 2);
  EXPECT_EQ(published_gpu_profile("NVIDIA H100 80GB HBM3 MIG 7g.80gb")->sms, 132);
  EXPECT_EQ(published_gpu_profile("NVIDIA A100-SXM4-40GB MIG 1g.5gb+me")->sms, 14);
  const auto with_memory = published_gpu_profile("NVIDIA H100 80GB HBM3 MIG 1g.20gb");
  ASSERT_TRUE(with_memory);
  EXPECT_EQ(with_memory->sms, 26);
  EXPECT_DOUBLE_EQ(with_memory->dram.per_second, 3352e9 / 4);
  EXPECT_EQ(with_memory->l2_size.value, (50_MiB).value / 8);
}

TEST(GpuProfile, TakesASliceOfAnA100ForOneOfTheA100ThatHasIt) {
  EXPECT_DOUBLE_EQ(published_gpu_profile("A100 MIG 3g.20gb")->dram.per_second, 1555e9 / 2);
  EXPECT_DOUBLE_EQ(published_gpu_profile("A100 MIG 3g.40gb")->dram.per_second, 2039e9 / 2);
  EXPECT_DOUBLE_EQ(published_gpu_profile("A100 MIG 2g.20gb")->dram.per_second, 2039e9 / 4);
}

TEST(GpuProfile, HasThePublishedPeaks) {
  EXPECT_NEAR(published_gpu_profile("Tesla P100-SXM2-16GB")->fma.per_second, 10.6e12, 0.05e12);
  EXPECT_NEAR(published_gpu_profile("Tesla V100-SXM2-32GB")->fma.per_second, 15.7e12, 0.05e12);
  EXPECT_NEAR(published_gpu_profile("NVIDIA A100-SXM4-40GB")->fma.per_second, 19.5e12, 0.05e12);
  EXPECT_NEAR(published_gpu_profile("NVIDIA H100 80GB HBM3")->fma.per_second, 66.9e12, 0.05e12);
  EXPECT_NEAR(published_gpu_profile("NVIDIA H100 PCIe")->fma.per_second, 51.2e12, 0.05e12);
  EXPECT_NEAR(published_gpu_profile("Tesla T4")->fma.per_second, 8.14e12, 0.05e12);
  EXPECT_NEAR(published_gpu_profile("NVIDIA L4")->fma.per_second, 30.3e12, 0.05e12);
  EXPECT_NEAR(published_gpu_profile("NVIDIA GeForce RTX 3090")->fma.per_second, 35.6e12, 0.05e12);
  EXPECT_NEAR(published_gpu_profile("NVIDIA GeForce RTX 4090")->fma.per_second, 82.6e12, 0.05e12);
}

TEST(GpuProfile, TakesWhatOneSmHoldsFromItsCapability) {
  struct Row {
    const char* name;
    int threads, blocks;
    Bytes shared, l2;
    double shared_per_cycle;  // bytes an SM
  };
  for (const Row& row : {Row{"T4", 1024, 16, 64_KiB, 4_MiB, 64}, Row{"RTX 3090", 1536, 16, 100_KiB, 6_MiB, 128},
                         Row{"L4", 1536, 24, 100_KiB, 48_MiB, 128}, Row{"RTX 4090", 1536, 24, 100_KiB, 72_MiB, 128}}) {
    const GpuProfile gpu = *published_gpu_profile(row.name);
    EXPECT_EQ(gpu.sm.threads, row.threads) << row.name;
    EXPECT_EQ(gpu.sm.blocks, row.blocks) << row.name;
    EXPECT_EQ(gpu.sm.shared_memory, row.shared) << row.name;
    EXPECT_EQ(gpu.l2_size, row.l2) << row.name;
    EXPECT_DOUBLE_EQ(gpu.shared.per_second / gpu.clock.hertz / gpu.sms, row.shared_per_cycle) << row.name;
  }
}

TEST(GpuProfile, ReadsWhatItWrote) {
  GpuProfile profile = *published_gpu_profile("NVIDIA H200");
  profile.slowdown = {0.1, 0, 0.25, 0, 0.5, 1};
  profile.head_of_line = false;
  profile.connections = 32;
  const Result<GpuProfile> read = parse_gpu_profile(write_gpu_profile(profile));
  ASSERT_TRUE(read.has_value()) << read.error().message;
  EXPECT_EQ(*read, profile);
  EXPECT_EQ(write_gpu_profile(*read), write_gpu_profile(profile));
}

TEST(GpuProfile, TakesTheLockToBeHeldForWholeLaunchesWhereAProfileDoesNotSay) {
  GpuProfile profile = *published_gpu_profile("NVIDIA H200");
  profile.launch.lock = Nanoseconds(700);
  std::string text = write_gpu_profile(profile);
  const std::string_view field = ",\n    \"lock_ns\": 700";
  ASSERT_NE(text.find(field), std::string::npos) << text;
  EXPECT_EQ(parse_gpu_profile(text)->launch.lock, Nanoseconds(700));
  text.erase(text.find(field), field.size());
  const Result<GpuProfile> read = parse_gpu_profile(text);
  ASSERT_TRUE(read.has_value()) << read.error().message;
  EXPECT_EQ(read->launch.lock, profile.launch.call);
}

std::string message_with(const std::string& from, const std::string& to) {
  std::string text = write_gpu_profile(*published_gpu_profile("Tesla V100-SXM2-32GB"));
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  text.replace(at, from.size(), to);
  const Result<GpuProfile> read = parse_gpu_profile(text);
  return read ? "" : read.error().message;
}

TEST(GpuProfile, NamesTheFieldThatIsWrong) {
  EXPECT_NE(message_with("\"sms\": 80", "\"sms\": 0").find("sms is 0"), std::string::npos);
  EXPECT_NE(message_with("\"sms\": 80", "\"sms\": 100000").find("sms is 100000"), std::string::npos);
  EXPECT_NE(message_with("\"7.0\"", "\"7\"").find("compute_capability"), std::string::npos);
  EXPECT_NE(message_with("\"threads\": 2048", "\"threads\": 0").find("sm.threads"), std::string::npos);
  EXPECT_NE(message_with("\"blocks\": 32", "\"blocks\": 33").find("sm.blocks is 33"), std::string::npos);
  EXPECT_NE(message_with("\"registers\": 65536", "\"registers\": 65536000").find("sm.registers is 65536000"),
            std::string::npos);
  EXPECT_NE(message_with("\"gap_ns\": 750", "\"gap_ns\": -750").find("launch.gap_ns"), std::string::npos);
  EXPECT_NE(message_with("\"lock_ns\": 4000", "\"lock_ns\": 4001").find("launch.lock_ns is 4001"), std::string::npos);
  EXPECT_NE(message_with("\"graph_chain_node_ns\": 400", "\"graph_chain_node_ns\": -1").find("graph_chain_node_ns"),
            std::string::npos);
  EXPECT_NE(message_with("\"dram\": 0.0", "\"dram\": -1").find("slowdown.dram"), std::string::npos);
  EXPECT_NE(message_with("\"dram\": 0.0", "\"dram\": 0.0, \"disk\": 1").find("slowdown.disk"), std::string::npos);
  EXPECT_NE(message_with("\"l2_bytes_per_second\"", "\"l2\"").find("l2_bytes_per_second"), std::string::npos);
  EXPECT_NE(message_with("\"head_of_line\": true", "\"head_of_line\": 1").find("head_of_line"), std::string::npos);
  EXPECT_NE(message_with("gpu profile 1", "gpu profile 9").find("cohort gpu profile 9"), std::string::npos);
}

}  // namespace
}  // namespace cohort
