#include "executor/cuda/plugin/cublas_gemm.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>

#include "executor/cuda/own/lowering.hpp"
#include "executor/device_error.hpp"
#include "executor/reference/call.hpp"

namespace cohort::cuda {
namespace {

constexpr int kMostAlgorithms = 8;
constexpr std::uint64_t kMostWorkspace = 32ULL << 20U;  // what NVIDIA advises on Hopper

/// An algorithm's settings, in the order in which names state them.
struct Field {
  cublasLtMatmulAlgoConfigAttributes_t attribute;
  std::size_t size;
};
constexpr std::array<Field, 8> kFields{{{CUBLASLT_ALGO_CONFIG_TILE_ID, 4},
                                        {CUBLASLT_ALGO_CONFIG_SPLITK_NUM, 4},
                                        {CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, 4},
                                        {CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING, 4},
                                        {CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION, 4},
                                        {CUBLASLT_ALGO_CONFIG_STAGES_ID, 4},
                                        {CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID, 2},
                                        {CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID, 2}}};

std::optional<std::uint32_t> get_field(const cublasLtMatmulAlgo_t& algo, const Field& field) {
  std::uint32_t value = 0;  // the smaller types fill its low bytes
  std::size_t written = 0;
  const cublasStatus_t status =
      cublasLtMatmulAlgoConfigGetAttribute(&algo, field.attribute, &value, field.size, &written);
  if (status != CUBLAS_STATUS_SUCCESS) return std::nullopt;
  return value;
}

/// What an algorithm's name begins with: its numbers alone do not say how it multiplies.
std::string_view prefix_of(cudaDataType_t type, cublasComputeType_t compute) {
  if (type == CUDA_R_16BF) return "lt-bf16:";
  if (type == CUDA_R_16F) return "lt-fp16:";
  return compute == CUBLAS_COMPUTE_32F ? "lt:" : "lt-tf32:";
}

/// Empty where the library does not tell a setting: what has no name no plan can store.
std::optional<std::string> name_of(const cublasLtMatmulAlgo_t& algo, std::string_view prefix) {
  const auto id = get_field(algo, {CUBLASLT_ALGO_CONFIG_ID, 4});
  if (!id) return std::nullopt;
  std::string name = fmt::format("{}{}", prefix, *id);
  for (const Field& field : kFields) {
    const auto value = get_field(algo, field);
    if (!value) return std::nullopt;
    name += fmt::format(".{}", *value);
  }
  return name;
}

/// Numbers of a name; empty where it is not one.
std::optional<std::array<std::uint32_t, 9>> numbers_of(std::string_view name, std::string_view prefix) {
  if (!name.starts_with(prefix)) return std::nullopt;
  std::array<std::uint32_t, 9> numbers{};
  const char* at = name.data() + prefix.size();
  const char* const end = name.data() + name.size();
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (i > 0 && (at == end || *at++ != '.')) return std::nullopt;
    const auto [next, error] = std::from_chars(at, end, numbers[i]);
    if (error != std::errc()) return std::nullopt;
    at = next;
  }
  if (at != end) return std::nullopt;
  return numbers;
}

/// Bytes to whose multiples every row or column and every member of a stack begins, at most 64 as buffers do.
std::uint32_t alignment(const View& view, std::int64_t row_step, std::int64_t batch_step) {
  std::uint32_t bytes = 64;
  for (const std::int64_t step : {view.offset, row_step, batch_step}) {
    while ((step * element_bytes(view.type)) % bytes != 0) bytes /= 2;
  }
  return bytes;
}

bool rows_lie_dense(const View& view) { return view.shape.back() == 1 || view.strides.back() == 1; }

const View* residual_of(const OpCall& call) {
  if (call.post_ops.empty()) return nullptr;
  const auto* const add = std::get_if<AddOperand>(&call.post_ops.front());
  return add == nullptr ? nullptr : std::get_if<View>(&call.inputs[add->operand]);
}

template <class Value>
void set(cublasLtMatmulDesc_t descriptor, cublasLtMatmulDescAttributes_t attribute, const Value& value) {
  check_cublas(cublasLtMatmulDescSetAttribute(descriptor, attribute, &value, sizeof value),
               "cublasLtMatmulDescSetAttribute");
}

template <class Value>
void set(cublasLtMatmulPreference_t preference, cublasLtMatmulPreferenceAttributes_t attribute, const Value& value) {
  check_cublas(cublasLtMatmulPreferenceSetAttribute(preference, attribute, &value, sizeof value),
               "cublasLtMatmulPreferenceSetAttribute");
}

/// A product as a call, on a buffer for each of its tensors.
OpCall call_of(const own::GemmArguments& product, Precision precision, int multiprocessors) {
  constexpr auto kElement = static_cast<std::int64_t>(sizeof(float));
  const Shape shape{product.batch, product.rows, product.columns};
  const auto view = [](std::uint32_t buffer, const void* data, const Shape& of, const Shape& strides) {
    const auto address = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(data) % 64);
    return View{static_cast<BufferId>(buffer), address / kElement, of, strides, DataType::kFloat32};
  };
  OpCall call;
  call.attributes = Gemm{true};
  call.precision = precision;
  call.multiprocessors = multiprocessors;
  call.inputs = {view(0, product.x, {product.batch, product.rows, product.inner}, {product.x_batch, product.x_row, 1}),
                 WeightView{{}, {product.batch, product.columns, product.inner}, DataType::kFloat32}};
  if (product.bias != nullptr)
    call.inputs.emplace_back(WeightView{{}, {product.batch, product.columns}, DataType::kFloat32});
  const Shape strides{product.y_batch, product.y_row, 1};
  if (product.post.count > 0) {
    call.post_ops = {AddOperand{call.inputs.size()}};
    call.inputs.emplace_back(view(1, product.y, shape, strides));
  }
  call.outputs = {view(2, product.y, shape, strides)};
  return call;
}

}  // namespace

GemmProblem::GemmProblem(const own::GemmArguments& product, Precision precision, int multiprocessors)
    : GemmProblem(call_of(product, precision, multiprocessors)) {}

cudaDataType_t native_type(DataType type) {
  return type == DataType::kBfloat16 ? CUDA_R_16BF : type == DataType::kFloat16 ? CUDA_R_16F : CUDA_R_32F;
}

void check_cublas(cublasStatus_t status, std::string_view call) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw DeviceError(fmt::format("{}: {} ({})", call, cublasLtGetStatusName(status), cublasLtGetStatusString(status)));
}

bool GemmProblem::fits(const OpCall& call) {
  const auto* const gemm = std::get_if<Gemm>(&call.attributes);
  if (gemm == nullptr || !own::check_supported(call)) return false;
  const View& y = call.outputs[0];
  const View& x = std::get<View>(call.inputs[0]);
  const std::size_t lead = gemm->stacked ? 1 : 0;
  const std::int64_t inner = shape_of(call.inputs[1])[lead + 1];
  if (!rows_lie_dense(y)) return false;
  if (y.shape[lead] > 1 && (x.strides[lead] < inner || y.strides[lead] < y.shape[lead + 1])) return false;
  // What is left to a kernel of ours must not be asked to add a constant, nor what the product overwrites.
  return std::all_of(call.post_ops.begin(), call.post_ops.end(), [&](const PostOp& post_op) {
    const auto* const add = std::get_if<AddOperand>(&post_op);
    if (add == nullptr) return true;
    const View* const view = std::get_if<View>(&call.inputs[add->operand]);
    return view != nullptr && view->buffer != y.buffer;
  });
}

GemmProblem::GemmProblem(const OpCall& call)
    : type_(native_type(call.outputs[0].type)),
      compute_(call.precision == Precision::kTf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F) {
  const bool stacked = std::get<Gemm>(call.attributes).stacked;
  const std::size_t lead = stacked ? 1 : 0;
  const View& x = std::get<View>(call.inputs[0]);
  const View& y = call.outputs[0];
  const std::int64_t rows = y.shape[lead];
  const std::int64_t columns = y.shape[lead + 1];
  const std::int64_t inner = shape_of(call.inputs[1])[lead + 1];
  batch_ = stacked ? y.shape[0] : 1;
  const auto batch_step = [&](const View& view) { return stacked ? view.strides[0] : 0; };

  const View* const residual = residual_of(call);
  const bool adds =
      residual != nullptr && rows_lie_dense(*residual) && (rows == 1 || residual->strides[lead] >= columns);
  if (adds) residual_ = std::get<AddOperand>(call.post_ops.front()).operand;
  fused_ = adds ? 1 : 0;
  const bool biased = own_input_count(call) > 2;
  int epilogue = biased ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
  if (fused_ < call.post_ops.size()) {
    const auto* const activation = std::get_if<Activation>(&call.post_ops[fused_]);
    if (activation != nullptr && activation->kind == ActivationKind::kRelu) {
      epilogue = biased ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_RELU;
      ++fused_;
    }
  }

  cublasLtMatmulDesc_t operation = nullptr;
  check_cublas(cublasLtMatmulDescCreate(&operation, compute_, CUDA_R_32F), "cublasLtMatmulDescCreate");
  operation_.reset(operation);
  set(operation, CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_T);
  set(operation, CUBLASLT_MATMUL_DESC_TRANSB, CUBLAS_OP_N);
  set(operation, CUBLASLT_MATMUL_DESC_EPILOGUE, static_cast<cublasLtEpilogue_t>(epilogue));
  if (call.multiprocessors > 0)
    set(operation, CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET, static_cast<std::int32_t>(call.multiprocessors));
  if (biased) {
    set_bias(reinterpret_cast<const void*>(std::uintptr_t{256}));  // for its alignment, until the real one is known
    if (batch_ > 1) set(operation, CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE, columns);
  }
  a_ = matrix(inner, columns, inner, inner * columns);
  b_ = matrix(inner, rows, std::max(x.strides[lead], inner), batch_step(x));
  d_ = matrix(columns, rows, std::max(y.strides[lead], columns), batch_step(y));
  c_ = adds ? matrix(columns, rows, std::max(residual->strides[lead], columns), batch_step(*residual))
            : matrix(columns, rows, std::max(y.strides[lead], columns), batch_step(y));
  x_alignment_ = alignment(x, rows > 1 ? x.strides[lead] : 0, batch_step(x));
  y_alignment_ = alignment(y, rows > 1 ? y.strides[lead] : 0, batch_step(y));
  c_alignment_ =
      adds ? alignment(*residual, rows > 1 ? residual->strides[lead] : 0, batch_step(*residual)) : y_alignment_;
}

GemmProblem::Matrix GemmProblem::matrix(std::int64_t rows, std::int64_t columns, std::int64_t step,
                                        std::int64_t batch_step) const {
  cublasLtMatrixLayout_t layout = nullptr;
  check_cublas(cublasLtMatrixLayoutCreate(&layout, type_, static_cast<std::uint64_t>(rows),
                                          static_cast<std::uint64_t>(columns), step),
               "cublasLtMatrixLayoutCreate");
  Matrix result(layout);
  if (batch_ == 1) return result;
  const auto count = static_cast<std::int32_t>(batch_);
  check_cublas(cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count),
               "cublasLtMatrixLayoutSetAttribute");
  check_cublas(cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &batch_step,
                                                sizeof batch_step),
               "cublasLtMatrixLayoutSetAttribute");
  return result;
}

void GemmProblem::set_bias(const void* bias) { set(operation_.get(), CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias); }

std::vector<GemmProblem::Algorithm> GemmProblem::algorithms(cublasLtHandle_t handle) const {
  cublasLtMatmulPreference_t preference = nullptr;
  check_cublas(cublasLtMatmulPreferenceCreate(&preference), "cublasLtMatmulPreferenceCreate");
  const std::unique_ptr<std::remove_pointer_t<cublasLtMatmulPreference_t>,
                        decltype([](cublasLtMatmulPreference_t p) { (void)cublasLtMatmulPreferenceDestroy(p); })>
      owner(preference);
  set(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, kMostWorkspace);
  // Parts of a sum meet in the workspace and are added in a fixed order, not in place as they arrive.
  set(preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
      static_cast<std::uint32_t>(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE | CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE));
  set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, std::uint32_t{64});
  set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, x_alignment_);
  set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, c_alignment_);
  set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, y_alignment_);

  std::array<cublasLtMatmulHeuristicResult_t, kMostAlgorithms> results{};
  int count = 0;
  const cublasStatus_t status =
      cublasLtMatmulAlgoGetHeuristic(handle, operation_.get(), a_.get(), b_.get(), c_.get(), d_.get(), preference,
                                     kMostAlgorithms, results.data(), &count);
  if (status != CUBLAS_STATUS_SUCCESS) return {};  // whatever the reason, there are other ways to run it
  std::vector<Algorithm> list;
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    if (results[i].state != CUBLAS_STATUS_SUCCESS) continue;
    auto name = name_of(results[i].algo, prefix_of(type_, compute_));
    if (!name) continue;
    Algorithm algorithm{results[i].algo, Bytes{static_cast<std::int64_t>(results[i].workspaceSize)}, *std::move(name)};
    const bool known =
        std::any_of(list.begin(), list.end(), [&](const Algorithm& a) { return a.name == algorithm.name; });
    if (!known) list.push_back(std::move(algorithm));
  }
  return list;
}

std::optional<GemmProblem::Algorithm> GemmProblem::algorithm(cublasLtHandle_t handle, std::string_view name) const {
  const auto numbers = numbers_of(name, prefix_of(type_, compute_));
  if (!numbers) return std::nullopt;
  // What the library itself proposes is taken as it comes: an algorithm may hold more than its settings tell.
  std::vector<Algorithm> proposed = algorithms(handle);
  const auto found = std::find_if(proposed.begin(), proposed.end(), [&](const Algorithm& a) { return a.name == name; });
  if (found != proposed.end()) return std::move(*found);
  Algorithm result;
  result.name = name;
  if (cublasLtMatmulAlgoInit(handle, compute_, CUDA_R_32F, type_, type_, type_, type_, static_cast<int>((*numbers)[0]),
                             &result.algo) != CUBLAS_STATUS_SUCCESS)
    return std::nullopt;
  for (std::size_t i = 0; i < kFields.size(); ++i) {
    const std::uint32_t value = (*numbers)[i + 1];
    const auto low = static_cast<std::uint16_t>(value);
    const void* const at = kFields[i].size == 2 ? static_cast<const void*>(&low) : &value;
    if (cublasLtMatmulAlgoConfigSetAttribute(&result.algo, kFields[i].attribute, at, kFields[i].size) !=
        CUBLAS_STATUS_SUCCESS)
      return std::nullopt;
  }
  cublasLtMatmulHeuristicResult_t checked{};
  if (cublasLtMatmulAlgoCheck(handle, operation_.get(), a_.get(), b_.get(), c_.get(), d_.get(), &result.algo,
                              &checked) != CUBLAS_STATUS_SUCCESS)
    return std::nullopt;
  result.workspace = Bytes{static_cast<std::int64_t>(checked.workspaceSize)};
  return result;
}

void GemmProblem::run(cublasLtHandle_t handle, const Algorithm& algorithm, const Pointers& pointers,
                      cudaStream_t stream) const {
  const float one = 1;
  const float beta = pointers.residual != nullptr ? 1.0F : 0.0F;
  const void* const c = pointers.residual != nullptr ? pointers.residual : pointers.y;
  check_cublas(cublasLtMatmul(handle, operation_.get(), &one, pointers.w, a_.get(), pointers.x, b_.get(), &beta, c,
                              c_.get(), pointers.y, d_.get(), &algorithm.algo, pointers.workspace,
                              static_cast<std::size_t>(algorithm.workspace.value), stream),
               "cublasLtMatmul");
}

}  // namespace cohort::cuda
