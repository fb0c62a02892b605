#include "gui/files/recent_files.hpp"

#include <gtest/gtest.h>

#include <QSignalSpy>

#include "tests/gui/small_files.hpp"

namespace cohort {
namespace {

TEST(RecentFiles, AreRememberedNewestFirstWithoutThoseThatAreGone) {
  const FileFolder folder;
  const QString a = folder.write("a.json", QByteArray("{}"));
  const QString b = folder.write("b.json", QByteArray("{}"));
  RecentFiles recent;
  recent.clear();
  QSignalSpy changed(&recent, &RecentFiles::changed);
  recent.add(a);
  recent.add(b);
  recent.add(a);
  EXPECT_EQ(changed.count(), 3);
  EXPECT_EQ(RecentFiles().paths(), QStringList({a, b}));
  QFile::remove(b);
  EXPECT_EQ(recent.paths(), QStringList({a}));
}

TEST(RecentFiles, AreNeverMoreThanTheirMost) {
  const FileFolder folder;
  RecentFiles recent;
  recent.clear();
  for (int i = 0; i < RecentFiles::kMost + 3; ++i) recent.add(folder.write(QString::number(i), QByteArray("{}")));
  EXPECT_EQ(recent.paths().size(), RecentFiles::kMost);
  EXPECT_TRUE(recent.paths().front().endsWith(QString::number(RecentFiles::kMost + 2)));
}

}  // namespace
}  // namespace cohort
