#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <vector>

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

/// y has two elements behind each row, and a one behind each row's inner elements, which are none of the product's.
void expect_sum_of_products(std::int64_t rows, std::int64_t columns, std::int64_t inner, int threads) {
  const std::vector<float> a = random_values(rows * (inner + 1)), b = random_values(columns * inner);
  std::vector<float> packed(static_cast<std::size_t>(onednn::packed_size(columns, inner)), kUntouched);
  onednn::pack_strips(b.data(), columns, inner, packed.data());
  std::vector<float> y(static_cast<std::size_t>(rows * (columns + 2)), kUntouched);
  onednn::multiply_packed({rows, columns, inner}, {a.data(), inner + 1}, packed.data(), y.data(), columns + 2, threads);
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

}  // namespace
}  // namespace cohort::testing
