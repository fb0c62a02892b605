#include "training.hpp"

#include <gtest/gtest.h>

namespace cohort::testing {

void expect_fast(const OpCall& call) {
  for (const int threads : {1, 2}) {
    const auto list = onednn().alternatives(call, threads);
    ASSERT_TRUE(list.has_value()) << list.error().message;
    EXPECT_EQ(list->front().algorithm.find("ref"), std::string::npos)
        << canonical(call.attributes, call.post_ops) << " by " << list->front().algorithm;
  }
}

}  // namespace cohort::testing
