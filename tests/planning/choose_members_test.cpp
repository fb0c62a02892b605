#include "planning/choose_members.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cohort {
namespace {

using ::testing::ElementsAre;

ModelSource source_of(const std::string& model, std::int64_t minibatch = 1,
                      std::map<std::string, std::string> arguments = {}) {
  ModelSource source;
  source.model = model;
  source.minibatch = minibatch;
  source.arguments = std::move(arguments);
  return source;
}

std::vector<std::string> names_of(const std::vector<ModelSource>& sources, const std::vector<int>& counts) {
  std::vector<std::string> names;
  for (const Member& member : members_of(sources, counts)) names.push_back(member.name);
  return names;
}

TEST(MembersOf, AreNamedAfterTheirModel) {
  EXPECT_THAT(names_of({source_of("nets/a.onnx", 8)}, {2}), ElementsAre("a-0", "a-1"));
  EXPECT_THAT(names_of({source_of("a.onnx", 8), source_of("b.onnx")}, {1, 2}), ElementsAre("a-b8-0", "b-0", "b-1"));
}

TEST(MembersOf, OfModelsThatShareANameAreToldApart) {
  EXPECT_THAT(names_of({source_of("one/a.onnx"), source_of("two/a.onnx"), source_of("three/a.onnx")}, {2}),
              ElementsAre("a-0", "a-1", "a.2-0", "a.2-1", "a.3-0", "a.3-1"));
  EXPECT_THAT(names_of({source_of("mlp", 1, {{"hidden", "64"}}), source_of("mlp", 1, {{"hidden", "96"}})}, {1}),
              ElementsAre("mlp-0", "mlp.2-0"));
  EXPECT_THAT(names_of({source_of("a.onnx"), source_of("a.onnx", 8)}, {1}), ElementsAre("a-0", "a-b8-0"));
}

}  // namespace
}  // namespace cohort
