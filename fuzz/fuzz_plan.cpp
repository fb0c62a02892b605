#include <cstddef>
#include <cstdint>
#include <vector>

#include "fuzz/require.hpp"
#include "models/builder.hpp"
#include "simulator/plan/lower.hpp"

// Whatever the bytes: a plan or a message. What was read writes and reads back the same, and lowers on
// models of ours to a program, or to a message.

namespace {

using cohort::Result;

using cohort::require;

/// A device that takes every call in two ways, one with workspace.
class AnyCatalog final : public cohort::OpCatalog {
 public:
  Result<std::vector<cohort::Alternative>> alternatives(const cohort::OpCall& /*call*/, int threads) const override {
    return std::vector<cohort::Alternative>{{"fast", threads, cohort::Bytes{1024}, cohort::Bytes{0}},
                                            {"small", 1, cohort::Bytes{0}, cohort::Bytes{0}}};
  }
  bool accepts_strides(const cohort::OpCall& call) const override { return call.width % 2 == 0; }
  int cores() const override { return 4; }
};

/// conv -> relu -> pool -> fc1 -> fc2: what the plans of the corpus name.
cohort::Model model_of(std::int64_t minibatch) {
  cohort::ModelBuilder builder("net");
  cohort::TensorId x = builder.input("x", {minibatch, 3, 6, 6});
  x = builder.convolution("conv", x, {.channels = 4, .kernel = 3});
  x = builder.relu("relu", x);
  x = builder.flatten("flatten", builder.max_pool("pool", x, 2, 2));
  x = builder.linear("fc1", x, 8);
  builder.output(builder.linear("fc2", x, 4));
  return *builder.finish();
}

void lower_on_models(const cohort::Plan& plan) {
  constexpr std::size_t kMostMembers = 24;  // more tell nothing new and take long
  if (plan.members.size() > kMostMembers) return;
  const cohort::Model one = model_of(1);
  const cohort::Model two = model_of(2);
  std::vector<const cohort::Model*> models;
  for (const cohort::Member& member : plan.members) models.push_back(member.source.minibatch == 1 ? &one : &two);
  const auto program = cohort::lower(plan, models, AnyCatalog());
  if (!program) {
    require(!program.error().message.empty(), "an error of lowering says something");
    return;
  }
  cohort::Plan again = plan;
  again.resolved = cohort::resolve(plan, *program, "device");
  require(cohort::lower(again, models, AnyCatalog()).has_value(), "what was resolved lowers again");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto members = cohort::parse_members(text); !members)
    require(!members.error().message.empty(), "an error of members says something");
  const auto plan = cohort::parse_plan(text);
  if (!plan) {
    require(!plan.error().message.empty(), "an error says something");
    return 0;
  }
  const std::string once = cohort::write_plan(*plan);
  const auto again = cohort::parse_plan(once);
  require(again.has_value(), "what was read can be written and read");
  require(cohort::write_plan(*again) == once, "what was written reads back the same");
  require(cohort::fingerprint(*again) == cohort::fingerprint(*plan), "the fingerprint stays");
  lower_on_models(*plan);
  return 0;
}
