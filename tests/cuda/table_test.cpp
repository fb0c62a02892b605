// Kernels of several members in one launch: which block works on what.

#include "executor/cuda/own/table.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <deque>

#include "executor/cuda/own/host_kernels.hpp"

namespace cohort::cuda::own {
namespace {

class Store final : public WeightStore {
 public:
  const void* add(std::span<const std::byte> bytes) override {
    return bytes_.emplace_back(bytes.begin(), bytes.end()).data();
  }
  [[nodiscard]] std::size_t bytes() const {
    std::size_t sum = 0;
    for (const auto& each : bytes_) sum += each.size();
    return sum;
  }

 private:
  std::deque<std::vector<std::byte>> bytes_;
};

/// y = x * 2 over as many elements as the vectors have.
MapArguments doubling(const std::vector<float>& x, std::vector<float>& y, const float* two) {
  MapArguments map;
  map.kind = MapKind::kMul;
  map.shape.rank = 1;
  map.shape.of[0] = map.shape.count = static_cast<std::int32_t>(x.size());
  map.a = x.data();
  map.b = two;
  map.y = y.data();
  map.a_strides.of[0] = map.y_strides.of[0] = 1;
  return map;
}

TEST(Tables, GiveEachPartTheBlocksItsKernelWouldHave) {
  const float two = 2;
  const std::vector<std::size_t> sizes{10, 300, 1000};
  std::vector<std::vector<float>> x, y;
  for (const std::size_t size : sizes) {
    x.emplace_back(size, 1.5F);
    y.emplace_back(size, 0.0F);
  }
  std::vector<std::vector<KernelArguments>> parts;
  for (std::size_t i = 0; i < sizes.size(); ++i) parts.push_back({doubling(x[i], y[i], &two)});
  Store store;
  const auto launches = tabled(parts, store);
  ASSERT_EQ(launches.size(), 1U);
  const auto& table = std::get<TableArguments>(launches[0]);
  EXPECT_EQ(table.count, 3);
  EXPECT_EQ(table.threads, 256);
  EXPECT_EQ(table.blocks, 1 + 2 + 4);
  EXPECT_EQ(std::vector<std::int32_t>(table.first_block, table.first_block + 3), (std::vector<std::int32_t>{0, 1, 3}));
  EXPECT_LE(store.bytes(), 3 * static_cast<std::size_t>(kTableRoom.value));
  run_on_host(launches[0]);
  for (const auto& result : y) EXPECT_EQ(result, std::vector<float>(result.size(), 3.0F));
}

TEST(Tables, KeepKindsTypesAndStagesApart) {
  MapArguments map;
  MapArguments narrow;
  narrow.type = DataType::kBfloat16;
  const GemmArguments gemm;
  Store store;
  // Second kernels of a part come behind the first ones of all.
  const auto launches = tabled({{gemm, map}, {gemm, narrow}, {gemm, map}, {map}}, store);
  ASSERT_EQ(launches.size(), 4U);
  EXPECT_TRUE(std::holds_alternative<MapArguments>(launches[0])) << "one of its kind needs no table";
  EXPECT_EQ(std::get<TableArguments>(launches[1]).count, 3);
  EXPECT_EQ(std::get<TableArguments>(launches[2]).count, 2);
  EXPECT_TRUE(std::holds_alternative<MapArguments>(launches[3]));
}

}  // namespace
}  // namespace cohort::cuda::own
