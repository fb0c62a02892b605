// How fast changed settings are answered: 16 models of 100 ops on a made-up profile of a CPU and of a GPU, whose
// kernels contend.
//
//   build/release/bin/explore_speed [answers [trace of a run]]
//
// Each kind of change is asked for again and again with another value, so that nothing of an answer is known before.
// Prints medians and the slowest in processor time, and how long a search takes to stop once it is cancelled.

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <functional>

#include "base/file.hpp"
#include "base/statistics.hpp"
#include "models/builder.hpp"
#include "models/onnx/onnx_file.hpp"
#include "planning/recorded_settings.hpp"
#include "tests/simulator/fake_profile.hpp"
#include "view/explore/exploration.hpp"
#include "view/timeline/curves.hpp"
#include "view/timeline/timeline.hpp"

namespace cohort {
namespace {

/// Of this thread, whatever else runs.
struct Clock {
  using time_point = std::chrono::nanoseconds;
  static time_point now() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
  }
};

constexpr int kModels = 16;
constexpr int kOps = 100;
constexpr std::size_t kSearched = 5;  ///< plans, until the search is cancelled

/// A chain of so many fully connected layers, which nothing merges.
Model chain() {
  ModelBuilder builder("chain");
  TensorId x = builder.input("x", {1, 64});
  for (int i = 0; i < kOps; ++i) x = builder.linear(fmt::format("fc{}", i), x, 64 + i % 2);
  builder.output(x);
  return builder.finish().value();
}

/// The model as a file, and a profile that times its ops alone, beside neighbours and fused.
Result<std::filesystem::path> write_model(const std::filesystem::path& folder) {
  Model model = chain();
  Weights weights = random_weights(model, 0);
  COHORT_TRY(const std::string bytes, onnx::serialize_model({std::move(model), std::move(weights)}));
  const std::filesystem::path file = folder / "chain.onnx";
  COHORT_CHECK(write_file(file, bytes, Overwrite::kAllow));
  return file;
}

Result<NamedTrace> profile_of(const std::filesystem::path& file, bool on_gpu) {
  const ModelSource source{file.string(), {}, 1};
  COHORT_TRY(const LoadedModel loaded, onnx::load(source, 0));
  const int cores = on_gpu ? 1 : 2;
  const auto times = [&](const FakeCall& call) -> std::optional<std::int64_t> {
    if (call.strategy == Strategy::kDenseConvolution || call.strategy == Strategy::kGroupedConvolution)
      return std::nullopt;
    return 20'000 * call.width / call.threads + 1'000 * call.neighbours;
  };
  Trace trace = fake_profile(fake_records(loaded.model, cores, times), cores);
  trace.info.device.id = on_gpu ? "cuda:7" : "cpu:0";
  trace.info.device.kind = on_gpu ? "cuda" : "cpu";
  if (on_gpu) trace.info.device.name = "NVIDIA H100 80GB HBM3";
  write_source(source, trace.info.settings);
  return NamedTrace{file, std::make_shared<const Trace>(std::move(trace))};
}

double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

/// Asks for `count` answers, each of settings that `change` makes of those before, with the rows and curves of their
/// timelines.
Result<void> time_answers(Exploration& exploration, ExploreSettings settings, std::string_view what, int count,
                          const std::function<void(ExploreSettings&, int)>& change) {
  std::vector<double> times;
  for (int i = 0; i < count; ++i) {
    change(settings, i);
    const auto start = Clock::now();
    const auto answer = exploration.predict(settings, CancelToken());
    if (!answer) return tl::unexpected<Error>(answer.error());
    const Timeline timeline({{answer->trace, Nanoseconds(0), ""}});
    static_cast<void>(timeline_curves(timeline));
    times.push_back(milliseconds_since(start));
  }
  fmt::print("  {:<28} {:>7.1f} ms, at most {:.1f}\n", what, median(times),
             *std::max_element(times.begin(), times.end()));
  return {};
}

Result<void> run(const NamedTrace& profile, std::string_view device, int count) {
  const auto opening = Clock::now();
  COHORT_TRY(const auto exploration, Exploration::open({profile}, {}, CancelToken()));
  fmt::print("{}: opened in {:.1f} ms; answers, the first of each kind with what is found once:\n", device,
             milliseconds_since(opening));
  ExploreSettings settings = exploration->with_models(exploration->initial_settings(), {kModels});
  settings.groups = {all_ops(Strategy::kConcurrent)};
  settings.streams = 2;
  COHORT_CHECK(time_answers(*exploration, settings, "one member moved", count, [](ExploreSettings& changed, int i) {
    changed.member_streams.assign(kModels, 0);
    for (int k = 0; k < kModels; ++k)
      changed.member_streams[static_cast<std::size_t>(k)] = static_cast<std::uint32_t>(((i + 3) >> (k % 5)) & 1);
  }));
  COHORT_CHECK(time_answers(*exploration, settings, "ops fused", count, [](ExploreSettings& changed, int i) {
    changed.groups = {{.name = "fused", .strategy = Strategy::kStridedBatch}, all_ops(Strategy::kConcurrent)};
    for (int k = 0; k <= i; ++k) changed.groups.front().ops.push_back(fmt::format("fc{}", 2 * k));
  }));
  COHORT_CHECK(
      time_answers(*exploration, settings, "another number of models", count, [&](ExploreSettings& changed, int i) {
        changed = exploration->with_models(changed, {std::max(1, kModels - count / 2 + i)});
      }));
  COHORT_CHECK(time_answers(*exploration, settings, "another memory limit", count, [](ExploreSettings& changed, int i) {
    changed.limits.memory = Bytes{(std::int64_t{1} << 30) + i};
  }));
  CancelToken cancel;
  Clock::time_point cancelled{};
  const auto stop = [&](std::size_t done, std::size_t /*of*/, std::string_view /*what*/) {
    if (done != kSearched) return;
    cancelled = Clock::now();
    cancel.cancel();
  };
  COHORT_TRY(const Recommendation found, exploration->recommend(settings, {}, cancel, stop));
  fmt::print("  {:<28} {:>7.1f} ms, with {} candidates\n", "end of a cancelled search", milliseconds_since(cancelled),
             found.ranked);
  return {};
}

/// So many members of a traced program.
Result<void> run_trace(const std::filesystem::path& file, int count) {
  const auto opening = Clock::now();
  COHORT_TRY(const auto exploration, Exploration::open({file}, {}, CancelToken()));
  fmt::print("{}: opened in {:.1f} ms\n", file.filename().string(), milliseconds_since(opening));
  ExploreSettings settings = exploration->with_models(exploration->initial_settings(), {4});
  COHORT_CHECK(time_answers(*exploration, settings, "4 members, other streams", count,
                            [](ExploreSettings& changed, int i) { changed.streams = 1 + i % 4; }));
  settings.graphs = true;
  settings.streams = 4;
  return time_answers(*exploration, settings, "as graphs, kernels faster", count, [](ExploreSettings& changed, int i) {
    changed.scale = {{"*gemm*", 1.0 + 0.01 * (i + 1)}};
  });
}

}  // namespace
}  // namespace cohort

int main(int argc, char** argv) {
  using namespace cohort;
  const int count = argc > 1 ? std::atoi(argv[1]) : 21;
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / "cohort_explore_speed";
  std::filesystem::create_directories(folder);
  const auto all = [&]() -> Result<void> {
    COHORT_TRY(const std::filesystem::path model, write_model(folder));
    for (const bool on_gpu : {false, true}) {
      COHORT_TRY(const NamedTrace profile, profile_of(model, on_gpu));
      COHORT_CHECK(run(profile, on_gpu ? "GPU, with contention" : "CPU", count));
    }
    return argc > 2 ? run_trace(argv[2], count) : Result<void>();
  }();
  std::filesystem::remove_all(folder);
  if (!all) fmt::print(stderr, "explore_speed: {}\n", all.error().message);
  return all ? 0 : 1;
}
