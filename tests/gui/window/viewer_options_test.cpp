#include "gui/window/viewer_options.hpp"

#include <gtest/gtest.h>

namespace cohort {
namespace {

TEST(ViewerOptions, AreReadOffTheCommandLine) {
  const auto options = viewer_options_from({"cohort-viewer", "--screenshot", "a.png", "--size", "800x600", "--view",
                                            "compare", "--theme", "dark", "--", "p.json", "m.json"});
  ASSERT_TRUE(options);
  EXPECT_EQ(options->screenshot, "a.png");
  EXPECT_EQ(options->size, QSize(800, 600));
  EXPECT_EQ(options->page, PageId::kCompare);
  EXPECT_EQ(options->theme, ThemeChoice::kDark);
  EXPECT_EQ(options->files, QStringList({"p.json", "m.json"}));
}

TEST(ViewerOptions, HaveDefaults) {
  const auto options = viewer_options_from({"cohort-viewer"});
  ASSERT_TRUE(options);
  EXPECT_TRUE(options->screenshot.isEmpty());
  EXPECT_EQ(options->size, QSize(1280, 800));
  EXPECT_FALSE(options->page);
  EXPECT_FALSE(options->theme);
  EXPECT_TRUE(options->files.isEmpty());
}

TEST(ViewerOptions, SayWhatWouldBeRight) {
  const std::pair<QStringList, std::string> cases[] = {
      {{"--size", "big"}, "--size is a width and a height from 200 to 16384, as 1280x800, not big"},
      {{"--size", "10x800"}, "--size is a width and a height from 200 to 16384, as 1280x800, not 10x800"},
      {{"--view", "all"}, "--view is one of compare, explore, run, scaling, start, timeline, not all"},
      {{"--theme", "pink"}, "--theme is one of dark, light, system, not pink"},
      {{"--frobnicate"}, "Unknown option 'frobnicate'.\nTry 'cohort-viewer --help'."},
  };
  for (const auto& [words, message] : cases) {
    const auto options = viewer_options_from(QStringList{"cohort-viewer"} + words);
    ASSERT_FALSE(options) << message;
    EXPECT_EQ(options.error().code, ErrorCode::kUsage);
    EXPECT_EQ(options.error().message, message);
  }
}

}  // namespace
}  // namespace cohort
