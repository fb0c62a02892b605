#include "executor/cuda/plugin/grouped_products.hpp"

#include <algorithm>
#include <utility>

#include "executor/cuda/own/lowering.hpp"
#include "executor/cuda/own/table.hpp"
#include "executor/cuda/plugin/cublas_gemm.hpp"
#include "executor/cuda/plugin/product_form.hpp"
#include "executor/cuda/plugin/runtime_api.hpp"
#include "executor/cuda/plugin/workspace.hpp"
#include "executor/device_error.hpp"
#include "executor/reference/call.hpp"

namespace cohort::cuda {
namespace {

constexpr std::string_view kName = "cublas:grouped";
constexpr Bytes kWorkspace{32 << 20};  // what NVIDIA advises on Hopper

/// In fewer bits than float32's, cuBLAS wants matrices at multiples of 16 bytes, and does not check (cuBLAS 13,
/// cublasGemmGroupedBatchedEx()).
bool is_aligned(const OpCall& call) {
  if (call.precision == Precision::kFloat32) return true;
  const auto aligned = [](const View& view) { return view.offset * element_bytes(view.type) % 16 == 0; };
  return aligned(std::get<View>(call.inputs[0])) && aligned(call.outputs[0]);
}

std::size_t constants_of(const OpCall& call) {
  return static_cast<std::size_t>(std::count_if(call.inputs.begin(), call.inputs.end(), [](const Operand& operand) {
    return std::holds_alternative<WeightView>(operand);
  }));
}

bool is_product(const OpCall& call, const OpCall& first) {
  const auto* const gemm = std::get_if<Gemm>(&call.attributes);
  // Constants lie where this device puts them.
  return gemm != nullptr && !gemm->stacked && call.outputs[0].type == first.outputs[0].type &&
         constants_of(call) + 1 == own_input_count(call) && product_of(call).has_value() && is_aligned(call);
}

bool are_products(std::span<const OpCall> calls) {
  return std::all_of(calls.begin(), calls.end(), [&](const OpCall& call) { return is_product(call, calls.front()); });
}

class BoundGroup final : public BoundCall {
 public:
  struct Pointers {
    const void *a = nullptr, *b = nullptr, *c = nullptr;  ///< tables in device memory
    std::byte* workspace = nullptr;
  };
  BoundGroup(cublasHandle_t handle, const OpCall& call, GroupedSizes sizes, const Pointers& pointers)
      : handle_(handle),
        type_(native_type(call.outputs[0].type)),
        compute_(call.precision == Precision::kTf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F),
        sizes_(std::move(sizes)),
        ones_(sizes_.m.size(), 1.0F),
        zeros_(sizes_.m.size(), 0.0F),
        pointers_(pointers) {}

  void finish_with(KernelLauncher& launcher, std::vector<own::KernelArguments> kernels) {
    launcher_ = &launcher;
    kernels_ = std::move(kernels);
  }

  void launch(StreamHandle stream) override {
    check_cublas(cublasSetStream(handle_, native(stream)), "cublasSetStream");
    // Setting the stream has set the workspace back.
    check_cublas(cublasSetWorkspace(handle_, pointers_.workspace, static_cast<std::size_t>(kWorkspace.value)),
                 "cublasSetWorkspace");
    check_cublas(cublasGemmGroupedBatchedEx(
                     handle_, sizes_.transa.data(), sizes_.transb.data(), sizes_.m.data(), sizes_.n.data(),
                     sizes_.k.data(), ones_.data(), static_cast<const void* const*>(pointers_.a), type_,
                     sizes_.lda.data(), static_cast<const void* const*>(pointers_.b), type_, sizes_.ldb.data(),
                     zeros_.data(), static_cast<void* const*>(const_cast<void*>(pointers_.c)), type_, sizes_.ldc.data(),
                     static_cast<int>(sizes_.m.size()), sizes_.count.data(), compute_),
                 "cublasGemmGroupedBatchedEx");
    for (const own::KernelArguments& kernel : kernels_) launcher_->launch(kernel, stream);
  }

 private:
  cublasHandle_t handle_;
  cudaDataType_t type_;
  cublasComputeType_t compute_;
  GroupedSizes sizes_;
  std::vector<float> ones_, zeros_;
  Pointers pointers_;
  KernelLauncher* launcher_ = nullptr;
  std::vector<own::KernelArguments> kernels_;
};

class PreparedGroup final : public PreparedCall {
 public:
  PreparedGroup(cublasHandle_t handle, std::vector<OpCall> calls, WeightStore& store, KernelLauncher& launcher)
      : handle_(handle), calls_(std::move(calls)), store_(&store), launcher_(&launcher) {}

  void take_weights(std::span<const std::vector<float>> weights) {
    for (const OpCall& call : calls_) {
      const auto mine = weights.first(constants_of(call));
      const auto add = [&](std::size_t input) {
        return store_->add(own::bytes_of(own::packed(call, input, mine), call.outputs[0].type));
      };
      w_.push_back(add(1));
      bias_.push_back(own_input_count(call) > 2 ? add(2) : nullptr);
      weights = weights.subspan(mine.size());
    }
  }

  std::unique_ptr<BoundCall> bind(const CallArguments& arguments) override {
    std::vector<const void*> x, y;
    std::vector<std::vector<own::KernelArguments>> finish;
    auto input = arguments.inputs.begin();
    for (std::size_t i = 0; i < calls_.size(); ++i) {
      const auto end = input + static_cast<std::ptrdiff_t>(calls_[i].inputs.size());
      const CallArguments part{{input, end}, {arguments.outputs[i]}, nullptr};
      x.push_back(part.inputs[0]);
      y.push_back(part.outputs[0]);
      finish.push_back(finish_of(i, part));
      input = end;
    }
    const auto table = [&](const std::vector<const void*>& pointers) {
      return store_->add(std::as_bytes(std::span(pointers)));
    };
    auto bound = std::make_unique<BoundGroup>(
        handle_, calls_.front(), grouped_sizes(calls_),
        BoundGroup::Pointers{table(w_), table(x), table(y), aligned_workspace(arguments.workspace)});
    bound->finish_with(*launcher_, own::tabled(finish, *store_));
    return bound;
  }

 private:
  /// What is left to do for a member behind the product.
  [[nodiscard]] std::vector<own::KernelArguments> finish_of(std::size_t member, const CallArguments& arguments) const {
    const OpCall& call = calls_[member];
    if (bias_[member] == nullptr && call.post_ops.empty()) return {};
    auto epilogue = make_epilogue(call, arguments, bias_[member]);
    if (!epilogue) throw DeviceError(epilogue.error().message);
    return {*std::move(epilogue)};
  }

  cublasHandle_t handle_;
  std::vector<OpCall> calls_;
  WeightStore* store_;
  KernelLauncher* launcher_;
  std::vector<const void*> w_, bias_;  ///< by member
};

}  // namespace

GroupedSizes grouped_sizes(std::span<const OpCall> calls) {
  GroupedSizes sizes;
  for (const OpCall& call : calls) {
    const View& x = std::get<View>(call.inputs[0]);
    const View& y = call.outputs[0];
    const std::int64_t inner = shape_of(call.inputs[1])[1];
    sizes.transa.push_back(CUBLAS_OP_T);
    sizes.transb.push_back(CUBLAS_OP_N);
    sizes.m.push_back(static_cast<int>(y.shape[1]));
    sizes.n.push_back(static_cast<int>(y.shape[0]));
    sizes.k.push_back(static_cast<int>(inner));
    sizes.lda.push_back(static_cast<int>(inner));
    sizes.ldb.push_back(static_cast<int>(std::max(x.strides[0], inner)));  // one row lies any distance from the next
    sizes.ldc.push_back(static_cast<int>(std::max(y.strides[0], y.shape[1])));
    sizes.count.push_back(1);
  }
  return sizes;
}

bool GroupedProducts::names(std::string_view algorithm) { return algorithm == kName; }

std::vector<Alternative> GroupedProducts::alternatives(const OpCall& call) {
  if (call.parts.empty()) return {};
  const std::vector<OpCall> calls = parts_of(call);
  if (!are_products(calls)) return {};
  Alternative all{std::string(kName), 1, with_room_to_align(kWorkspace), {}, true, {}};
  for (const OpCall& part : calls) all.packed_weights += own_alternative(part).packed_weights + own::kTableRoom;
  return {all};
}

cublasHandle_t GroupedProducts::handle() const {
  const std::scoped_lock lock(mutex_);
  if (handle_ == nullptr) {
    cublasHandle_t made = nullptr;
    check_cublas(cublasCreate(&made), "cublasCreate");
    handle_.reset(made);
  }
  return handle_.get();
}

Result<std::unique_ptr<PreparedCall>> GroupedProducts::prepare(const OpCall& call,
                                                               std::span<const std::vector<float>> weights,
                                                               WeightStore& store, KernelLauncher& launcher) const {
  if (alternatives(call).empty())
    return fail(ErrorCode::kInvalidInput, "{}: \"{}\" is for matrix products of several members, all of one type",
                op_type(call.attributes), kName);
  auto prepared = std::make_unique<PreparedGroup>(handle(), parts_of(call), store, launcher);
  prepared->take_weights(weights);
  return prepared;
}

}  // namespace cohort::cuda
