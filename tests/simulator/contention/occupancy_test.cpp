#include "simulator/contention/occupancy.hpp"

#include <gtest/gtest.h>

namespace cohort {
namespace {

using namespace literals;

struct Row {
  ComputeCapability capability;
  int threads;
  int registers;
  std::int64_t shared_memory;
  int blocks_per_sm;  ///< 0: cannot be launched
};

// What NVIDIA's occupancy calculator answers (cuda_occupancy.h of the CUDA toolkit 13.0), shared memory opted in and
// the carve-out at its largest; shapes drawn at random.
constexpr Row kCalculator[] = {
    {{6, 0}, 928, 2, 0, 2},         {{6, 0}, 384, 44, 0, 3},        {{6, 0}, 487, 248, 7733, 0},
    {{6, 0}, 256, 29, 40657, 1},    {{6, 0}, 514, 43, 6151, 2},     {{6, 0}, 64, 201, 20195, 3},
    {{6, 0}, 528, 126, 0, 0},       {{6, 0}, 291, 82, 36115, 1},    {{6, 0}, 128, 191, 24980, 2},
    {{6, 0}, 358, 68, 35213, 1},    {{6, 0}, 108, 19, 0, 16},       {{6, 0}, 736, 54, 43875, 1},
    {{6, 0}, 685, 42, 33355, 1},    {{6, 0}, 672, 149, 0, 0},       {{6, 0}, 358, 130, 44784, 1},
    {{6, 0}, 138, 245, 0, 1},       {{6, 0}, 288, 127, 39071, 1},   {{6, 0}, 38, 156, 0, 6},
    {{6, 0}, 271, 194, 16897, 0},   {{6, 0}, 768, 216, 0, 0},       {{7, 0}, 608, 172, 22230, 0},
    {{7, 0}, 426, 160, 23634, 0},   {{7, 0}, 160, 191, 41813, 1},   {{7, 0}, 317, 176, 9187, 0},
    {{7, 0}, 32, 247, 0, 8},        {{7, 0}, 972, 7, 19412, 2},     {{7, 0}, 357, 236, 0, 0},
    {{7, 0}, 572, 87, 33564, 1},    {{7, 0}, 325, 69, 75562, 1},    {{7, 0}, 10, 57, 1028, 32},
    {{7, 0}, 512, 61, 0, 2},        {{7, 0}, 204, 3, 32246, 3},     {{7, 0}, 582, 206, 34854, 0},
    {{7, 0}, 341, 137, 0, 1},       {{7, 0}, 640, 37, 28806, 2},    {{7, 0}, 32, 109, 0, 16},
    {{7, 0}, 554, 23, 8242, 3},     {{7, 0}, 1024, 70, 0, 0},       {{7, 0}, 224, 19, 0, 9},
    {{7, 0}, 256, 180, 8385, 1},    {{8, 0}, 32, 28, 0, 32},        {{8, 0}, 520, 35, 0, 2},
    {{8, 0}, 483, 30, 93081, 1},    {{8, 0}, 323, 93, 5522, 1},     {{8, 0}, 800, 38, 153790, 1},
    {{8, 0}, 832, 12, 47738, 2},    {{8, 0}, 171, 21, 10787, 10},   {{8, 0}, 522, 18, 81, 3},
    {{8, 0}, 192, 92, 48152, 3},    {{8, 0}, 295, 28, 34483, 4},    {{8, 0}, 96, 200, 132976, 1},
    {{8, 0}, 448, 125, 18462, 1},   {{8, 0}, 468, 30, 0, 4},        {{8, 0}, 96, 27, 41095, 3},
    {{8, 0}, 77, 114, 0, 5},        {{8, 0}, 32, 210, 33077, 4},    {{8, 0}, 503, 83, 9011, 1},
    {{8, 0}, 352, 166, 11129, 1},   {{8, 0}, 32, 148, 0, 12},       {{8, 0}, 238, 197, 65342, 1},
    {{8, 6}, 256, 9, 0, 6},         {{8, 6}, 224, 80, 0, 3},        {{8, 6}, 224, 46, 0, 5},
    {{8, 6}, 363, 138, 4975, 1},    {{8, 6}, 736, 254, 45659, 0},   {{8, 6}, 128, 26, 0, 12},
    {{8, 6}, 672, 37, 0, 2},        {{8, 6}, 730, 30, 0, 2},        {{8, 6}, 141, 161, 79879, 1},
    {{8, 6}, 960, 15, 15373, 1},    {{8, 6}, 928, 49, 9358, 1},     {{8, 6}, 1004, 164, 14353, 0},
    {{8, 6}, 239, 105, 0, 2},       {{8, 6}, 77, 133, 18277, 4},    {{8, 6}, 209, 251, 44997, 1},
    {{8, 6}, 224, 154, 0, 1},       {{8, 6}, 768, 75, 0, 1},        {{8, 6}, 672, 255, 48049, 0},
    {{8, 6}, 576, 78, 25726, 1},    {{8, 6}, 980, 187, 48664, 0},   {{9, 0}, 576, 228, 204418, 0},
    {{9, 0}, 512, 109, 23887, 1},   {{9, 0}, 714, 40, 0, 2},        {{9, 0}, 186, 163, 0, 2},
    {{9, 0}, 256, 122, 103318, 2},  {{9, 0}, 672, 159, 0, 0},       {{9, 0}, 261, 108, 49996, 1},
    {{9, 0}, 927, 20, 0, 2},        {{9, 0}, 287, 149, 0, 1},       {{9, 0}, 512, 184, 85259, 0},
    {{9, 0}, 780, 119, 0, 0},       {{9, 0}, 721, 58, 0, 1},        {{9, 0}, 736, 47, 0, 1},
    {{9, 0}, 84, 18, 29735, 7},     {{9, 0}, 384, 217, 0, 0},       {{9, 0}, 752, 228, 17399, 0},
    {{9, 0}, 583, 2, 0, 3},         {{9, 0}, 248, 190, 127184, 1},  {{9, 0}, 224, 5, 0, 9},
    {{9, 0}, 784, 250, 87289, 0},   {{10, 0}, 224, 138, 166021, 1}, {{10, 0}, 128, 248, 0, 2},
    {{10, 0}, 192, 145, 31122, 2},  {{10, 0}, 781, 195, 148506, 0}, {{10, 0}, 764, 129, 31754, 0},
    {{10, 0}, 32, 69, 16116, 13},   {{10, 0}, 543, 35, 20537, 2},   {{10, 0}, 978, 60, 21162, 1},
    {{10, 0}, 170, 35, 10708, 8},   {{10, 0}, 936, 14, 37905, 2},   {{10, 0}, 988, 1, 0, 2},
    {{10, 0}, 565, 23, 46803, 3},   {{10, 0}, 763, 21, 0, 2},       {{10, 0}, 800, 12, 191778, 1},
    {{10, 0}, 647, 177, 137887, 0}, {{10, 0}, 505, 78, 8020, 1},    {{10, 0}, 917, 60, 8673, 1},
    {{10, 0}, 256, 27, 17833, 8},   {{10, 0}, 94, 69, 154829, 1},   {{10, 0}, 32, 129, 175897, 1},
};

LaunchShape shape(int threads, int registers, Bytes shared_memory) { return {1, threads, registers, shared_memory, 1}; }

Occupancy occupancy_on(ComputeCapability capability, const LaunchShape& launch) {
  const Result<Occupancy> result = occupancy(launch, *sm_limits(capability));
  EXPECT_TRUE(result.has_value()) << result.error().message;
  return result ? *result : Occupancy{};
}

TEST(Occupancy, AgreesWithNvidiasCalculator) {
  for (const Row& row : kCalculator) {
    const Result<Occupancy> result =
        occupancy(shape(row.threads, row.registers, Bytes{row.shared_memory}), *sm_limits(row.capability));
    EXPECT_EQ(result ? result->blocks_per_sm : 0, row.blocks_per_sm)
        << row.capability.major << "." << row.capability.minor << ": " << row.threads << " threads, " << row.registers
        << " registers, " << row.shared_memory << " bytes";
  }
}

TEST(Occupancy, CountsMoreThan48KiBOfSharedMemory) {
  // The figure in Kineto's traces is 0% for every such kernel.
  const Occupancy result = occupancy_on({9, 0}, shape(384, 168, 200_KiB));
  EXPECT_EQ(result.blocks_per_sm, 1);
  EXPECT_EQ(result.limit, OccupancyLimit::kRegisters);
}

TEST(Occupancy, ReservesAKibibyteABlockSinceAmpere) {
  EXPECT_EQ(occupancy_on({7, 0}, shape(32, 32, 32_KiB)).blocks_per_sm, 3);
  EXPECT_EQ(occupancy_on({8, 0}, shape(32, 32, 41_KiB)).blocks_per_sm, 3);
  EXPECT_EQ(occupancy_on({8, 0}, shape(32, 32, 40_KiB)).blocks_per_sm, 4);
}

TEST(Occupancy, SaysWhatLimits) {
  EXPECT_EQ(occupancy_on({9, 0}, shape(1024, 32, 0_KiB)).limit, OccupancyLimit::kThreads);
  EXPECT_EQ(occupancy_on({9, 0}, shape(32, 16, 0_KiB)).limit, OccupancyLimit::kBlocks);
  EXPECT_EQ(occupancy_on({9, 0}, shape(256, 128, 0_KiB)).limit, OccupancyLimit::kRegisters);
  EXPECT_EQ(occupancy_on({9, 0}, shape(128, 32, 100_KiB)).limit, OccupancyLimit::kSharedMemory);
}

TEST(Occupancy, GivesRegistersToWholeWarpsInUnits) {
  const Occupancy result = occupancy_on({8, 0}, shape(100, 33, Bytes{1}));
  EXPECT_EQ(result.block.threads, 128);
  EXPECT_EQ(result.block.registers, 4 * 1280);
  EXPECT_EQ(result.block.shared_memory, Bytes{1152});
}

TEST(Occupancy, NamesTheFieldNoSmCanServe) {
  const auto message = [](const LaunchShape& launch) {
    const Result<Occupancy> result = occupancy(launch, *sm_limits({8, 0}));
    return result ? std::string("launched") : result.error().message;
  };
  EXPECT_NE(message(shape(1025, 32, 0_KiB)).find("threads is 1025"), std::string::npos);
  EXPECT_NE(message(shape(0, 32, 0_KiB)).find("threads is 0"), std::string::npos);
  EXPECT_NE(message(shape(1024, 128, 0_KiB)).find("registers is 128"), std::string::npos);
  EXPECT_NE(message(shape(32, 32, 164_KiB)).find("shared memory is 167936"), std::string::npos);
  EXPECT_NE(message({0, 32, 32, 0_KiB, 1}).find("blocks is 0"), std::string::npos);
  EXPECT_NE(message({1, 32, 32, 0_KiB, 17}).find("cluster is 17"), std::string::npos);
}

TEST(Occupancy, IsAbsentForCapabilitiesItDoesNotKnow) { EXPECT_FALSE(sm_limits({3, 5})); }

}  // namespace
}  // namespace cohort
