#include <gtest/gtest.h>

#include <span>
#include <string>

#include "comparison.hpp"

namespace cohort::testing {
namespace {

/// Functions that simplify() merges into the op before: those with parameters twice.
constexpr Activation kFunctions[] = {
    {ActivationKind::kRelu},        {ActivationKind::kLeakyRelu, 0.25F}, {ActivationKind::kLeakyRelu, -0.5F},
    {ActivationKind::kElu, 1.0F},   {ActivationKind::kElu, 0.3F},        {ActivationKind::kClip, -0.5F, 0.75F},
    {ActivationKind::kSigmoid},     {ActivationKind::kClip, 0.0F, 1.0F}, {ActivationKind::kTanh},
    {ActivationKind::kSwish, 1.0F}, {ActivationKind::kHardSwish},        {ActivationKind::kMish},
    {ActivationKind::kGelu},        {ActivationKind::kGeluTanh},         {ActivationKind::kAbs},
};

/// Those tried in triples.
constexpr auto kMixable = std::span(kFunctions).first<9>();

/// What chains follow. The last input is an operand of the output's shape, for an addition in the chain.
struct Head {
  std::string name;
  OpAttributes attributes;
  std::vector<Operand> inputs;
  View addend;
};

std::vector<Head> heads() {
  Convolution full;
  full.window = square_window(3, 1, 1);
  Convolution depthwise = full;
  depthwise.groups = 16;
  const Shape image = {2, 16, 6, 5};
  return {
      {"Convolution", full, {dense(0, image), weight({16, 16, 3, 3}), weight({16})}, dense(1, image)},
      {"DepthwiseConvolution", depthwise, {dense(0, image), weight({16, 1, 3, 3}), weight({16})}, dense(1, image)},
      {"Product", Gemm{}, {dense(0, {5, 24}), weight({20, 24}), weight({20})}, dense(1, {5, 20})},
      {"Addition", Binary{BinaryKind::kAdd}, {dense(0, image), dense(1, image)}, dense(1, image)},
  };
}

OpCall with_chain(const Head& head, const std::vector<Activation>& functions, bool adds_between) {
  OpCall call = make_call(head.attributes, head.inputs, head.addend);
  call.outputs[0] = head.addend;
  call.outputs[0].buffer = BufferId(2);
  for (const Activation& function : functions) {
    if (adds_between && !call.post_ops.empty() && call.inputs.size() == head.inputs.size()) {
      call.post_ops.emplace_back(AddOperand{call.inputs.size()});
      call.inputs.emplace_back(head.addend);
    }
    call.post_ops.emplace_back(function);
  }
  return call;
}

/// oneDNN 2.6 gives both functions of a pair of one family the first one's parameters; such chains are never its.
TEST(OnednnPostOps, EveryPairEqualsTheReference) {
  for (const Head& head : heads()) {
    const bool is_binary = std::holds_alternative<Binary>(head.attributes);
    for (const Activation& first : kFunctions) {
      for (const Activation& second : kFunctions) {
        expect_equals_reference(CallRunner(with_chain(head, {first, second}, false), 1, -2, 2));
        if (!is_binary) expect_equals_reference(CallRunner(with_chain(head, {first, second}, true), 1, -2, 2));
      }
    }
  }
}

/// The first of a family decides, whoever stands between it and the next.
class OnednnPostOpTriples : public ::testing::TestWithParam<std::size_t> {};

TEST_P(OnednnPostOpTriples, EqualTheReference) {
  const Head head = heads()[GetParam()];
  const bool is_binary = std::holds_alternative<Binary>(head.attributes);
  for (const Activation& first : kMixable) {
    for (const Activation& second : kMixable) {
      for (const Activation& third : kMixable) {
        expect_equals_reference(CallRunner(with_chain(head, {first, second, third}, false), 1, -2, 2));
        if (!is_binary) expect_equals_reference(CallRunner(with_chain(head, {first, second, third}, true), 1, -2, 2));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Behind, OnednnPostOpTriples, ::testing::Range(std::size_t{0}, heads().size()),
                         [](const auto& test) { return heads()[test.param].name; });

}  // namespace
}  // namespace cohort::testing
