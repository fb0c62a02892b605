#include "simulator/planner/remembered_catalog.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "models/op_dense.hpp"

namespace cohort {
namespace {

/// Counts what it is asked, and lists one way that says how often that was.
class CountingCatalog final : public OpCatalog {
 public:
  Result<std::vector<Alternative>> alternatives(const OpCall& call, int threads) const override {
    if (call.signature == "unknown") return fail(ErrorCode::kInvalidInput, "unknown");
    return std::vector<Alternative>{{std::to_string(++asked), threads, {}, {}}};
  }
  bool accepts_strides(const OpCall& /*call*/) const override { return false; }
  int cores() const override { return 3; }

  mutable int asked = 0;
};

View view(std::uint32_t buffer, std::int64_t offset, Shape strides = {4, 1}) {
  return {BufferId(buffer), offset, {2, 4}, std::move(strides), DataType::kFloat32};
}

OpCall product(const View& from, const View& to) {
  OpCall call;
  call.attributes = Gemm{};
  call.signature = "Gemm";
  call.inputs = {from, WeightView{{{MemberId(0), TensorId(1)}}, {4, 4}, DataType::kFloat32}};
  call.outputs = {to};
  return call;
}

class Remembered : public ::testing::Test {
 protected:
  /// Whether the catalog is asked for this call.
  bool asks(const OpCall& call, int threads = 1) {
    const int before = catalog_.asked;
    const auto listed = remembered_.alternatives(call, threads);
    EXPECT_TRUE(listed.has_value());
    EXPECT_EQ(listed->front().threads, threads);
    return catalog_.asked != before;
  }

  CountingCatalog catalog_;
  RememberedCatalog remembered_{catalog_};
};

TEST_F(Remembered, AsksOnceForCallsThatLieElsewhere) {
  EXPECT_TRUE(asks(product(view(0, 0), view(1, 0))));
  EXPECT_FALSE(asks(product(view(0, 0), view(1, 0))));
  EXPECT_FALSE(asks(product(view(7, 64), view(9, 16))));
  OpCall of_another = product(view(0, 0), view(1, 0));
  std::get<WeightView>(of_another.inputs[1]).parts[0].member = MemberId(5);
  EXPECT_FALSE(asks(of_another));
}

TEST_F(Remembered, AsksForEveryCallThatDiffersOtherwise) {
  const OpCall call = product(view(0, 0), view(1, 0));
  EXPECT_TRUE(asks(call));
  EXPECT_TRUE(asks(call, 2));
  EXPECT_TRUE(asks(product(view(0, 0, {8, 1}), view(1, 0)))) << "rows further apart";
  EXPECT_TRUE(asks(product(view(0, 0), view(1, 0, {8, 1}))));
  EXPECT_TRUE(asks(product(view(1, 0), view(1, 0)))) << "written over what is read";
  EXPECT_TRUE(asks(product(view(1, 16), view(1, 0)))) << "beside what is read";
  EXPECT_TRUE(asks(product(view(0, 10), view(1, 0)))) << "less aligned";
  EXPECT_TRUE(asks(product(view(0, 0), view(1, 1))));
  OpCall other = call;
  other.width = 2;
  EXPECT_TRUE(asks(other));
  other = call;
  other.signature = "Gemm in bfloat16";
  EXPECT_TRUE(asks(other));
  other = call;
  other.post_ops = {Activation{}};
  EXPECT_TRUE(asks(other));
  other = call;
  other.attributes = Reshape{};
  EXPECT_TRUE(asks(other));
  other = call;
  other.multiprocessors = 66;
  EXPECT_TRUE(asks(other));
  other = call;
  std::get<WeightView>(other.inputs[1]).shape = {4, 5};
  EXPECT_TRUE(asks(other));
  EXPECT_FALSE(asks(call));
}

TEST_F(Remembered, KeepsNoErrorsAndNoGroups) {
  OpCall unknown = product(view(0, 0), view(1, 0));
  unknown.signature = "unknown";
  EXPECT_FALSE(remembered_.alternatives(unknown, 1));
  EXPECT_FALSE(remembered_.alternatives(unknown, 1));
  const OpCall one = product(view(0, 0), view(1, 0));
  const OpCall group = grouped_call({one, one});
  EXPECT_TRUE(asks(group));
  EXPECT_TRUE(asks(group));
}

}  // namespace
}  // namespace cohort
