#include "gui/start/examples.hpp"

#include <gtest/gtest.h>

#include <QDir>

#include "tests/gui/small_files.hpp"

namespace cohort {
namespace {

TEST(Examples, ArePairsFirstThenProfiles) {
  const FileFolder folder;
  for (const char* name : {"lenet5-b1-n16.measured.json.gz", "lenet5-b1-n16.predicted.json.gz",
                           "lenet5-b1-n16.plan.json", "alone.predicted.json.gz", "lstm-b4.trace.json.gz", "README.md"})
    folder.write(QLatin1String(name), QByteArray("x"));
  const auto examples = examples_in(folder.path("."));
  ASSERT_EQ(examples.size(), 2U);
  EXPECT_EQ(examples[0].title, QStringLiteral("16 × lenet5, predicted and measured"));
  EXPECT_EQ(examples[0].request.page, PageId::kCompare);
  ASSERT_EQ(examples[0].request.files.size(), 2);
  EXPECT_TRUE(examples[0].request.files[0].endsWith("lenet5-b1-n16.predicted.json.gz"));
  EXPECT_TRUE(examples[0].request.files[1].endsWith("lenet5-b1-n16.measured.json.gz"));
  EXPECT_EQ(examples[1].title, "lstm at minibatch 4");
  EXPECT_EQ(examples[1].request.page, PageId::kExplore);
  EXPECT_TRUE(examples_in({}).empty());
}

TEST(Examples, LieBesideAnInstalledProgramOrInTheSources) {
  const FileFolder folder;
  const QDir root(folder.path("."));
  root.mkpath("installed/bin");
  root.mkpath("installed/share/cohort/examples");
  root.mkpath("sources/build/release/bin");
  root.mkpath("sources/traces");
  folder.write("sources/traces/README.md", QByteArray("x"));
  EXPECT_TRUE(find_examples(folder.path("installed/bin")).endsWith("/installed/share/cohort/examples"));
  EXPECT_TRUE(find_examples(folder.path("sources/build/release/bin")).endsWith("/sources/traces"));
  EXPECT_TRUE(find_examples(folder.path("sources")).isEmpty());
}

}  // namespace
}  // namespace cohort
