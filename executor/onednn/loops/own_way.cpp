#include "executor/onednn/loops/own_way.hpp"

#include <utility>

#include "executor/onednn/operands.hpp"
#include "executor/reference/call.hpp"

namespace cohort::onednn {
namespace {

class LoopKernel final : public HostKernel {
 public:
  LoopKernel(const OwnWay& way, const OpCall& call, std::span<const std::vector<float>> weights) : loop_(way.loop) {
    for (std::size_t i = 0; i < call.inputs.size(); ++i) {
      if (!is_constant(call, i)) continue;
      const std::vector<float>& values = weights[places_.size()];
      constants_.push_back(way.pack ? way.pack(i, values) : values);
      places_.push_back(i);
    }
  }

  void run(const HostArguments& arguments) override {
    if (places_.empty()) return loop_(arguments);
    arguments_ = arguments;
    for (std::size_t i = 0; i < places_.size(); ++i) arguments_.inputs[places_[i]] = constants_[i].data();
    loop_(arguments_);
  }

 private:
  Loop loop_;
  std::vector<std::vector<float>> constants_;
  std::vector<std::size_t> places_;  ///< of constants among the inputs
  HostArguments arguments_;          ///< kept, so that a run takes no memory
};

}  // namespace

std::unique_ptr<HostKernel> make_kernel(const OwnWay& way, const OpCall& call,
                                        std::span<const std::vector<float>> weights) {
  return std::make_unique<LoopKernel>(way, call, weights);
}

View view_of(const OpCall& call, std::size_t input) {
  if (const auto* const view = std::get_if<View>(&call.inputs[input])) return *view;
  const Shape& shape = shape_of(call.inputs[input]);
  return {{}, 0, shape, dense_strides(shape, Layout::kNchw)};
}

bool inputs_row_major(const OpCall& call, std::size_t first) {
  for (std::size_t i = first; i < call.inputs.size(); ++i) {
    if (!is_dense(view_of(call, i), Layout::kNchw)) return false;
  }
  return true;
}

bool all_row_major(const OpCall& call) { return inputs_row_major(call, 0) && is_dense(call.outputs[0], Layout::kNchw); }

}  // namespace cohort::onednn
