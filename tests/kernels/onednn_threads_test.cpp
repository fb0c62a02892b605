#include <gtest/gtest.h>
#include <omp.h>

#include <atomic>
#include <thread>

#include "comparison.hpp"
#include "executor/host/core_binding.hpp"

namespace cohort::testing {
namespace {

/// Calls of different kinds, most of them with a workspace.
std::vector<OpCall> calls() {
  return {
      with_output(Convolution{square_window(3, 1, 1), 1},
                  {dense(0, {2, 32, 20, 20}), weight({48, 32, 3, 3}), weight({48})}, 1, {Activation{}}),
      with_output(Gemm{}, {dense(0, {4, 400}), weight({300, 400}), weight({300})}, 1, {Activation{}}),
      with_output(Gemm{true}, {dense(0, {8, 2, 100}), weight({8, 60, 100}), weight({8, 60})}, 1),
      with_output(Lstm{32}, {dense(0, {6, 2, 16}), weight({128, 16}), weight({128, 32}), weight({128})}, 1),
      with_output(Concat{1}, {dense(0, {2, 16, 9, 9}), dense(1, {2, 32, 9, 9})}, 2),
  };
}

/// A kernel with memory of its own.
struct Job {
  explicit Job(const OpCall& call, std::uint64_t seed)
      : runner(call, seed),
        alternative(onednn().alternatives(call, 1)->front()),
        buffers(runner.buffers()),
        workspace(static_cast<std::size_t>(alternative.workspace.value)),
        kernel(*onednn().prepare(call, alternative.algorithm, 1, runner.weights())) {}

  /// The whole block that the output lies in.
  [[nodiscard]] const std::vector<float>& output() const { return buffers[to_index(runner.call().outputs[0].buffer)]; }

  CallRunner runner;
  Alternative alternative;
  std::vector<std::vector<float>> buffers;
  AlignedBytes workspace;
  std::unique_ptr<HostKernel> kernel;
};

TEST(OnednnThreads, KeepHelpersOnTheCoresTheyAreToldAlsoAfterASmallerTeam) {
  const std::vector<int> usable = usable_cores();
  if (usable.size() < 2) GTEST_SKIP() << "needs two cores";
  const std::vector<int> cores{usable[0], usable[1]};
  std::vector<int> helper;
  for (const int threads : {2, 1, 2}) {
    onednn().use_threads(threads, cores);
    if (threads == 1) continue;
    helper.clear();
#pragma omp parallel num_threads(2)
    {
      if (omp_get_thread_num() == 1) helper = usable_cores();
    }
    EXPECT_EQ(helper, std::vector<int>{usable[1]});
  }
  EXPECT_EQ(usable_cores(), usable);
}

TEST(OnednnThreads, RunDifferentKernelsAtTheSameTime) {
  std::vector<std::unique_ptr<Job>> jobs;
  for (const OpCall& call : calls()) {
    // Two of each kind share a primitive; each thread gets one.
    for (const std::uint64_t seed : {1U, 2U}) jobs.push_back(std::make_unique<Job>(call, seed));
  }
  std::vector<std::vector<float>> first(jobs.size());
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    onednn().use_threads(1, {});
    jobs[i]->kernel->run(jobs[i]->runner.arguments(jobs[i]->buffers, jobs[i]->workspace.data()));
    first[i] = jobs[i]->output();
  }
  std::atomic<int> wrong{0};
  const auto work = [&](std::size_t from) {
    onednn().use_threads(1, {});
    for (int repetition = 0; repetition < 50; ++repetition) {
      for (std::size_t i = from; i < jobs.size(); i += 2) {
        Job& job = *jobs[i];
        job.kernel->run(job.runner.arguments(job.buffers, job.workspace.data()));
        if (job.output() != first[i]) ++wrong;
      }
    }
  };
  std::thread one(work, 0), two(work, 1);
  one.join();
  two.join();
  EXPECT_EQ(wrong, 0);
  for (const auto& job : jobs) EXPECT_FALSE(job->workspace.overrun());
}

TEST(OnednnThreads, PrepareOnSeveralThreadsAtTheSameTime) {
  const std::vector<OpCall> all = calls();
  std::atomic<int> failures{0};
  const auto work = [&] {
    for (const OpCall& call : all) {
      const CallRunner runner(call);
      for (const int threads : {1, 2}) {
        const auto list = onednn().alternatives(call, threads);
        if (!list || !onednn().prepare(call, list->front().algorithm, threads, runner.weights())) ++failures;
      }
    }
  };
  std::thread one(work), two(work);
  one.join();
  two.join();
  EXPECT_EQ(failures, 0);
}

}  // namespace
}  // namespace cohort::testing
