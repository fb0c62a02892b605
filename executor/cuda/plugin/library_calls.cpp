#include "executor/cuda/plugin/library_calls.hpp"

#include <map>
#include <mutex>

#include "base/file.hpp"
#include "executor/cuda/plugin/convolutions.hpp"
#include "executor/cuda/plugin/cublas_gemm.hpp"
#include "executor/cuda/plugin/grouped_products.hpp"
#include "executor/cuda/plugin/products.hpp"
#include "executor/cuda/plugin/recurrent.hpp"
#include "executor/device_error.hpp"
#include "executor/reference/call.hpp"

namespace cohort::cuda {
namespace {

bool is_dense(const View& view, Layout layout) {
  const Shape strides = dense_strides(view.shape, layout);
  for (std::size_t d = 0; d < view.shape.size(); ++d) {
    if (view.shape[d] != 1 && view.strides[d] != strides[d]) return false;
  }
  return true;
}

/// All images of a convolution lie dense in one layout, so that libraries were made for them; parameters and their
/// gradients are copied where they do not.
bool all_dense(const OpCall& call, Layout layout) {
  const bool is_gradient = std::holds_alternative<ConvolutionWeightGradient>(call.attributes);
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    if (!is_gradient && i > 0 && i < own_input_count(call)) continue;
    const View* const view = std::get_if<View>(&call.inputs[i]);
    if (view != nullptr && !is_dense(*view, layout)) return false;
  }
  return is_gradient || is_dense(call.outputs[0], layout);
}

/// What cuDNN has engines for.
bool is_convolution(const OpCall& call) {
  return std::holds_alternative<Convolution>(call.attributes) ||
         std::holds_alternative<ConvTranspose>(call.attributes) ||
         std::holds_alternative<ConvolutionWeightGradient>(call.attributes);
}

/// Better to copy than to read or write images that do not lie dense: own kernels are slow on them, and cuDNN
/// transposes them first. On an H200 16 smallcnn at minibatch 16 took 4.0 ms so, and one after another 1.9 ms.
bool convolution_accepts_strides(const OpCall& call) {
  if (!check_call(call)) return true;  // alternatives() says what is wrong
  return all_dense(call, Layout::kNhwc) || all_dense(call, Layout::kNchw);
}

/// Libraries first, own kernels last.
Result<std::vector<Alternative>> with_own(const CallFactory& own, const OpCall& call, int threads,
                                          std::vector<Alternative> list) {
  auto ours = own.alternatives(call, threads);
  if (!ours && list.empty()) return tl::unexpected<Error>(ours.error());
  if (ours) list.insert(list.end(), ours->begin(), ours->end());
  for (Alternative& alternative : list) alternative.threads = threads;
  return list;
}

/// The libraries' ways behind own kernels: which is faster the shapes decide.
Result<std::vector<Alternative>> with_libraries(const CallFactory& own, const OpCall& call, int threads,
                                                std::vector<Alternative> libraries) {
  COHORT_TRY(auto list, own.alternatives(call, threads));
  for (Alternative& alternative : libraries) {
    alternative.threads = threads;
    list.push_back(std::move(alternative));
  }
  return list;
}

/// Handles of the libraries for one launch thread; streams are told with every call.
class Libraries {
 public:
  /// Throws DeviceError.
  Libraries() { check_cublas(cublasLtCreate(&cublas_), "cublasLtCreate"); }
  Libraries(const Libraries&) = delete;
  Libraries& operator=(const Libraries&) = delete;
  ~Libraries() { (void)cublasLtDestroy(cublas_); }

  [[nodiscard]] cudnnHandle_t cudnn() const { return cudnn_.raw(); }
  [[nodiscard]] cublasLtHandle_t cublas() const { return cublas_; }

 private:
  CudnnHandle cudnn_;
  cublasLtHandle_t cublas_ = nullptr;
};

class LibraryCalls final : public CallFactory {
 public:
  LibraryCalls(KernelLauncher& launcher, DeviceAbilities abilities, std::function<void()> use)
      : launcher_(&launcher), own_(make_own_calls(launcher)), abilities_(std::move(abilities)), use_(std::move(use)) {}

  Result<std::vector<Alternative>> alternatives(const OpCall& call, int threads) const override {
    if (call.parts.empty()) COHORT_CHECK(check_call(call));
    try {
      use_();
      const bool recurrent =
          std::holds_alternative<Lstm>(call.attributes) || std::holds_alternative<Recurrent>(call.attributes);
      if (recurrent) return with_libraries(*own_, call, threads, first_.recurrent.alternatives(call));
      if (!call.parts.empty()) return with_libraries(*own_, call, threads, GroupedProducts::alternatives(call));
      if (is_convolution(call)) return with_own(*own_, call, threads, first_.convolutions.alternatives(call));
      return with_own(*own_, call, threads, first_.products.alternatives(call));
    } catch (const DeviceError& error) {
      return fail(ErrorCode::kDeviceMissing, "{}: {}", op_type(call.attributes), error.what());
    }
  }

  bool accepts_strides(const OpCall& call) const override {
    return is_convolution(call) ? convolution_accepts_strides(call) : own_->accepts_strides(call);
  }

  std::vector<Precision> precisions() const override { return abilities_.precisions; }
  int multiprocessors() const override { return abilities_.multiprocessors; }
  int cores() const override { return 1; }

  Result<std::unique_ptr<PreparedCall>> prepare(const OpCall& call, const CallChoice& choice,
                                                std::span<const std::vector<float>> weights,
                                                WeightStore& store) const override {
    const std::string& algorithm = choice.algorithm;
    if (RecurrentProducts::names(algorithm)) {
      COHORT_CHECK(check_weights(call, weights));
      return of_thread(choice.launch_thread).recurrent.prepare(call, algorithm, weights, store, *launcher_);
    }
    if (GroupedProducts::names(algorithm)) {
      COHORT_CHECK(check_weights(call, weights));
      return of_thread(choice.launch_thread).grouped.prepare(call, weights, store, *launcher_);
    }
    if (!call.parts.empty()) return own_->prepare(call, choice, weights, store);
    COHORT_CHECK(check_call(call));
    COHORT_CHECK(check_weights(call, weights));
    if (algorithm.starts_with("cudnn"))
      return of_thread(choice.launch_thread).convolutions.prepare(call, choice, weights, store, *launcher_);
    if (algorithm.starts_with("lt"))
      return of_thread(choice.launch_thread).products.prepare(call, algorithm, weights, store, *launcher_);
    return own_->prepare(call, choice, weights, store);
  }

 private:
  struct PerThread {
    Libraries libraries;
    Convolutions convolutions{{libraries.cudnn(), nullptr}};
    Products products{libraries.cublas()};
    RecurrentProducts recurrent{libraries.cublas()};
    GroupedProducts grouped;
  };

  PerThread& of_thread(int launch_thread) const {
    if (launch_thread == 0) return first_;
    const std::scoped_lock lock(mutex_);
    return others_[launch_thread];
  }

  KernelLauncher* launcher_;
  std::unique_ptr<CallFactory> own_;
  DeviceAbilities abilities_;
  std::function<void()> use_;
  mutable PerThread first_;
  mutable std::mutex mutex_;
  mutable std::map<int, PerThread> others_;
};

/// Own kernels that are only listed.
class NoLauncher final : public KernelLauncher {
 public:
  void launch(const own::KernelArguments& /*kernel*/, StreamHandle /*stream*/) override {
    throw DeviceError("a kernel is launched on a device that is only described");
  }
};

class DescribedCatalog final : public OpCatalog {
 public:
  explicit DescribedCatalog(Descriptor properties)
      : properties_(std::move(properties)), own_(make_own_calls(launcher_)), convolutions_({nullptr, &properties_}) {}

  Result<std::vector<Alternative>> alternatives(const OpCall& call, int threads) const override {
    if (!call.parts.empty()) return own_->alternatives(call, threads);
    COHORT_CHECK(check_call(call));
    try {
      return with_own(*own_, call, threads, convolutions_.alternatives(call));
    } catch (const DeviceError& error) {
      return fail(ErrorCode::kInvalidInput, "{}: {}", op_type(call.attributes), error.what());
    }
  }
  bool accepts_strides(const OpCall& call) const override {
    return is_convolution(call) ? convolution_accepts_strides(call) : own_->accepts_strides(call);
  }
  std::vector<Precision> precisions() const override { return own_->precisions(); }
  int cores() const override { return 1; }

 private:
  Descriptor properties_;
  NoLauncher launcher_;
  std::unique_ptr<CallFactory> own_;
  Convolutions convolutions_;
};

}  // namespace

std::unique_ptr<CallFactory> make_library_calls(KernelLauncher& launcher, DeviceAbilities abilities,
                                                std::function<void()> use) {
  return std::make_unique<LibraryCalls>(launcher, std::move(abilities), std::move(use));
}

Result<std::unique_ptr<OpCatalog>> make_described_catalog(const std::filesystem::path& file) {
  COHORT_TRY(const std::string json, read_file(file));
  auto properties = parse_device_properties(json);
  if (!properties) return in_context(file.string(), properties.error());
  return std::make_unique<DescribedCatalog>(*std::move(properties));
}

}  // namespace cohort::cuda
