#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "executor/device_error.hpp"
#include "executor/onednn/loops/packed_product.hpp"

/// Products of few rows and a packed matrix.
namespace cohort::testing {
namespace {

constexpr float kUntouched = 1234.5F;

std::vector<float> random_values(std::int64_t count) {
  std::mt19937 random(7);
  std::uniform_real_distribution<float> value(-1, 1);
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& each : values) each = value(random);
  return values;
}

/// Makes each block of each row whole numbers times a step of its own.
void quantize(std::vector<float>& b, std::int64_t inner, const QuantizedWeights& as) {
  const float largest = as.bits == 8 ? 127 : 7;
  for (std::size_t i = 0; i < b.size(); ++i) {
    const auto row = static_cast<std::int64_t>(i) / inner, part = static_cast<std::int64_t>(i) % inner / as.block;
    b[i] = std::nearbyint(largest * b[i]) * (0.001F + 0.0007F * static_cast<float>(row % 7 + part % 5));
  }
}

/// y has two elements behind each row, and a one behind each row's inner elements, which are none of the product's.
void expect_sum_of_products(std::int64_t rows, std::int64_t columns, std::int64_t inner, int threads,
                            std::optional<QuantizedWeights> quantized = {}) {
  const std::vector<float> a = random_values(rows * (inner + 1));
  std::vector<float> b = random_values(columns * inner);
  if (quantized) quantize(b, inner, *quantized);
  const onednn::Packing packing{inner, quantized};
  std::vector<float> packed(static_cast<std::size_t>(packing.size(columns)), kUntouched);
  packing.pack(b.data(), columns, packed.data());
  std::vector<float> y(static_cast<std::size_t>(rows * (columns + 2)), kUntouched);
  onednn::multiply_packed(rows, columns, packing, {a.data(), inner + 1}, packed.data(), y.data(), columns + 2, threads);
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t column = 0; column < columns + 2; ++column) {
      double sum = static_cast<double>(kUntouched);
      for (std::int64_t k = 0; k < inner && column < columns; ++k) {
        const auto x = static_cast<std::size_t>(row * (inner + 1) + k),
                   w = static_cast<std::size_t>(column * inner + k);
        sum += static_cast<double>(a[x]) * static_cast<double>(b[w]);
      }
      ASSERT_NEAR(y[static_cast<std::size_t>(row * (columns + 2) + column)], sum, 0.01)
          << rows << " rows, " << columns << " columns, " << inner << " inner, row " << row << ", column " << column;
    }
  }
}

TEST(OnednnPackedProduct, AddsTheProductsOfAnyNumberOfRowsAndColumns) {
  for (std::int64_t rows = 0; rows <= 14; ++rows) {
    for (const std::int64_t columns : {1, 15, 16, 17, 40, 96, 128, 190}) {
      for (const std::int64_t inner : {0, 1, 3, 64}) expect_sum_of_products(rows, columns, inner, 1);
    }
  }
}

TEST(OnednnPackedProduct, IsTheSameOfTwoThreads) {
  for (const std::int64_t columns : {16, 100, 512, 515}) {
    for (const std::int64_t rows : {1, 5, 20}) expect_sum_of_products(rows, columns, 128, 2);
  }
}

TEST(OnednnPackedProduct, ReadsQuantizedWeightsByBlocks) {
  for (std::int64_t rows = 0; rows <= 14; ++rows) {
    for (const std::int64_t columns : {1, 15, 16, 17, 40, 96, 190}) {
      for (const std::int64_t block : {16, 27, 32, 100}) {
        for (const int bits : {4, 8}) expect_sum_of_products(rows, columns, 100, 1, QuantizedWeights{block, bits});
      }
    }
  }
  expect_sum_of_products(1, 515, 128, 2, QuantizedWeights{32});
}

TEST(OnednnPackedProduct, QuantizedWeightsTakeTheirBitsAndAStepForEachBlock) {
  const onednn::Packing bytes{64, QuantizedWeights{32}}, halves{64, QuantizedWeights{64, 4}};
  EXPECT_EQ(bytes.size(32), 32 * 64 / 4 + 32 * 2);
  EXPECT_EQ(bytes.padding(32).value, 4 * (32 * 2 - 32 * 64 * 3 / 4));
  EXPECT_EQ(halves.size(32), 32 * 64 / 8 + 32);
}

TEST(OnednnPackedProduct, RefusesWeightsThatAreNotQuantized) {
  const onednn::Packing packing{32, QuantizedWeights{32}};
  std::vector<float> packed(static_cast<std::size_t>(packing.size(1)));
  EXPECT_THROW(packing.pack(random_values(32).data(), 1, packed.data()), DeviceError);
}

}  // namespace
}  // namespace cohort::testing
