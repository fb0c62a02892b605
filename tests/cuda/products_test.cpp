// What is listed for products where cuBLASLt refuses. Its functions below stand before the library's own.

#include <cublasLt.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "executor/cuda/plugin/products.hpp"
#include "tests/kernels/call_runner.hpp"

namespace cohort::cuda {
namespace {

/// What the stand-in says. An algorithm's number is the first word of its data.
struct Library {
  cublasStatus_t heuristic = CUBLAS_STATUS_SUCCESS;
  int algorithms = 2;
  int unreadable = -1;    ///< the algorithm whose settings are not told
  bool describes = true;  ///< takes the settings of a product
  int asked = 0;
};
Library library;

class CublasProducts : public ::testing::Test {
 protected:
  CublasProducts() { library = {}; }
  static std::vector<std::string> names(const std::vector<Alternative>& list) {
    std::vector<std::string> names;
    for (const Alternative& alternative : list) names.push_back(alternative.algorithm);
    return names;
  }
  /// A product [samples, 12] by [12, 20].
  static OpCall product(std::int64_t samples) {
    return testing::make_call(Gemm{}, {testing::dense(0, {samples, 12}, Layout::kNchw), testing::weight({20, 12})},
                              testing::dense(1, {samples, 20}, Layout::kNchw));
  }

  Products products_{nullptr};
};

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST_F(CublasProducts, AreListedByNameAndAskedForOnce) {
  const std::vector<std::string> expected{"lt:0.7.7.7.7.7.7.7.7", "lt:1.7.7.7.7.7.7.7.7"};
  EXPECT_EQ(names(products_.alternatives(product(3))), expected);
  EXPECT_EQ(names(products_.alternatives(product(3))), expected);
  EXPECT_EQ(library.asked, 1);
}

TEST_F(CublasProducts, LeaveOutAnAlgorithmWhoseSettingsCannotBeRead) {
  library.unreadable = 0;
  EXPECT_THAT(names(products_.alternatives(product(3))), ElementsAre("lt:1.7.7.7.7.7.7.7.7"));
}

TEST_F(CublasProducts, AreNoneWhereTheLibraryRefusesForWhateverReason) {
  std::int64_t samples = 1;
  for (const cublasStatus_t status : {CUBLAS_STATUS_NOT_SUPPORTED, CUBLAS_STATUS_INVALID_VALUE,
                                      CUBLAS_STATUS_ARCH_MISMATCH, CUBLAS_STATUS_INTERNAL_ERROR}) {
    library.heuristic = status;
    EXPECT_THAT(products_.alternatives(product(samples)), IsEmpty()) << cublasLtGetStatusName(status);
    EXPECT_THAT(products_.alternatives(product(samples++)), IsEmpty());
  }
  library.heuristic = CUBLAS_STATUS_SUCCESS;
  library.describes = false;
  EXPECT_THAT(products_.alternatives(product(samples++)), IsEmpty());
  library.describes = true;
  EXPECT_EQ(products_.alternatives(product(samples)).size(), 2U) << "one refusal is no word on the next product";
}

}  // namespace
}  // namespace cohort::cuda

extern "C" {

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t /*operation*/,
                                              cublasLtMatmulDescAttributes_t /*attribute*/, const void* /*value*/,
                                              std::size_t /*bytes*/) {
  return cohort::cuda::library.describes ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t /*handle*/, cublasLtMatmulDesc_t /*operation*/,
                                              cublasLtMatrixLayout_t /*a*/, cublasLtMatrixLayout_t /*b*/,
                                              cublasLtMatrixLayout_t /*c*/, cublasLtMatrixLayout_t /*d*/,
                                              cublasLtMatmulPreference_t /*preference*/, int most,
                                              cublasLtMatmulHeuristicResult_t* results, int* count) {
  auto& library = cohort::cuda::library;
  ++library.asked;
  if (library.heuristic != CUBLAS_STATUS_SUCCESS) return library.heuristic;
  *count = library.algorithms < most ? library.algorithms : most;
  for (int i = 0; i < *count; ++i) {
    results[i].state = CUBLAS_STATUS_SUCCESS;
    results[i].workspaceSize = 1000;
    results[i].algo.data[0] = static_cast<std::uint64_t>(i);
  }
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoConfigGetAttribute(const cublasLtMatmulAlgo_t* algorithm,
                                                    cublasLtMatmulAlgoConfigAttributes_t attribute, void* value,
                                                    std::size_t bytes, std::size_t* written) {
  const auto number = static_cast<std::uint32_t>(algorithm->data[0]);
  if (cohort::cuda::library.unreadable == static_cast<int>(number)) return CUBLAS_STATUS_INVALID_VALUE;
  const std::uint32_t answer = attribute == CUBLASLT_ALGO_CONFIG_ID ? number : 7;
  std::memcpy(value, &answer, bytes);
  *written = bytes;
  return CUBLAS_STATUS_SUCCESS;
}

}  // extern "C"
