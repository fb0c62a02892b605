#include "executor/reference/grouped.hpp"

#include <algorithm>

namespace cohort {
namespace {

class GroupedKernel final : public HostKernel {
 public:
  explicit GroupedKernel(const OpCall& call) : call_(call) {}

  void add(std::unique_ptr<HostKernel> kernel) { kernels_.push_back(std::move(kernel)); }

  void run(const HostArguments& arguments) override {
    auto input = arguments.inputs.begin();
    for (std::size_t i = 0; i < kernels_.size(); ++i) {
      const auto end = input + static_cast<std::ptrdiff_t>(call_.parts[i].inputs);
      part_.inputs.assign(input, end);
      part_.outputs.assign(1, arguments.outputs[i]);
      part_.workspace = arguments.workspace;  // theirs in turn
      kernels_[i]->run(part_);
      input = end;
    }
  }

 private:
  OpCall call_;
  std::vector<std::unique_ptr<HostKernel>> kernels_;
  HostArguments part_;  ///< kept, so that a run takes no memory
};

}  // namespace

Result<std::vector<Alternative>> grouped_alternatives(const OpCatalog& catalog, const OpCall& call, int threads) {
  Alternative all{kGroupedAlgorithm, threads, {}, {}};
  for (const OpCall& part : parts_of(call)) {
    COHORT_TRY(const auto list, catalog.alternatives(part, threads));
    all.workspace = std::max(all.workspace, list.front().workspace);
    all.packed_weights += list.front().packed_weights;
  }
  return std::vector{all};
}

Result<std::unique_ptr<HostKernel>> prepare_grouped(const HostKernels& kernels, const OpCall& call,
                                                    const std::string& algorithm, int threads,
                                                    std::span<const std::vector<float>> weights) {
  if (algorithm != kGroupedAlgorithm)
    return fail(ErrorCode::kInvalidInput, "{}: unknown algorithm \"{}\"; ops of several members have only \"{}\"",
                op_type(call.attributes), algorithm, kGroupedAlgorithm);
  auto grouped = std::make_unique<GroupedKernel>(call);
  for (const OpCall& part : parts_of(call)) {
    const auto count =
        static_cast<std::size_t>(std::count_if(part.inputs.begin(), part.inputs.end(), [](const Operand& operand) {
          return std::holds_alternative<WeightView>(operand);
        }));
    if (count > weights.size())
      return fail(ErrorCode::kInvalidInput, "{}: a part has no values for its weights", op_type(part.attributes));
    COHORT_TRY(const auto list, kernels.alternatives(part, threads));
    COHORT_TRY(auto kernel, kernels.prepare(part, list.front().algorithm, threads, weights.first(count)));
    grouped->add(std::move(kernel));
    weights = weights.subspan(count);
  }
  return grouped;
}

}  // namespace cohort
