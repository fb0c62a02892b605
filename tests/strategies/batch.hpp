#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "executor/run/batch_run.hpp"
#include "models/model.hpp"
#include "simulator/plan/plan.hpp"

namespace cohort::testing {

/// Members for tests: networks of the built-in kind, each member with a seed of its own.
struct Batch {
  std::vector<std::unique_ptr<LoadedModel>> loaded;
  std::vector<Member> members;

  [[nodiscard]] MemberModels models() const;
};

/// `count` members of one network, simplified. `arguments` as in plans.
Batch equal_members(const std::string& network, std::int64_t minibatch, std::map<std::string, std::string> arguments,
                    int count);
/// Members of different networks in one model batch.
Batch mixed_members(std::int64_t minibatch);

/// A plan by name: "serial", "concurrent", "dense", "grouped", "strided", "grouped_gemm", "mixed", applied to the ops
/// that it can be applied to, the rest concurrent on two streams; "crossing" as crossing_plan().
Plan plan_by_name(const std::string& name, const Batch& batch);

/// All members concurrent, each with its ops in turn on `streams` streams: every chain crosses between them.
Plan crossing_plan(const Batch& batch, int streams);

/// Every output of every member, in the Program's order, after a step.
Result<std::vector<std::vector<float>>> outputs_of(BatchRun& run);

/// Fails the running test where an output is another, or says nothing as it is zero. `tolerance` is relative to the
/// largest element.
void expect_close(const std::vector<std::vector<float>>& actual, const std::vector<std::vector<float>>& expected,
                  float tolerance);

/// What every member computes alone on `backend`, concatenated in the order of members. Member m reads
/// what it would read in the model batch.
std::vector<std::vector<float>> outputs_alone(Backend& backend, const Plan& plan, const Batch& batch);

}  // namespace cohort::testing
