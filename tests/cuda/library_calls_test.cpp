// What is given to cuDNN, cuBLASLt and cuBLAS where calls on several streams share a handle. Their functions below
// stand before the libraries' own and keep what they are told.

#include <cublasLt.h>
#include <cublas_v2.h>
#include <cudnn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "executor/cuda/plugin/convolutions.hpp"
#include "executor/cuda/plugin/grouped_products.hpp"
#include "executor/cuda/plugin/products.hpp"
#include "tests/cuda/described_h200.hpp"
#include "tests/kernels/call_runner.hpp"

namespace cohort::cuda {
namespace {

using ::testing::ElementsAre;

/// "SetStream 1", "Execute in 256": streams by number, workspaces by their place in memory.
std::vector<std::string> told;

class Kept final : public WeightStore {
 public:
  const void* add(std::span<const std::byte> bytes) override {
    return all_.emplace_back(std::make_unique<std::vector<std::byte>>(bytes.begin(), bytes.end()))->data();
  }

 private:
  std::vector<std::unique_ptr<std::vector<std::byte>>> all_;
};

class NoKernels final : public KernelLauncher {
 public:
  void launch(const own::KernelArguments& /*kernel*/, StreamHandle stream) override {
    told.push_back(fmt::format("own kernel on {}", static_cast<std::uintptr_t>(stream)));
  }
};

constexpr StreamHandle stream(std::uintptr_t number) { return static_cast<StreamHandle>(number); }

/// Arguments that are nowhere, with a workspace at `place`.
CallArguments arguments(std::size_t inputs, std::uintptr_t place, std::size_t outputs = 1) {
  CallArguments result;
  result.inputs.assign(inputs, reinterpret_cast<const void*>(std::uintptr_t{1} << 20U));
  result.outputs.assign(outputs, reinterpret_cast<void*>(std::uintptr_t{1} << 21U));
  result.workspace = reinterpret_cast<std::byte*>(place);
  return result;
}

class LibraryOrder : public ::testing::Test {
 protected:
  LibraryOrder() { told.clear(); }
  /// Launches the call on streams 1 and 2 in turn, each time with a workspace of its own.
  void launch_in_turn(PreparedCall& call, std::size_t inputs, std::size_t outputs = 1) {
    const auto first = call.bind(arguments(inputs, 64 + 4096, outputs));
    const auto second = call.bind(arguments(inputs, 64 + 8192, outputs));
    told.clear();
    first->launch(stream(1));
    second->launch(stream(2));
    first->launch(stream(1));
  }

  Kept store_;
  NoKernels launcher_;
};

OpCall product(std::uint32_t buffer, std::int64_t samples) {
  return testing::make_call(Gemm{}, {testing::dense(buffer, {samples, 12}, Layout::kNchw), testing::weight({20, 12})},
                            testing::dense(buffer + 1, {samples, 20}, Layout::kNchw));
}

TEST_F(LibraryOrder, OfCudnnIsTheStreamAndThenThePlanInAWorkspaceOfItsOwn) {
  const auto properties = parse_device_properties(kH200);
  ASSERT_TRUE(properties) << properties.error().message;
  const Convolutions convolutions({nullptr, &*properties});
  const OpCall call = testing::make_call(Convolution{{{3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}}, 1},
                                         {testing::dense(0, {16, 64, 28, 28}), testing::weight({64, 64, 3, 3})},
                                         testing::dense(1, {16, 64, 28, 28}));
  const std::vector<Alternative> list = convolutions.alternatives(call);
  const auto needs_room =
      std::find_if(list.begin(), list.end(), [](const Alternative& a) { return a.workspace.value > 0; });
  ASSERT_NE(needs_room, list.end());
  const std::vector<std::vector<float>> weights{std::vector<float>(64 * 64 * 9)};
  const auto prepared = convolutions.prepare(call, {needs_room->algorithm}, weights, store_, launcher_);
  ASSERT_TRUE(prepared) << prepared.error().message;
  launch_in_turn(**prepared, 2);
  EXPECT_THAT(told, ElementsAre("cudnnSetStream 1", "cudnnBackendExecute in 4352", "cudnnSetStream 2",
                                "cudnnBackendExecute in 8448", "cudnnSetStream 1", "cudnnBackendExecute in 4352"));
}

TEST_F(LibraryOrder, OfCublasLtIsOneCallThatNamesStreamAndWorkspace) {
  const Products products(nullptr);
  const OpCall call = product(0, 3);
  const std::vector<Alternative> list = products.alternatives(call);
  ASSERT_FALSE(list.empty());
  const std::vector<std::vector<float>> weights{std::vector<float>(20 * 12)};
  const auto prepared = products.prepare(call, list.front().algorithm, weights, store_, launcher_);
  ASSERT_TRUE(prepared) << prepared.error().message;
  launch_in_turn(**prepared, 2);
  EXPECT_THAT(told, ElementsAre("cublasLtMatmul on 1 in 4352 of 1000", "cublasLtMatmul on 2 in 8448 of 1000",
                                "cublasLtMatmul on 1 in 4352 of 1000"));
}

TEST_F(LibraryOrder, OfGroupedProductsIsTheStreamThenTheWorkspaceThatItTookAwayThenTheProducts) {
  const GroupedProducts grouped;
  const OpCall call = grouped_call({product(0, 3), product(2, 5)});
  const std::vector<std::vector<float>> weights(2, std::vector<float>(20 * 12));
  const auto prepared = grouped.prepare(call, weights, store_, launcher_);
  ASSERT_TRUE(prepared) << prepared.error().message;
  launch_in_turn(**prepared, 4, 2);
  EXPECT_THAT(told, ElementsAre("cublasSetStream 1", "cublasSetWorkspace 4352", "cublasGemmGroupedBatchedEx of 2",
                                "cublasSetStream 2", "cublasSetWorkspace 8448", "cublasGemmGroupedBatchedEx of 2",
                                "cublasSetStream 1", "cublasSetWorkspace 4352", "cublasGemmGroupedBatchedEx of 2"));
}

TEST(GroupedProductsOfFewBits, AreNotOfferedOnViewsThatLieAtOddPlaces) {
  const auto offered = [](Precision precision, std::int64_t offset) {
    OpCall second = product(2, 5);
    std::get<View>(second.inputs[0]).offset = offset;
    OpCall call = grouped_call({product(0, 3), std::move(second)});
    call.precision = precision;
    return !GroupedProducts::alternatives(call).empty();
  };
  EXPECT_TRUE(offered(Precision::kTf32, 0));
  EXPECT_TRUE(offered(Precision::kTf32, 4));
  EXPECT_FALSE(offered(Precision::kTf32, 3));
  EXPECT_TRUE(offered(Precision::kFloat32, 3));
}

std::uintptr_t number(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }

}  // namespace
}  // namespace cohort::cuda

extern "C" {

cudnnStatus_t cudnnSetStream(cudnnHandle_t /*handle*/, cudaStream_t stream) {
  cohort::cuda::told.push_back(fmt::format("cudnnSetStream {}", cohort::cuda::number(stream)));
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendExecute(cudnnHandle_t /*handle*/, cudnnBackendDescriptor_t /*plan*/,
                                  cudnnBackendDescriptor_t pack) {
  void* workspace = nullptr;
  std::int64_t count = 0;
  const cudnnStatus_t status =
      cudnnBackendGetAttribute(pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &count, &workspace);
  cohort::cuda::told.push_back(fmt::format("cudnnBackendExecute in {}", cohort::cuda::number(workspace)));
  return status;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t /*handle*/, cublasLtMatmulDesc_t /*operation*/, const void* /*alpha*/,
                              const void* /*a*/, cublasLtMatrixLayout_t /*a_layout*/, const void* /*b*/,
                              cublasLtMatrixLayout_t /*b_layout*/, const void* /*beta*/, const void* /*c*/,
                              cublasLtMatrixLayout_t /*c_layout*/, void* /*d*/, cublasLtMatrixLayout_t /*d_layout*/,
                              const cublasLtMatmulAlgo_t* /*algorithm*/, void* workspace, std::size_t bytes,
                              cudaStream_t stream) {
  cohort::cuda::told.push_back(fmt::format("cublasLtMatmul on {} in {} of {}", cohort::cuda::number(stream),
                                           cohort::cuda::number(workspace), bytes));
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasCreate(cublasHandle_t* handle) {
  *handle = reinterpret_cast<cublasHandle_t>(std::uintptr_t{1});
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasDestroy(cublasHandle_t /*handle*/) { return CUBLAS_STATUS_SUCCESS; }

cublasStatus_t cublasSetStream(cublasHandle_t /*handle*/, cudaStream_t stream) {
  cohort::cuda::told.push_back(fmt::format("cublasSetStream {}", cohort::cuda::number(stream)));
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetWorkspace(cublasHandle_t /*handle*/, void* workspace, std::size_t /*bytes*/) {
  cohort::cuda::told.push_back(fmt::format("cublasSetWorkspace {}", cohort::cuda::number(workspace)));
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGemmGroupedBatchedEx(cublasHandle_t /*handle*/, const cublasOperation_t* /*transa*/,
                                          const cublasOperation_t* /*transb*/, const int* /*m*/, const int* /*n*/,
                                          const int* /*k*/, const void* /*alpha*/, const void* const* /*a*/,
                                          cudaDataType_t /*a_type*/, const int* /*lda*/, const void* const* /*b*/,
                                          cudaDataType_t /*b_type*/, const int* /*ldb*/, const void* /*beta*/,
                                          void* const* /*c*/, cudaDataType_t /*c_type*/, const int* /*ldc*/, int groups,
                                          const int* /*sizes*/, cublasComputeType_t /*compute*/) {
  cohort::cuda::told.push_back(fmt::format("cublasGemmGroupedBatchedEx of {}", groups));
  return CUBLAS_STATUS_SUCCESS;
}

}  // extern "C"
