#include "executor/cuda/plugin/cublas_gemm.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>

#include "executor/device_error.hpp"

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

}  // namespace

cudaDataType_t native_type(DataType type) {
  return type == DataType::kBfloat16 ? CUDA_R_16BF : type == DataType::kFloat16 ? CUDA_R_16F : CUDA_R_32F;
}

void check_cublas(cublasStatus_t status, std::string_view call) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw DeviceError(fmt::format("{}: {} ({})", call, cublasLtGetStatusName(status), cublasLtGetStatusString(status)));
}

GemmProblem::GemmProblem(const ProductForm& form)
    : type_(native_type(form.type)),
      compute_(form.precision == Precision::kTf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F),
      batch_(form.batch),
      a_alignment_(form.b.alignment),
      b_alignment_(form.a.alignment),
      c_alignment_(form.c ? form.c->alignment : form.y.alignment),
      d_alignment_(form.y.alignment) {
  cublasLtMatmulDesc_t operation = nullptr;
  check_cublas(cublasLtMatmulDescCreate(&operation, compute_, CUDA_R_32F), "cublasLtMatmulDescCreate");
  operation_.reset(operation);
  set(operation, CUBLASLT_MATMUL_DESC_TRANSA, form.b.transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
  set(operation, CUBLASLT_MATMUL_DESC_TRANSB, form.a.transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
  set_epilogue(form);
  if (form.multiprocessors > 0)
    set(operation, CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET, static_cast<std::int32_t>(form.multiprocessors));
  const auto stored = [&](std::int64_t rows, std::int64_t columns, const StoredMatrix& of) {
    return of.transposed ? matrix(columns, rows, of) : matrix(rows, columns, of);
  };
  a_ = stored(form.inner, form.columns, form.b);
  b_ = stored(form.rows, form.inner, form.a);
  c_ = matrix(form.rows, form.columns, form.c ? *form.c : form.y);
  d_ = matrix(form.rows, form.columns, form.y);
}

void GemmProblem::set_epilogue(const ProductForm& form) {
  const bool added = form.bias == ProductBias::kAdded;
  int epilogue = form.relu ? CUBLASLT_EPILOGUE_RELU : CUBLASLT_EPILOGUE_DEFAULT;
  if (added) epilogue = form.relu ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_BIAS;
  // Sums over rows of a, which is B here: as many as y^T has columns.
  if (form.bias == ProductBias::kGradient) epilogue = CUBLASLT_EPILOGUE_BGRADB;
  set(operation_.get(), CUBLASLT_MATMUL_DESC_EPILOGUE, static_cast<cublasLtEpilogue_t>(epilogue));
  if (form.bias == ProductBias::kNone) return;
  // For its alignment, until the real one is known.
  set_bias(reinterpret_cast<const void*>(std::uintptr_t{256} + form.bias_alignment));
  if (batch_ > 1) set(operation_.get(), CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE, form.bias_batch);
}

GemmProblem::Matrix GemmProblem::matrix(std::int64_t rows, std::int64_t columns, const StoredMatrix& stored) const {
  cublasLtMatrixLayout_t layout = nullptr;
  check_cublas(cublasLtMatrixLayoutCreate(&layout, type_, static_cast<std::uint64_t>(columns),
                                          static_cast<std::uint64_t>(rows), std::max(stored.step, columns)),
               "cublasLtMatrixLayoutCreate");
  Matrix result(layout);
  if (batch_ == 1) return result;
  const auto count = static_cast<std::int32_t>(batch_);
  check_cublas(cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count),
               "cublasLtMatrixLayoutSetAttribute");
  check_cublas(cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stored.batch,
                                                sizeof stored.batch),
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
  set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, a_alignment_);
  set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, b_alignment_);
  set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, c_alignment_);
  set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, d_alignment_);

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
  const float beta = pointers.c != nullptr ? 1.0F : 0.0F;
  const void* const c = pointers.c != nullptr ? pointers.c : pointers.y;
  check_cublas(cublasLtMatmul(handle, operation_.get(), &one, pointers.b, a_.get(), pointers.a, b_.get(), &beta, c,
                              c_.get(), pointers.y, d_.get(), &algorithm.algo, pointers.workspace,
                              static_cast<std::size_t>(algorithm.workspace.value), stream),
               "cublasLtMatmul");
}

}  // namespace cohort::cuda
