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
  int refused_epilogue = 0;
  int epilogue = 0;  ///< as told last
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

/// dw [20, 12] and db [20] of `models` products of 8 samples, in packs of states that lie 1,024 elements apart.
OpCall weight_gradient(std::int64_t models) {
  const bool stacked = models > 1;
  const auto with_models = [&](Shape shape) {
    if (stacked) shape.insert(shape.begin(), models);
    return shape;
  };
  const std::int64_t size = 240 + pack_place(20);
  View pack = testing::dense(2, with_models({size}), Layout::kNchw);
  if (stacked) pack.strides[0] = 1024;
  return testing::make_call(
      GemmWeightGradient{true, stacked},
      {testing::dense(0, with_models({8, 12}), Layout::kNchw), testing::dense(1, with_models({8, 20}), Layout::kNchw)},
      pack);
}

TEST_F(CublasProducts, GiveTheGradientsOfParametersWithThatOfTheBias) {
  for (const std::int64_t models : {1, 3}) {
    const OpCall call = weight_gradient(models);
    const auto product = product_of(call);
    ASSERT_TRUE(product.has_value());
    const ProductForm& form = product->form;
    EXPECT_EQ(form.batch, models);
    EXPECT_EQ((Shape{form.rows, form.inner, form.columns}), (Shape{20, 8, 12}));
    EXPECT_TRUE(form.a.transposed) << "dy has a row for each sample";
    EXPECT_FALSE(form.b.transposed);
    EXPECT_EQ((Shape{form.a.step, form.b.step, form.y.step}), (Shape{20, 12, 12}));
    EXPECT_EQ((Shape{form.a.batch, form.b.batch, form.y.batch}),
              models > 1 ? (Shape{160, 96, 1024}) : (Shape{0, 0, 0}));
    EXPECT_EQ(form.bias, ProductBias::kGradient);
    EXPECT_EQ(form.bias_batch, form.y.batch);
    EXPECT_EQ(product->weights, 240);
    EXPECT_THAT(names(products_.alternatives(call)), ElementsAre("lt:0.7.7.7.7.7.7.7.7", "lt:1.7.7.7.7.7.7.7.7"));
  }
}

TEST_F(CublasProducts, LeaveTheBiasToAKernelOfOursWhereTheEpilogueIsRefused) {
  library.refused_epilogue = CUBLASLT_EPILOGUE_BGRADB;
  EXPECT_THAT(names(products_.alternatives(weight_gradient(1))),
              ElementsAre("lt+own:0.7.7.7.7.7.7.7.7", "lt+own:1.7.7.7.7.7.7.7.7"));
}

TEST_F(CublasProducts, OfMatricesTakeThemTransposedAndStacked) {
  const auto form = [](const MatMul& op, const View& a, const View& b, const Shape& y) {
    const auto product = product_of(testing::make_call(op, {a, b}, testing::dense(2, y, Layout::kNchw)));
    EXPECT_TRUE(product.has_value());
    return product ? product->form : ProductForm{};
  };
  // The gradient by a Gemm's x: dy [8, 20] w [20, 12].
  const ProductForm plain = form(MatMul{}, testing::dense(0, {8, 20}), testing::dense(1, {20, 12}), {8, 12});
  EXPECT_EQ((Shape{plain.rows, plain.inner, plain.columns, plain.batch}), (Shape{8, 20, 12, 1}));
  EXPECT_FALSE(plain.a.transposed || plain.b.transposed);
  const ProductForm turned = form(MatMul{true, true}, testing::dense(0, {20, 8}), testing::dense(1, {12, 20}), {8, 12});
  EXPECT_TRUE(turned.a.transposed && turned.b.transposed);
  EXPECT_EQ((Shape{turned.rows, turned.inner, turned.columns}), (Shape{8, 20, 12}));
  // Heads that lie beside one another, and one matrix for the whole stack.
  const View heads{BufferId{0}, 0, {2, 4, 8, 20}, {640, 20, 80, 1}};
  EXPECT_FALSE(product_of(testing::make_call(MatMul{}, {heads, testing::dense(1, {2, 4, 20, 12}, Layout::kNchw)},
                                             testing::dense(2, {2, 4, 8, 12}, Layout::kNchw))))
      << "their steps are several";
  const ProductForm repeated = form(MatMul{}, testing::dense(0, {5, 8, 20}, Layout::kNchw),
                                    testing::dense(1, {20, 12}, Layout::kNchw), {5, 8, 12});
  EXPECT_EQ((Shape{repeated.batch, repeated.a.batch, repeated.b.batch, repeated.y.batch}), (Shape{5, 160, 0, 96}));
}

TEST_F(CublasProducts, CopyImagesWhoseValuesAreNotInLogicalOrder) {
  const auto product = [](Layout layout) {
    const View w{BufferId{1}, 16, {12, 400}, {400, 1}};
    return product_of(testing::make_call(Gemm{}, {testing::dense(0, {4, 16, 5, 5}, layout), w},
                                         testing::dense(2, {4, 12}, Layout::kNchw)));
  };
  ASSERT_TRUE(product(Layout::kNhwc) && product(Layout::kNchw));
  EXPECT_EQ(product(Layout::kNhwc)->staged_values, 1600);
  EXPECT_EQ(product(Layout::kNchw)->staged_values, 0);
  EXPECT_TRUE(product(Layout::kNchw)->form.b.transposed) << "a row of w is a column of the product";
}

}  // namespace
}  // namespace cohort::cuda

extern "C" {

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t /*operation*/,
                                              cublasLtMatmulDescAttributes_t attribute, const void* value,
                                              std::size_t /*bytes*/) {
  if (attribute == CUBLASLT_MATMUL_DESC_EPILOGUE)
    cohort::cuda::library.epilogue = *static_cast<const cublasLtEpilogue_t*>(value);
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
  if (library.epilogue == library.refused_epilogue) return CUBLAS_STATUS_NOT_SUPPORTED;
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
