#include "base/spelling.hpp"

#include <gtest/gtest.h>

#include <array>

namespace cohort {
namespace {

constexpr std::array<std::string_view, 4> kKnown = {"epochs", "minibatch", "model", "metric"};

TEST(Spelling, FindsTheWordThatWasMeant) {
  EXPECT_EQ(nearest_word("epoch", kKnown), "epochs");
  EXPECT_EQ(nearest_word("mdoel", kKnown), "model") << "neighbours that changed places are one mistake";
  EXPECT_EQ(nearest_word("Minibatch", kKnown), "minibatch");
  EXPECT_EQ(nearest_word("learning_rate", kKnown), std::nullopt);
  EXPECT_EQ(nearest_word("", kKnown), std::nullopt);
  EXPECT_EQ(nearest_word(std::string(1000, 'm'), kKnown), std::nullopt);
}

TEST(Spelling, ListsAllWordsWhereNoneIsNear) {
  EXPECT_EQ(known_words("metrics", kKnown), "did you mean \"metric\"?");
  EXPECT_EQ(known_words("optimizer", kKnown), "known are epochs, minibatch, model, metric");
}

TEST(Spelling, QuotesWordsOfACommandWhereTheyNeedIt) {
  EXPECT_EQ(as_shell_word("/head/Concat_10:0"), "/head/Concat_10:0");
  EXPECT_EQ(as_shell_word("all scores"), "'all scores'");
  EXPECT_EQ(as_shell_word("it's"), "'it'\\''s'");
  EXPECT_EQ(as_shell_word(""), "''");
}

}  // namespace
}  // namespace cohort
