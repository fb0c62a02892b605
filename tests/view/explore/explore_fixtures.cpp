#include "tests/view/explore/explore_fixtures.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <utility>

#include "models/onnx/onnx_file.hpp"
#include "planning/recorded_settings.hpp"
#include "tests/simulator/fake_profile.hpp"
#include "tests/simulator/gpu_trace_text.hpp"
#include "tests/simulator/what_if_case.hpp"

namespace cohort {

std::filesystem::path recorded(std::string_view name) { return std::filesystem::path(COHORT_TRACES) / name; }

std::unique_ptr<Exploration> explore(const std::vector<std::filesystem::path>& files) {
  auto opened = Exploration::open(files, {}, CancelToken());
  EXPECT_TRUE(opened.has_value()) << opened.error().message;
  return opened ? *std::move(opened) : nullptr;
}

std::unique_ptr<Exploration> explore(std::vector<NamedTrace> traces) {
  auto opened = Exploration::open(std::move(traces), {}, CancelToken());
  EXPECT_TRUE(opened.has_value()) << opened.error().message;
  return opened ? *std::move(opened) : nullptr;
}

ExploreAnswer predict(Exploration& exploration, const ExploreSettings& settings) {
  auto answer = exploration.predict(settings, CancelToken());
  EXPECT_TRUE(answer.has_value()) << answer.error().message;
  return answer ? *std::move(answer) : ExploreAnswer{};
}

NamedTrace fake_profile_of(std::string_view network, std::int64_t minibatch, bool on_gpu) {
  const ModelSource source{std::string(network), {}, minibatch};
  const auto loaded = onnx::load(source, 0);
  EXPECT_TRUE(loaded.has_value());
  const int cores = on_gpu ? 1 : 2;
  const auto times = [&](const FakeCall& call) -> std::optional<std::int64_t> {
    return 20'000 + (call.width > 1 ? 2'000 * call.width : 0) + 1'000 * call.neighbours;
  };
  Trace trace = fake_profile(fake_records(loaded->model, cores, times), cores);
  trace.info.device.id = on_gpu ? "cuda:0" : "cpu:0";
  trace.info.device.kind = on_gpu ? "cuda" : "cpu";
  if (on_gpu) trace.info.device.name = "NVIDIA H100 80GB HBM3";
  write_source(source, trace.info.settings);
  return {fmt::format("{}-b{}.trace.json.gz", network, minibatch), std::make_shared<const Trace>(std::move(trace))};
}

NamedTrace launch_bound_trace(int kernels) {
  return {"run.json", std::make_shared<const Trace>(gpu_trace_from(launch_bound(kernels)))};
}

StepOptions launch_bound_step() {
  StepOptions step;
  step.annotation = "step";
  return step;
}

std::unique_ptr<Exploration> explore_launch_bound(int kernels) {
  ExploreOptions options;
  options.steps = {launch_bound_step()};
  auto opened = Exploration::open({launch_bound_trace(kernels)}, options, CancelToken());
  EXPECT_TRUE(opened.has_value()) << opened.error().message;
  return opened ? *std::move(opened) : nullptr;
}

}  // namespace cohort
