#include <gmock/gmock.h>

#include <set>

#include "comparison.hpp"
#include "executor/onednn/onednn_kernels.hpp"

namespace cohort::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Key;
using ::testing::SizeIs;

/// Algorithms of a call on `threads` cores, in order.
std::vector<std::string> algorithms(const HostKernels& kernels, const OpCall& call, int threads) {
  std::vector<std::string> result;
  const auto list = kernels.alternatives(call, threads);
  EXPECT_TRUE(list.has_value()) << (list ? "" : list.error().message);
  if (!list) return result;
  for (const Alternative& each : *list) result.push_back(each.algorithm);
  return result;
}

OpCall convolution() {
  return with_output(Convolution{square_window(3, 1, 1), 1},
                     {dense(0, {2, 16, 9, 9}), weight({32, 16, 3, 3}), weight({32})}, 1);
}

TEST(OnednnAlternatives, AreFewAndNamedApart) {
  const OpCall gemm = with_output(Gemm{}, {dense(0, {4, 64}), weight({32, 64}), weight({32})}, 1);
  for (const OpCall& call : {convolution(), gemm}) {
    const auto list = onednn().alternatives(call, 1);
    ASSERT_TRUE(list.has_value());
    EXPECT_LE(list->size(), 5U) << "four of the library's and our own loops";
    EXPECT_GE(list->size(), 2U);
    std::set<std::string> names;
    for (const Alternative& each : *list) {
      names.insert(each.algorithm);
      EXPECT_EQ(each.threads, 1);
      EXPECT_THAT(each.algorithm, ::testing::Not(HasSubstr("ref")));
      // Packing pads but never drops.
      EXPECT_GE(each.packed_weights, Bytes{32 * (64 + 1) * 4});
    }
    EXPECT_THAT(names, SizeIs(list->size()));
  }
}

TEST(OnednnAlternatives, NamePrimitiveAndImplementationOfMatrixProducts) {
  const OpCall call = with_output(Gemm{}, {dense(0, {4, 64}), weight({32, 64}), weight({32})}, 1);
  std::set<std::string> primitives;
  for (const std::string& name : algorithms(onednn(), call, 1)) primitives.insert(name.substr(0, name.find('/')));
  EXPECT_THAT(primitives, ::testing::ElementsAre("inner_product", "loops", "matmul"));
}

TEST(OnednnAlternatives, OfAnImageOfOneChannelAreThoseOfEitherOrderOfMemory) {
  for (const Layout layout : {Layout::kNhwc, Layout::kNchw}) {
    OpCall call = with_output(Convolution{square_window(3, 1, 1), 1},
                              {dense(0, {2, 1, 9, 9}), weight({32, 1, 3, 3}), weight({32})}, 1);
    auto& x = std::get<View>(call.inputs[0]);
    call.outputs[0].strides = dense_strides(call.outputs[0].shape, layout);
    x.strides = dense_strides(x.shape, layout);
    const std::vector<std::string> names = algorithms(onednn(), call, 1);
    x.strides = dense_strides(x.shape, layout == Layout::kNhwc ? Layout::kNchw : Layout::kNhwc);
    EXPECT_EQ(algorithms(onednn(), call, 1), names);
  }
}

TEST(OnednnAlternatives, AreTheSameEachTime) {
  const auto kernels = make_onednn_kernels(2);
  const std::vector<std::string> first = algorithms(*kernels, convolution(), 2);
  EXPECT_EQ(algorithms(*kernels, convolution(), 2), first);
  EXPECT_EQ(algorithms(*make_onednn_kernels(2), convolution(), 2), first);
}

TEST(OnednnAlternatives, AreTheSameOnceOneOfThemIsPrepared) {
  const OpCall call = with_output(Gemm{}, {dense(0, {1, 64}), weight({10, 64}), weight({10})}, 1);
  const auto first = make_onednn_kernels(2);
  const std::vector<std::string> names = algorithms(*first, call, 1);
  const std::vector<std::vector<float>> weights{std::vector<float>(640), std::vector<float>(10)};
  for (const std::string& name : names) ASSERT_TRUE(first->prepare(call, name, 1, weights));
  EXPECT_EQ(algorithms(*make_onednn_kernels(2), call, 1), names);
}

TEST(OnednnAlternatives, RefuseACallWhoseShapesDoNotFit) {
  OpCall call = convolution();
  call.outputs[0] = dense(1, {2, 32, 9, 8});
  const auto list = onednn().alternatives(call, 1);
  ASSERT_FALSE(list.has_value());
  EXPECT_EQ(list.error().code, ErrorCode::kInvalidInput);
  EXPECT_THAT(list.error().message, HasSubstr("Convolution"));
}

TEST(OnednnPrepare, RefusesAnAlgorithmThatIsNotListed) {
  const std::vector<std::vector<float>> weights = {std::vector<float>(32 * 16 * 9), std::vector<float>(32)};
  const auto kernel = onednn().prepare(convolution(), "winograd", 1, weights);
  ASSERT_FALSE(kernel.has_value());
  EXPECT_THAT(kernel.error().message, HasSubstr("winograd"));
}

TEST(OnednnPrepare, RefusesWeightsOfAnotherSize) {
  const std::string algorithm = onednn().alternatives(convolution(), 1)->front().algorithm;
  const std::vector<std::vector<float>> weights = {std::vector<float>(32 * 16 * 9), std::vector<float>(31)};
  const auto kernel = onednn().prepare(convolution(), algorithm, 1, weights);
  ASSERT_FALSE(kernel.has_value());
  EXPECT_THAT(kernel.error().message, HasSubstr("must have 32"));
}

TEST(OnednnPrepare, GivesKernelsOfEqualShapeTheirOwnWeights) {
  const CallRunner one(convolution(), 1), two(convolution(), 2);
  EXPECT_NE(one.run(onednn()), two.run(onednn()));
  expect_equals_reference(one);
  expect_equals_reference(two);
}

TEST(OnednnAcceptsStrides, WhereEverythingIsDense) {
  EXPECT_TRUE(onednn().accepts_strides(convolution()));
  OpCall nchw = convolution();
  nchw.inputs[0] = dense(0, {2, 16, 9, 9}, Layout::kNchw);
  nchw.outputs[0] = dense(1, {2, 32, 9, 9}, Layout::kNchw);
  EXPECT_TRUE(onednn().accepts_strides(nchw));
}

TEST(OnednnDeviceInfo, DescribesThisMachine) {
  const DeviceInfo info = onednn_device_info();
  EXPECT_EQ(info.id, "cpu:0");
  EXPECT_EQ(info.kind, "cpu");
  EXPECT_FALSE(info.name.empty());
  EXPECT_GE(info.cores, 1);
  EXPECT_GT(info.memory, Bytes{0});
  EXPECT_TRUE(info.available);
  EXPECT_THAT(info.settings, Contains(Key("library")));
  EXPECT_THAT(info.settings, Contains(Key("isa")));
  EXPECT_THAT(info.settings, Contains(Key("omp_wait_policy")));
}

}  // namespace
}  // namespace cohort::testing
