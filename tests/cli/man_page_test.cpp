// Manual pages, which the build has the program write of itself.

#include <gmock/gmock.h>

#include <sstream>

#include "program.hpp"

namespace cohort {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class ManPages : public ProgramTest {
 protected:
  void SetUp() override {
    std::filesystem::create_directory(path("man1"));
    ASSERT_EQ(cohort({"--man-pages", path("man1").string()}).exit_code, 0);
  }
};

/// Long options that a help text declares.
std::vector<std::string> options_of(const std::string& help) {
  std::vector<std::string> options;
  std::istringstream lines(help);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("  -")) continue;
    const std::size_t begin = line.find("--");
    options.push_back(line.substr(begin, line.find_first_of(" ,=", begin) - begin));
  }
  return options;
}

TEST_F(ManPages, HaveEveryOptionThatHelpHas) {
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"plan"}, {"profile"}, {"trace", "info"}, {"dataset", "synth"}}) {
    std::string name = "cohort";
    std::vector<std::string> words = command;
    for (const std::string& word : command) name += "-" + word;
    words.emplace_back("--help");
    const std::string page = read("man1/" + name + ".1");
    const std::vector<std::string> options = options_of(cohort(words).out);
    EXPECT_GT(options.size(), 4U);
    for (const std::string& option : options) {
      std::string in_roff;
      for (const char c : option) in_roff += c == '-' ? std::string("\\-") : std::string(1, c);
      EXPECT_THAT(page, HasSubstr("\\fB" + in_roff + "\\fR")) << name;
    }
  }
}

TEST_F(ManPages, NameTheCommandsOnThePageAboveThem) {
  EXPECT_THAT(read("man1/cohort.1"), HasSubstr(".BR cohort\\-simulate (1)"));
  EXPECT_THAT(read("man1/cohort.1"), HasSubstr(".SH EXIT STATUS"));
  EXPECT_THAT(read("man1/cohort-trace.1"), HasSubstr(".BR cohort\\-trace\\-convert (1)"));
  EXPECT_THAT(read("man1/cohort-models.1"), HasSubstr("SEE ALSO"));
}

TEST_F(ManPages, AreTheSameEveryTime) {
  const auto first = contents();
  ASSERT_EQ(cohort({"--man-pages", path("man1").string()}).exit_code, 0);
  EXPECT_EQ(contents(), first);
}

TEST_F(ManPages, HideNothingFromRoff) {
  for (const auto& [name, page] : contents()) {
    std::istringstream lines(page);
    for (std::string line; std::getline(lines, line);) {
      if (!line.starts_with('.')) continue;
      EXPECT_THAT(line, ::testing::MatchesRegex("\\.(TH|SH|TP|BR?|nf|fi)( .*)?")) << name;
    }
    EXPECT_THAT(page, Not(HasSubstr("\n'"))) << name;
  }
}

}  // namespace
}  // namespace cohort
