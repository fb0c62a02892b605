// cuDNN's engines for a GPU that is not here, from a description of its properties. Nothing is run.

#include <cuda_runtime_api.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "executor/cuda/plugin/convolution_filters.hpp"
#include "executor/cuda/plugin/cudnn_convolution.hpp"
#include "executor/cuda/plugin/grouped_products.hpp"
#include "executor/cuda/plugin/library_calls.hpp"
#include "executor/cuda/plugin/runtime_api.hpp"
#include "executor/device_error.hpp"
#include "models/networks/networks.hpp"
#include "models/training/differentiate.hpp"
#include "simulator/plan/fuse.hpp"
#include "simulator/plan/lower.hpp"
#include "tests/cuda/described_h200.hpp"
#include "tests/kernels/call_runner.hpp"
#include "tests/temporary_folder.hpp"

namespace cohort::cuda {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

Window window(std::int64_t kernel, std::int64_t stride, std::int64_t pad) {
  return {{kernel, kernel}, {stride, stride}, {pad, pad}, {pad, pad}, {1, 1}};
}

/// [16, 64, 56, 56] by 3x3 to as many channels, with bias; a residual where asked for; and Relu.
OpCall convolution(Layout layout, std::int64_t groups, bool residual) {
  const Shape image{16, 64 * groups, 56, 56};
  std::vector<Operand> inputs{testing::dense(0, image, layout), testing::weight({64 * groups, 64, 3, 3}),
                              testing::weight({64 * groups})};
  std::vector<PostOp> post{Activation{ActivationKind::kRelu, 0, 0}};
  if (residual) {
    inputs.emplace_back(testing::dense(1, image, layout));
    post.insert(post.begin(), AddOperand{3});
  }
  return testing::make_call(Convolution{window(3, 1, 1), groups}, std::move(inputs), testing::dense(2, image, layout),
                            std::move(post));
}

class Engines : public ::testing::Test {
 protected:
  Engines() : properties_(parse_device_properties(kH200)) {
    EXPECT_TRUE(properties_) << (properties_ ? "" : properties_.error().message);
  }
  [[nodiscard]] EngineSource source() const { return {nullptr, &*properties_}; }

  Result<Descriptor> properties_;
};

bool has_note(const Engine& engine, cudnnBackendNumericalNote_t note) {
  return std::find(engine.notes.begin(), engine.notes.end(), note) != engine.notes.end();
}

TEST_F(Engines, AreListedForFusedAndBareConvolutionsAndCanBeBuiltByName) {
  for (const Layout layout : {Layout::kNhwc, Layout::kNchw}) {
    for (const std::int64_t groups : {1, 4}) {
      for (const bool residual : {false, true}) {
        for (const bool fused : {true, false}) {
          const ConvolutionGraph graph(convolution(layout, groups, residual), source(), fused);
          const std::vector<Engine> engines = graph.engines({});
          ASSERT_FALSE(engines.empty()) << groups << " groups, residual " << residual << ", fused " << fused;
          for (const Engine& engine : engines) {
            const auto parsed = engine_from(engine_name(engine));
            ASSERT_TRUE(parsed) << engine_name(engine);
            EXPECT_EQ(parsed->knobs, engine.knobs);
            const auto plan = graph.plan(*parsed, {});
            ASSERT_TRUE(plan) << engine_name(engine);
            EXPECT_EQ(plan->get_int64(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE), engine.workspace.value);
          }
        }
      }
    }
  }
}

/// The convolution's gradients by x and by its filters, which are part of a state and of a pack; of three models where
/// asked for, whose states lie 100,000 elements apart.
std::vector<OpCall> gradients(Layout layout, std::int64_t groups, std::int64_t models) {
  const Shape image{16, 64 * groups * models, 28, 28};
  Shape filters{64 * groups, 64, 3, 3};
  View w{BufferId{1}, 16, filters, dense_strides(filters, Layout::kNchw)};
  if (models > 1) {
    w.shape.insert(w.shape.begin(), models);
    w.strides.insert(w.strides.begin(), 1000000);
  }
  const View x = testing::dense(0, image, layout), dy = testing::dense(2, image, layout);
  const std::int64_t size = element_count(filters) + pack_place(64 * groups);
  View pack{BufferId{3}, 0, {size}, {1}};
  if (models > 1) pack = {BufferId{3}, 0, {models, size}, {1000000, 1}};
  return {testing::make_call(ConvTranspose{window(3, 1, 1), {0, 0}, groups * models}, {dy, w}, x),
          testing::make_call(ConvolutionWeightGradient{window(3, 1, 1), groups, true, models, false}, {x, dy}, pack)};
}

TEST_F(Engines, AreListedForGradientsAndCanBeBuiltByName) {
  for (const Layout layout : {Layout::kNhwc, Layout::kNchw}) {
    for (const std::int64_t groups : {1, 4}) {
      for (const std::int64_t models : {1, 3}) {
        for (const OpCall& call : gradients(layout, groups, models)) {
          SCOPED_TRACE(fmt::format("{} of {} groups and {} models, {}", op_type(call.attributes), groups, models,
                                   layout == Layout::kNhwc ? "NHWC" : "NCHW"));
          const ConvolutionGraph graph(call, source(), true);
          const std::vector<Engine> engines = graph.engines({});
          ASSERT_FALSE(engines.empty());
          for (const Engine& engine : engines) {
            EXPECT_FALSE(has_note(engine, CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC)) << engine_name(engine);
            EXPECT_TRUE(graph.plan(engine, {})) << engine_name(engine);
          }
        }
      }
    }
  }
}

TEST(ConvolutionFilters, AreCopiedUnlessTheyLieAsTheLibraryHasThem) {
  const auto staged = [](Layout layout, std::int64_t models) {
    std::vector<bool> all;
    for (const OpCall& call : gradients(layout, 1, models)) {
      all.push_back(are_staged(call));
      EXPECT_EQ(staged_filters(call), Bytes{all.back() ? models * 64 * 64 * 9 * 4 : 0});
    }
    return all;
  };
  EXPECT_THAT(staged(Layout::kNchw, 1), ElementsAre(false, false));
  EXPECT_THAT(staged(Layout::kNhwc, 1), ElementsAre(true, true));
  EXPECT_THAT(staged(Layout::kNchw, 3), ElementsAre(true, true)) << "members' states are not one tensor";
  const OpCall gradient = gradients(Layout::kNhwc, 1, 3)[1];
  const Filters filters = filters_of(gradient);
  EXPECT_THAT(filters.shape, ElementsAre(192, 64, 3, 3));
  EXPECT_THAT(filters.strides, ElementsAre(576, 1, 192, 64));
}

TEST_F(Engines, OfFloat32UseNoTensorCoresUnlessTheyAreAskedFor) {
  const ConvolutionGraph graph(convolution(Layout::kNhwc, 1, false), source(), true);
  for (const Engine& engine : graph.engines({})) {
    EXPECT_FALSE(has_note(engine, CUDNN_NUMERICAL_NOTE_TENSOR_CORE)) << engine_name(engine);
    EXPECT_FALSE(has_note(engine, CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC)) << engine_name(engine);
  }
  const NumericLimits tf32 = limits_of(Precision::kTf32);
  const std::vector<Engine> fast = graph.engines(tf32);
  ASSERT_FALSE(fast.empty());
  EXPECT_TRUE(has_note(fast.front(), CUDNN_NUMERICAL_NOTE_TENSOR_CORE));
}

TEST_F(Engines, Of16BitsUseTensorCoresAndAreListedForEveryForm) {
  for (const Precision precision : {Precision::kBfloat16, Precision::kFloat16}) {
    for (const Layout layout : {Layout::kNhwc, Layout::kNchw}) {
      for (const std::int64_t groups : {1, 4}) {
        for (const bool residual : {false, true}) {
          OpCall call = convolution(layout, groups, residual);
          call.precision = precision;
          for (Operand& operand : call.inputs)
            std::visit([&](auto& view) { view.type = storage_of(precision); }, operand);
          call.outputs[0].type = storage_of(precision);
          const ConvolutionGraph graph(call, source(), true);
          const std::vector<Engine> engines = graph.engines(limits_of(precision));
          ASSERT_FALSE(engines.empty()) << to_string(precision) << ", " << groups << " groups, residual " << residual;
          EXPECT_TRUE(has_note(engines.front(), CUDNN_NUMERICAL_NOTE_TENSOR_CORE));
          for (const Engine& engine : engines) {
            EXPECT_FALSE(has_note(engine, CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS)) << engine_name(engine);
            EXPECT_FALSE(has_note(engine, CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION)) << engine_name(engine);
          }
          EXPECT_TRUE(graph.plan(engines.front(), limits_of(precision)));
        }
      }
    }
  }
}

TEST_F(Engines, TakeAllMultiprocessorsWhateverTheirGroupAsksFor) {
  OpCall call = convolution(Layout::kNhwc, 1, false);
  const std::vector<Engine> all = ConvolutionGraph(call, source(), true).engines({});
  call.multiprocessors = 33;
  const ConvolutionGraph graph(call, source(), true);
  const std::vector<Engine> engines = graph.engines({});
  ASSERT_EQ(engines.size(), all.size());
  for (const Engine& engine : engines) EXPECT_TRUE(graph.plan(engine, {})) << engine_name(engine);
}

TEST_F(Engines, ThatTheLimitsRefuseAreNotBuiltByNameEither) {
  const ConvolutionGraph graph(convolution(Layout::kNhwc, 1, false), source(), true);
  const NumericLimits tf32 = limits_of(Precision::kTf32);
  const Engine fast = graph.engines(tf32).front();
  EXPECT_TRUE(graph.plan(fast, tf32));
  EXPECT_FALSE(graph.plan(fast, {}));
}

TEST(EngineLimits, RefuseWhatNumericalNotesSayBeyondThem) {
  const auto with = [](cudnnBackendNumericalNote_t note) {
    Engine engine;
    engine.notes = {CUDNN_NUMERICAL_NOTE_WINOGRAD, note};
    return engine;
  };
  for (const Precision precision : {Precision::kFloat32, Precision::kTf32, Precision::kBfloat16, Precision::kFloat16}) {
    const NumericLimits limits = limits_of(precision);
    EXPECT_TRUE(is_refused(with(CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_13x13), limits)) << to_string(precision);
    EXPECT_TRUE(is_refused(with(CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION), limits));
    EXPECT_TRUE(is_refused(with(CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC), limits));
    EXPECT_FALSE(is_refused(with(CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_4x4), limits));
    EXPECT_FALSE(is_refused(with(CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_6x6), limits));
    const bool exact = precision == Precision::kFloat32;
    EXPECT_EQ(is_refused(with(CUDNN_NUMERICAL_NOTE_TENSOR_CORE), limits), exact);
  }
}

TEST_F(Engines, WithKnobsAreListedWithThem) {
  const ConvolutionGraph graph(convolution(Layout::kNhwc, 1, false), source(), true);
  const std::vector<Engine> engines = graph.engines({});
  EXPECT_TRUE(std::any_of(engines.begin(), engines.end(), [](const Engine& engine) { return !engine.knobs.empty(); }));
}

TEST(EngineNames, ThatAreNoneAreRefused) {
  EXPECT_TRUE(engine_from("eng3:2=5,13=1"));
  EXPECT_TRUE(engine_from("eng0"));
  for (const char* text : {"", "eng", "engine3", "eng3:", "eng3:2", "eng3:2=", "eng3:2=5,", "eng3:2=5;3=1", "eng3 "})
    EXPECT_FALSE(engine_from(text)) << text;
}

TEST(CudaErrors, AreToldOnceAndNotBlamedOnWhatComesNext) {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) GTEST_SKIP() << "without a driver every call fails anew";
  const cudaError_t status = cudaSetDevice(-1);
  ASSERT_NE(status, cudaSuccess);
  ASSERT_NE(cudaPeekAtLastError(), cudaSuccess);
  EXPECT_THROW(check_cuda(status, "cudaSetDevice"), DeviceError);
  EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
}

/// Products of two members: [4, 6] to 5 columns, and every second row of [3, 8] to 2.
std::vector<OpCall> two_products() {
  OpCall first = testing::make_call(Gemm{}, {testing::dense(0, {4, 6}), testing::weight({5, 6}), testing::weight({5})},
                                    testing::dense(1, {4, 5}));
  const View x{BufferId{2}, 0, {3, 8}, {16, 1}, DataType::kFloat32};
  OpCall second = testing::make_call(Gemm{}, {x, testing::weight({2, 8})}, testing::dense(3, {3, 2}), {Activation{}});
  return {std::move(first), std::move(second)};
}

TEST(GroupedProducts, StandInColumnMajorTerms) {
  const GroupedSizes sizes = grouped_sizes(two_products());
  EXPECT_THAT(sizes.m, ElementsAre(5, 2));
  EXPECT_THAT(sizes.n, ElementsAre(4, 3));
  EXPECT_THAT(sizes.k, ElementsAre(6, 8));
  EXPECT_THAT(sizes.lda, ElementsAre(6, 8));
  EXPECT_THAT(sizes.ldb, ElementsAre(6, 16));
  EXPECT_THAT(sizes.ldc, ElementsAre(5, 2));
  EXPECT_THAT(sizes.count, ElementsAre(1, 1));
  EXPECT_THAT(sizes.transa, ElementsAre(CUBLAS_OP_T, CUBLAS_OP_T));
  EXPECT_THAT(sizes.transb, ElementsAre(CUBLAS_OP_N, CUBLAS_OP_N));
}

TEST(GroupedProducts, AreListedWhereAllAreProductsOfOneType) {
  std::vector<OpCall> calls = two_products();
  const auto listed = GroupedProducts::alternatives(grouped_call(calls));
  ASSERT_EQ(listed.size(), 1U);
  EXPECT_TRUE(GroupedProducts::names(listed[0].algorithm));
  EXPECT_TRUE(listed[0].side_by_side);
  EXPECT_GE(listed[0].workspace, Bytes{32 << 20});
  EXPECT_TRUE(GroupedProducts::alternatives(calls[0]).empty()) << "one member's product is cuBLASLt's";
  calls.push_back(testing::make_call(Activation{}, {testing::dense(4, {2, 3})}, testing::dense(5, {2, 3})));
  EXPECT_TRUE(GroupedProducts::alternatives(grouped_call(calls)).empty());
}

class DescribedCatalog : public ::testing::Test {
 protected:
  void write(std::string_view text) const { folder_.write(file_.filename(), text); }

  TemporaryFolder folder_;
  std::filesystem::path file_ = folder_.path() / "described-gpu.json";
};

TEST_F(DescribedCatalog, NeedsAFileThatIsADescription) {
  const auto absent = make_described_catalog(file_);
  ASSERT_FALSE(absent);
  EXPECT_THAT(absent.error().message, HasSubstr(file_.string()));
  for (const char* text : {"", "no json", "{}", "[1, 2]", R"({"deviceVer": 900})"}) {
    write(text);
    const auto broken = make_described_catalog(file_);
    ASSERT_FALSE(broken) << text;
    EXPECT_EQ(broken.error().code, ErrorCode::kInvalidInput);
    EXPECT_THAT(broken.error().message, StartsWith(file_.string()));
  }
}

TEST_F(DescribedCatalog, PutsTheBareConvolutionFirstWhereCudnnHasOneWayToFuse) {
  write(kH200);
  const auto catalog = make_described_catalog(file_);
  ASSERT_TRUE(catalog) << catalog.error().message;
  const auto listed = [&](ActivationKind kind) {
    OpCall call = convolution(Layout::kNchw, 1, false);
    call.post_ops = {Activation{kind, 0, 0}};
    std::vector<std::string> names;
    const auto ways = (*catalog)->alternatives(call, 1);
    EXPECT_TRUE(ways) << ways.error().message;
    for (const Alternative& way : ways.value_or(std::vector<Alternative>{})) names.push_back(way.algorithm);
    return names;
  };
  const auto bare = [](const std::vector<std::string>& names) {
    return std::count_if(names.begin(), names.end(), [](const auto& name) { return name.starts_with("cudnn+own:"); });
  };
  const std::vector<std::string> relu = listed(ActivationKind::kRelu);
  ASSERT_FALSE(relu.empty());
  EXPECT_THAT(relu.front(), StartsWith("cudnn:"));
  EXPECT_LE(bare(relu), 2);
  const std::vector<std::string> tanh = listed(ActivationKind::kTanh);
  ASSERT_FALSE(tanh.empty());
  EXPECT_THAT(tanh.front(), StartsWith("cudnn+own:"));
  EXPECT_GT(bare(tanh), 2);
}

TEST_F(DescribedCatalog, WantsCopiesOfImagesThatDoNotLieDense) {
  write(kH200);
  const auto catalog = make_described_catalog(file_);
  ASSERT_TRUE(catalog) << catalog.error().message;
  OpCall call = convolution(Layout::kNchw, 1, false);
  EXPECT_TRUE((*catalog)->accepts_strides(call));
  std::get<View>(call.inputs[0]).strides[0] *= 4;  // the first of four members' channels side by side
  EXPECT_FALSE((*catalog)->accepts_strides(call));
}

TEST_F(DescribedCatalog, LowersAPlanForADeviceThatIsNotHere) {
  write(kH200);
  const auto catalog = make_described_catalog(file_);
  ASSERT_TRUE(catalog) << catalog.error().message;
  const auto model = make_network("lenet5", 4, {});
  ASSERT_TRUE(model) << model.error().message;
  const std::vector<const Model*> models(3, &*model);
  Plan plan = uniform_plan({{"a", {}, 0}, {"b", {}, 1}, {"c", {}, 2}}, Strategy::kConcurrent, 3);
  plan.groups.push_back({"first", {0, 1, 2}, {"conv1"}, Strategy::kDenseConvolution, 0, {}, {}});
  const auto program = lower(plan, models, **catalog);
  ASSERT_TRUE(program) << program.error().message;
  int convolutions = 0;
  for (const Step& step : program->steps) {
    const bool convolution = std::holds_alternative<Convolution>(step.call.attributes);
    convolutions += convolution ? 1 : 0;
    EXPECT_THAT(step.cost.algorithm, StartsWith(convolution ? "cudnn" : "own:")) << step.task;
  }
  EXPECT_GE(convolutions, 2);
}

/// A training step of lenet5 for three members, its ops in the model batch as `strategy` says.
TEST_F(DescribedCatalog, LowersATrainingStepWithTheLibraryWhereItCan) {
  write(kH200);
  const auto catalog = make_described_catalog(file_);
  ASSERT_TRUE(catalog) << catalog.error().message;
  auto network = make_network("lenet5", 16, {});
  ASSERT_TRUE(network) << network.error().message;
  Weights weights = random_weights(*network, 1);
  const auto step = differentiate({*std::move(network), std::move(weights)}, TrainingSpec{});
  ASSERT_TRUE(step) << step.error().message;
  const std::vector<const Model*> models(3, &step->loaded.model);
  for (const bool grouped : {false, true}) {
    Plan plan = uniform_plan({{"a", {}, 0}, {"b", {}, 1}, {"c", {}, 2}}, Strategy::kConcurrent, 3);
    if (grouped) {
      Group channels{"channels", {0, 1, 2}, {}, Strategy::kGroupedConvolution, 0, {}, {}};
      for (const Op& op : models[0]->ops) {
        if (fuse(*models[0], op, Strategy::kGroupedConvolution, 3, false)) channels.ops.push_back(op.name);
      }
      plan.groups.push_back(std::move(channels));
    }
    const auto program = lower(plan, models, **catalog);
    ASSERT_TRUE(program) << program.error().message;
    std::map<std::string_view, int> by_library;
    for (const Step& each : program->steps) {
      const OpAttributes& op = each.call.attributes;
      const bool convolution = std::holds_alternative<Convolution>(op) || std::holds_alternative<ConvTranspose>(op) ||
                               std::holds_alternative<ConvolutionWeightGradient>(op);
      EXPECT_THAT(each.cost.algorithm, StartsWith(convolution ? "cudnn" : "own:")) << each.task;
      if (convolution) ++by_library[op_type(op)];
    }
    EXPECT_GE(by_library["Convolution"], grouped ? 2 : 6);
    EXPECT_GE(by_library["ConvTranspose"], grouped ? 1 : 3);
    EXPECT_GE(by_library["ConvolutionWeightGradient"], grouped ? 2 : 6);
  }
}

}  // namespace
}  // namespace cohort::cuda
