#include "call_runner.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

#include "base/random.hpp"
#include "executor/reference/tensor_ref.hpp"

namespace cohort::testing {
namespace {

/// Some elements are whole numbers by their bits, which as numbers may be none.
bool same_bits(const std::vector<std::vector<float>>& a, const std::vector<std::vector<float>>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
    return x.size() == y.size() && (x.empty() || std::memcmp(x.data(), y.data(), x.size() * sizeof(float)) == 0);
  });
}

/// Elements after a view's last that nothing may touch.
constexpr std::size_t kGuard = 16;
constexpr std::byte kGuardByte{0x5a};

std::size_t buffer_size(const View& view) {
  std::int64_t last = view.offset;
  for (std::size_t d = 0; d < view.shape.size(); ++d) last += (view.shape[d] - 1) * view.strides[d];
  return static_cast<std::size_t>(last) + 1 + kGuard;
}

template <class Visit>
void for_each_element(const View& view, Visit visit) {
  reference::for_each_index<1>(view.shape, {view.strides},
                               [&](const auto& at) { visit(static_cast<std::size_t>(view.offset + at[0])); });
}

}  // namespace

View dense(std::uint32_t buffer, const Shape& shape, Layout layout) {
  return {BufferId{buffer}, 0, shape, dense_strides(shape, layout)};
}

View channel_slice(std::uint32_t buffer, const Shape& shape, std::int64_t channels, std::int64_t first) {
  Shape whole = shape;
  whole[1] = channels;
  return {BufferId{buffer}, first, shape, dense_strides(whole, Layout::kNhwc)};
}

WeightView weight(const Shape& shape) { return {{}, shape}; }

OpCall make_call(OpAttributes attributes, std::vector<Operand> inputs, View output, std::vector<PostOp> post_ops) {
  OpCall call;
  call.attributes = std::move(attributes);
  call.post_ops = std::move(post_ops);
  call.inputs = std::move(inputs);
  call.outputs = {std::move(output)};
  return call;
}

AlignedBytes::AlignedBytes(std::size_t size) : bytes_(size + 128, kGuardByte), start_(nullptr), size_(size) {
  const auto address = reinterpret_cast<std::uintptr_t>(bytes_.data());
  start_ = bytes_.data() + (64 - address % 64) % 64;
}

bool AlignedBytes::overrun() const {
  const auto changed = [](std::byte byte) { return byte != kGuardByte; };
  return std::any_of(bytes_.data(), static_cast<const std::byte*>(start_), changed) ||
         std::any_of(static_cast<const std::byte*>(start_) + size_, bytes_.data() + bytes_.size(), changed);
}

CallRunner::CallRunner(OpCall call, std::uint64_t seed, float low, float high) : call_(std::move(call)) {
  Random random(seed);
  const auto value = [&] { return random.uniform(low, high); };
  const auto reserve = [&](const View& view) {
    buffers_.resize(std::max(buffers_.size(), to_index(view.buffer) + 1));
    std::vector<float>& buffer = buffers_[to_index(view.buffer)];
    buffer.resize(std::max(buffer.size(), buffer_size(view)));
  };
  for (const Operand& operand : call_.inputs) {
    if (const auto* const view = std::get_if<View>(&operand)) {
      reserve(*view);
    } else {
      weights_.emplace_back(static_cast<std::size_t>(element_count(std::get<WeightView>(operand).shape)));
      std::generate(weights_.back().begin(), weights_.back().end(), value);
    }
  }
  reserve(call_.outputs[0]);
  for (std::vector<float>& buffer : buffers_) std::generate(buffer.begin(), buffer.end(), value);
}

void CallRunner::set_input(std::size_t operand, const std::vector<float>& values) {
  if (const auto* const view = std::get_if<View>(&call_.inputs[operand])) {
    std::size_t next = 0;
    for_each_element(*view, [&](std::size_t at) { buffers_[to_index(view->buffer)][at] = values[next++]; });
    return;
  }
  const auto is_weight = [](const Operand& each) { return std::holds_alternative<WeightView>(each); };
  const auto before =
      std::count_if(call_.inputs.begin(), call_.inputs.begin() + static_cast<std::ptrdiff_t>(operand), is_weight);
  weights_[static_cast<std::size_t>(before)] = values;
}

HostArguments CallRunner::arguments(std::vector<std::vector<float>>& buffers, std::byte* workspace) const {
  HostArguments result;
  const auto pointer = [&](const View& view) { return buffers[to_index(view.buffer)].data() + view.offset; };
  for (const Operand& operand : call_.inputs) {
    const auto* const view = std::get_if<View>(&operand);
    result.inputs.push_back(view != nullptr ? pointer(*view) : nullptr);
  }
  result.outputs.push_back(pointer(call_.outputs[0]));
  result.workspace = workspace;
  return result;
}

std::vector<float> CallRunner::run(const HostKernels& kernels, const Alternative& alternative) const {
  const auto kernel = kernels.prepare(call_, alternative.algorithm, alternative.threads, weights_);
  EXPECT_TRUE(kernel.has_value()) << (kernel ? "" : kernel.error().message);
  if (!kernel) return {};
  std::vector<std::vector<float>> buffers = buffers_;
  const AlignedBytes workspace(static_cast<std::size_t>(alternative.workspace.value));
  kernels.use_threads(alternative.threads, {});
  (*kernel)->run(arguments(buffers, workspace.data()));
  EXPECT_FALSE(workspace.overrun()) << alternative.algorithm << " wrote outside its workspace";
  std::vector<float> result;
  const View& y = call_.outputs[0];
  std::vector<std::vector<float>> expected = buffers_;
  for_each_element(y, [&](std::size_t at) {
    result.push_back(buffers[to_index(y.buffer)][at]);
    expected[to_index(y.buffer)][at] = buffers[to_index(y.buffer)][at];
  });
  EXPECT_TRUE(same_bits(buffers, expected)) << alternative.algorithm << " wrote outside its output";
  return result;
}

std::vector<float> CallRunner::run(const HostKernels& kernels, int threads) const {
  const auto list = kernels.alternatives(call_, threads);
  EXPECT_TRUE(list.has_value()) << (list ? "" : list.error().message);
  if (!list) return {};
  return run(kernels, list->front());
}

}  // namespace cohort::testing
