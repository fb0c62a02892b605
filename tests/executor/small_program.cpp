#include "tests/executor/small_program.hpp"

#include <algorithm>
#include <chrono>
#include <new>
#include <thread>
#include <utility>

#include "executor/device_error.hpp"
#include "executor/host/core_binding.hpp"

namespace cohort::testing {
namespace {

class ScriptedKernel final : public HostKernel {
 public:
  ScriptedKernel(std::string algorithm, std::int64_t count, std::shared_ptr<KernelScript> script)
      : algorithm_(std::move(algorithm)), count_(count), script_(std::move(script)) {}

  void run(const HostArguments& arguments) override {
    if (algorithm_ == "slow") std::this_thread::sleep_for(std::chrono::milliseconds(2));
    if (algorithm_ == "throw" && script_->fail) throw DeviceError("kernel_call: status 3 in kernel.cpp");
    if (algorithm_ == "bad_alloc" && script_->fail) throw std::bad_alloc();
    ++script_->runs;
    for (std::int64_t i = 0; i < count_; ++i) {
      float sum = 1;
      for (const float* input : arguments.inputs) sum += input[i];
      arguments.outputs[0][i] = sum;
    }
  }

 private:
  std::string algorithm_;
  std::int64_t count_;
  std::shared_ptr<KernelScript> script_;
};

class ScriptedKernels final : public HostKernels {
 public:
  explicit ScriptedKernels(std::shared_ptr<KernelScript> script) : script_(std::move(script)) {}

  Result<std::vector<Alternative>> alternatives(const OpCall& /*call*/, int threads) const override {
    return std::vector<Alternative>{{"add", threads, {}, {}}};
  }
  bool accepts_strides(const OpCall& /*call*/) const override { return true; }
  int cores() const override { return 2; }
  Result<std::unique_ptr<HostKernel>> prepare(const OpCall& call, const std::string& algorithm, int /*threads*/,
                                              std::span<const std::vector<float>> /*weights*/) const override {
    if (algorithm == "unknown") return fail(ErrorCode::kInvalidInput, "no algorithm \"unknown\"");
    ++script_->prepared;
    return std::make_unique<ScriptedKernel>(algorithm, element_count(call.outputs[0].shape), script_);
  }
  void use_threads(int threads, std::span<const int> cores) const override {
    const std::lock_guard lock(script_->mutex);
    script_->thread_counts.push_back(threads);
    script_->cores.emplace_back(std::vector<int>(cores.begin(), cores.end()), usable_cores());
  }

 private:
  std::shared_ptr<KernelScript> script_;
};

}  // namespace

SmallProgram::SmallProgram(int streams) { program.streams = streams; }

View SmallProgram::add(Buffer buffer) {
  program.buffers.push_back(std::move(buffer));
  return {static_cast<BufferId>(static_cast<std::uint32_t>(program.buffers.size() - 1)), 0, {kElements}, {1}};
}

View SmallProgram::input(std::string name) {
  const View view = add({name, BufferKind::kInput, kBufferBytes, {}, {}});
  program.inputs.push_back({view.buffer, view.shape, {MemberId{0}}, std::move(name)});
  program.member_count = 1;
  return view;
}

View SmallProgram::output(std::string name) {
  View view = add({name, BufferKind::kOutput, kBufferBytes, {}, {}});
  program.outputs.push_back({MemberId{0}, std::move(name), view});
  return view;
}

View SmallProgram::activation(std::string name, int place) {
  const Bytes offset = kBufferBytes * place;
  program.arena = std::max(program.arena, offset + kBufferBytes);
  return add({std::move(name), BufferKind::kActivation, kBufferBytes, offset, {}});
}

StepId SmallProgram::step(std::string task, std::vector<View> from, View to, StepOptions options) {
  Step step;
  step.task = std::move(task);
  step.op = step.task;
  step.members = {MemberId{0}};
  step.call.attributes = Binary{};
  step.call.inputs.assign(from.begin(), from.end());
  step.call.outputs = {std::move(to)};
  step.stream = static_cast<StreamId>(options.stream);
  step.dependencies = std::move(options.after);
  step.cost.algorithm = std::move(options.algorithm);
  step.cost.threads = options.threads;
  program.steps.push_back(std::move(step));
  return static_cast<StepId>(static_cast<std::uint32_t>(program.steps.size() - 1));
}

View part(View view, std::int64_t first, std::int64_t count) {
  view.offset += first;
  view.shape = {count};
  return view;
}

FourStreams::FourStreams() : p(4) {
  const View x = p.input("x");
  const View a_out = p.activation("a.y", 0);
  const View b_out = p.activation("b.y", 1);
  const View c_out = p.activation("c.y", 2);
  const View d_out = p.activation("d.y", 3);
  const View e_out = p.activation("e.y", 4);
  const View f_out = p.activation("f.y", 0);
  a = p.step("a", {x}, a_out, {0, {}});
  b = p.step("b", {a_out}, b_out, {1, {a}});
  c = p.step("c", {a_out}, c_out, {2, {a}});
  d = p.step("d", {c_out, a_out}, d_out, {3, {a, c}});
  e = p.step("e", {b_out}, e_out, {0, {b}});
  f = p.step("f", {e_out}, f_out, {0, {d, e}});
  g = p.step("g", {b_out, d_out}, p.output("g.y"), {3, {b, d}});
  h = p.step("h", {f_out}, p.output("h.y"), {0, {f}});
}

std::unique_ptr<HostKernels> make_scripted_kernels(std::shared_ptr<KernelScript> script) {
  return std::make_unique<ScriptedKernels>(std::move(script));
}

}  // namespace cohort::testing
