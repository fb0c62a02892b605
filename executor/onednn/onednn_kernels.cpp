#include "executor/onednn/onednn_kernels.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <omp.h>
#include <oneapi/dnnl/dnnl_debug.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "executor/device_error.hpp"
#include "executor/onednn/kernel.hpp"
#include "executor/onednn/loops/own_way.hpp"
#include "executor/onednn/openmp_team.hpp"
#include "executor/onednn/operands.hpp"
#include "executor/reference/call.hpp"
#include "executor/reference/grouped.hpp"
#include "executor/reference/reference_kernels.hpp"

namespace cohort {
namespace {

using onednn::Implementation;
using onednn::Implementations;
using onednn::OwnWay;
using onednn::OwnWays;

constexpr std::size_t kMostAlternatives = 4;

/// The calling thread's OpenMP thread count: the library decides blocking and scratchpads by it.
class ThreadScope {
 public:
  explicit ThreadScope(int threads) : before_(omp_get_max_threads()) { omp_set_num_threads(threads); }
  ThreadScope(const ThreadScope&) = delete;
  ThreadScope& operator=(const ThreadScope&) = delete;
  ~ThreadScope() { omp_set_num_threads(before_); }

 private:
  int before_;
};

/// Empties the library's cache of primitives, which the whole process has in common, and keeps it empty: with one of an
/// operation's primitives in it, oneDNN 2.6 lists the operation's implementations wrongly, the cached one twice and
/// others not at all.
class EmptyCache {
 public:
  EmptyCache() : lock_(mutex()), before_(dnnl::get_primitive_cache_capacity()) {
    dnnl::set_primitive_cache_capacity(0);
  }
  EmptyCache(const EmptyCache&) = delete;
  EmptyCache& operator=(const EmptyCache&) = delete;
  ~EmptyCache() { dnnl::set_primitive_cache_capacity(before_); }

 private:
  static std::mutex& mutex() {
    static std::mutex instance;
    return instance;
  }

  std::scoped_lock<std::mutex> lock_;
  int before_;
};

/// Whether the library names an implementation as one of its plain loops.
bool is_slow(const Implementation& way) { return way.algorithm.find("ref") != std::string::npos; }

/// Whether it goes through a general matrix product, made for another operation.
bool is_general(const Implementation& way) { return way.algorithm.find("gemm:jit") != std::string::npos; }

/// Whether it computes by Winograd's minimal filtering.
bool is_winograd(const Implementation& way) { return way.algorithm.find("wino") != std::string::npos; }

/// Whether a convolution goes along one dimension. The library's ways are made for images: our own may be faster.
bool is_along_one_dimension(const OpCall& call) {
  if (!std::holds_alternative<Convolution>(call.attributes)) return false;
  const Shape& x = shape_of(call.inputs[0]);
  return std::count_if(x.begin() + 2, x.end(), [](std::int64_t extent) { return extent > 1; }) == 1;
}

/// Whether a Softmax goes along few elements. The library's direct way takes one row after the other.
bool is_short_softmax(const OpCall& call) {
  constexpr std::int64_t kMost = 8;
  const auto* const op = std::get_if<Softmax>(&call.attributes);
  return op != nullptr && shape_of(call.inputs[0])[static_cast<std::size_t>(op->axis)] <= kMost;
}

bool stands_in(const OwnWay& way) { return way.stands_in; }

/// Age of the instruction set that an implementation's name ends with, newer is more; empty: it names none.
std::optional<int> instruction_set(const Implementation& way) {
  const std::string name = way.algorithm.substr(way.algorithm.rfind(':') + 1);
  if (name == "sse41") return 0;
  if (name == "avx") return 1;
  if (name.rfind("avx2", 0) == 0) return 2;
  if (name.rfind("avx512", 0) == 0) return 3;
  return std::nullopt;
}

/// Leaves the ways worth a measurement, the best first, and gives every one a name of its own.
void tidy(Implementations& list) {
  const auto fast = [](const Implementation& way) { return !is_slow(way); };
  const auto middle = std::stable_partition(list.begin(), list.end(), fast);
  if (middle != list.begin()) list.erase(middle, list.end());
  std::stable_partition(list.begin(), list.end(), [](const Implementation& way) { return !is_general(way); });
  // Whose rounding differs is never the first choice, which stands for the op where nobody chose by time.
  const auto first = std::find_if_not(list.begin(), list.end(), is_winograd);
  if (first != list.end()) std::rotate(list.begin(), first, first + 1);
  std::optional<int> newest;
  for (const Implementation& way : list) newest = std::max(newest, instruction_set(way));
  const auto outdated = [&](const Implementation& way) {
    const std::optional<int> set = instruction_set(way);
    return set && set < newest;
  };
  list.erase(std::remove_if(list.begin(), list.end(), outdated), list.end());
  if (list.size() > kMostAlternatives) list.resize(kMostAlternatives);
  std::map<std::string, int> seen;
  for (Implementation& way : list) {
    const int count = ++seen[way.algorithm];
    if (count > 1) way.algorithm += fmt::format("#{}", count);
  }
}

/// Two calls with equal text are run by the same primitives.
std::string key_of(const OpCall& call, int threads) {
  std::string key = fmt::format("{} x{}", canonical(call.attributes, call.post_ops), threads);
  for (const Operand& operand : call.inputs) {
    if (const auto* const view = std::get_if<View>(&operand)) {
      key += fmt::format(" {}/{}{}", fmt::join(view->shape, ","), fmt::join(view->strides, ","),
                         *view == call.outputs[0] ? "=" : "");
    } else {
      key += fmt::format(" const {}", fmt::join(shape_of(operand), ","));
    }
  }
  const View& y = call.outputs[0];
  return key + fmt::format(" -> {}/{}", fmt::join(y.shape, ","), fmt::join(y.strides, ","));
}

/// The library's ways to run a call, and our own loops.
struct Ways {
  Implementations library;
  OwnWays own;

  [[nodiscard]] bool empty() const { return library.empty() && own.empty(); }
  /// Operands are made dense for such.
  [[nodiscard]] bool fast() const {
    const bool has_own = std::any_of(own.begin(), own.end(), std::not_fn(stands_in));
    return has_own || (!library.empty() && !is_slow(library[0]));
  }
};

Bytes packed_weights(const OpCall& call, const Implementation& way) {
  Bytes bytes;
  for (const onednn::Binding& binding : way.bindings) {
    if (binding.source != onednn::Binding::Source::kInput || !onednn::is_constant(call, binding.operand)) continue;
    bytes += Bytes{static_cast<std::int64_t>(way.wanted(binding).get_size())};
  }
  return bytes;
}

/// As our own loops keep them.
Bytes plain_weights(const OpCall& call) {
  Bytes bytes;
  for (const Operand& operand : call.inputs) {
    if (!std::holds_alternative<WeightView>(operand)) continue;
    bytes += Bytes{element_count(shape_of(operand)) * std::int64_t{sizeof(float)}};
  }
  return bytes;
}

OpCall made_dense(const OpCall& call, Layout layout) {
  OpCall dense = call;
  for (Operand& operand : dense.inputs) {
    if (auto* const view = std::get_if<View>(&operand)) view->strides = dense_strides(view->shape, layout);
  }
  for (View& view : dense.outputs) view.strides = dense_strides(view.shape, layout);
  return dense;
}

bool all_dense(const OpCall& call, Layout layout) {
  const auto dense = [layout](const View& view) { return onednn::is_dense(view, layout); };
  return std::all_of(call.outputs.begin(), call.outputs.end(), dense) &&
         std::all_of(call.inputs.begin(), call.inputs.end(), [&](const Operand& operand) {
           const auto* const view = std::get_if<View>(&operand);
           return view == nullptr || dense(*view);
         });
}

class OnednnKernels final : public HostKernels {
 public:
  explicit OnednnKernels(int cores)
      : cores_(cores), engine_(dnnl::engine::kind::cpu, 0), reference_(make_reference_kernels(cores)) {}

  Result<std::vector<Alternative>> alternatives(const OpCall& call, int threads) const override {
    if (!call.parts.empty()) return grouped_alternatives(*this, call, threads);
    COHORT_CHECK(check_call(call));
    const std::scoped_lock lock(mutex_);
    const Ways& ways = ways_of(call, threads);
    if (ways.empty()) return reference_->alternatives(call, threads);
    std::vector<Alternative> list;
    const auto add_own = [&](bool leading) {
      for (const OwnWay& way : ways.own) {
        if (way.leads == leading)
          list.push_back({way.algorithm, threads, way.workspace, plain_weights(call) + way.padding});
      }
    };
    add_own(true);
    for (const Implementation& way : ways.library)
      list.push_back({way.algorithm, threads, way.workspace(), packed_weights(call, way)});
    add_own(false);
    return list;
  }

  bool accepts_strides(const OpCall& call) const override {
    if (!check_call(call)) return true;  // alternatives() says what is wrong
    if (all_dense(call, Layout::kNhwc) || all_dense(call, Layout::kNchw)) return true;
    const std::scoped_lock lock(mutex_);
    const Ways& strided = ways_of(call, cores_);
    if (strided.fast()) return true;
    for (const Layout layout : {Layout::kNhwc, Layout::kNchw}) {
      const Ways& dense = ways_of(made_dense(call, layout), cores_);
      if (!dense.empty() && (strided.empty() || dense.fast())) return false;
    }
    return true;  // plain loops either way
  }

  int cores() const override { return cores_; }

  Result<std::unique_ptr<HostKernel>> prepare(const OpCall& call, const std::string& algorithm, int threads,
                                              std::span<const std::vector<float>> weights) const override {
    if (!call.parts.empty()) return prepare_grouped(*this, call, algorithm, threads, weights);
    COHORT_CHECK(check_call(call));
    COHORT_CHECK(check_weights(call, weights));
    const std::scoped_lock lock(mutex_);
    Ways& ways = ways_of(call, threads);
    if (ways.empty()) return reference_->prepare(call, algorithm, threads, weights);
    const auto named = [&](const auto& each) { return each.algorithm == algorithm; };
    const auto own = std::find_if(ways.own.begin(), ways.own.end(), named);
    const auto way = std::find_if(ways.library.begin(), ways.library.end(), named);
    if (own == ways.own.end() && way == ways.library.end()) {
      return fail(ErrorCode::kInvalidInput, "{}: no algorithm \"{}\" for it here; the first choice is \"{}\"",
                  op_type(call.attributes), algorithm,
                  ways.library.empty() ? ways.own[0].algorithm : ways.library[0].algorithm);
    }
    const ThreadScope scope(threads);
    try {
      if (own != ways.own.end()) return onednn::make_kernel(*own, call, weights);
      return onednn::make_kernel(*way, call, weights, engine_);
    } catch (const DeviceError& error) {
      return fail(ErrorCode::kInvalidInput, "{} by {}: {}", op_type(call.attributes), algorithm, error.what());
    } catch (const dnnl::error& error) {
      const ErrorCode code = error.status == dnnl_out_of_memory ? ErrorCode::kDoesNotFit : ErrorCode::kInvalidInput;
      return fail(code, "{} by {}: oneDNN cannot prepare it: {} ({})", op_type(call.attributes), algorithm,
                  dnnl_status2str(error.status), error.what());
    }
  }

  void use_threads(int threads, std::span<const int> cores) const override { onednn::use_team(threads, cores); }

 private:
  /// The caller holds the lock.
  Ways& ways_of(const OpCall& call, int threads) const {
    const auto [entry, is_new] = cache_.try_emplace(key_of(call, threads));
    Ways& ways = entry->second;
    if (!is_new) return ways;
    ways.own = std::visit([&](const auto& op) { return onednn::own_ways(op, call, threads); }, call.attributes);
    const ThreadScope scope(threads);
    try {
      const EmptyCache empty;
      ways.library =
          std::visit([&](const auto& op) { return onednn::implementations(op, call, engine_); }, call.attributes);
      tidy(ways.library);
    } catch (const dnnl::error&) {
      ways.library.clear();  // plain loops take what the library refuses
    }
    const bool is_direct = std::any_of(ways.library.begin(), ways.library.end(),
                                       [](const auto& way) { return !is_slow(way) && !is_general(way); });
    if (!is_direct || is_along_one_dimension(call) || is_short_softmax(call)) {
      OwnWays more = std::visit([&](const auto& op) { return onednn::stand_ins(op, call, threads); }, call.attributes);
      ways.own.insert(ways.own.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
    }
    if (!ways.own.empty() && !ways.library.empty() && is_slow(ways.library[0])) ways.library.clear();
    return ways;
  }

  int cores_;
  dnnl::engine engine_;
  std::unique_ptr<HostKernels> reference_;
  mutable std::mutex mutex_;
  mutable std::map<std::string, Ways> cache_;
};

}  // namespace

std::unique_ptr<HostKernels> make_onednn_kernels(int cores) { return std::make_unique<OnednnKernels>(cores); }

}  // namespace cohort
