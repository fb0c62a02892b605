#include "gui/files/open_files.hpp"

#include <gmock/gmock.h>

#include <QAbstractItemModelTester>
#include <QSignalSpy>
#include <QTest>
#include <QTimer>

#include "tests/gui/small_files.hpp"

namespace cohort {
namespace {

using ::testing::HasSubstr;

class OpenFilesTest : public ::testing::Test {
 protected:
  OpenFilesTest() {
    files.set_quiet_time(std::chrono::milliseconds(20));
    QObject::connect(&files, &OpenFiles::failed, &files,
                     [this](const QString&, const Error& error) { failures.push_back(error); });
  }

  void open(const QStringList& paths) {
    files.open(paths);
    ASSERT_TRUE(QTest::qWaitFor([this] { return !files.is_loading(); }, 20000));
  }

  [[nodiscard]] std::size_t slices_of(const QString& path) const {
    for (const OpenFile& file : files.contents()) {
      if (file.path == path && file.trace) return file.trace->slices.size();
    }
    return 0;
  }

  bool becomes(const QString& path, FileStage stage) {
    return QTest::qWaitFor([&] { return files.stage(path) == stage && !files.is_loading(); }, 20000);
  }

  bool comes_to_hold(const QString& path, std::size_t slices) {
    return QTest::qWaitFor([&] { return slices_of(path) == slices; }, 20000);
  }

  FileFolder folder;
  OpenFiles files;
  QAbstractItemModelTester tester{&files, QAbstractItemModelTester::FailureReportingMode::Fatal};
  std::vector<Error> failures;
};

TEST_F(OpenFilesTest, AreReadInTheBackgroundInTheOrderAskedFor) {
  const QString a = folder.write_trace_of("a.json", 3);
  const QString b = folder.write_trace_of("b.json.gz", 5);
  const QString plan = folder.write("c.plan.json", small_plan());
  QSignalSpy opened(&files, &OpenFiles::opened);
  files.open({a, b, plan});
  EXPECT_TRUE(files.is_loading());
  EXPECT_TRUE(files.contents().empty());
  EXPECT_EQ(files.rowCount(), 3);
  ASSERT_TRUE(QTest::qWaitFor([this] { return !files.is_loading(); }, 20000));
  EXPECT_EQ(opened.count(), 3);
  const auto contents = files.contents();
  ASSERT_EQ(contents.size(), 3U);
  EXPECT_EQ(contents[0].path, a);
  EXPECT_EQ(contents[1].trace->slices.size(), 5U);
  EXPECT_NE(contents[2].plan, nullptr);
}

TEST_F(OpenFilesTest, AreOpenOnceEach) {
  const QString a = folder.write_trace_of("a.json", 3);
  open({a, a});
  const auto trace = files.contents().front().trace;
  open({folder.path("./a.json")});
  EXPECT_EQ(files.rowCount(), 1);
  EXPECT_EQ(files.contents().front().trace, trace);
}

TEST_F(OpenFilesTest, KeepTheOthersBesideABrokenOne) {
  const QString good = folder.write_trace_of("good.json", 3);
  const QString bad = folder.write("bad.json", QByteArray("GIF89a"));
  open({bad, good});
  EXPECT_EQ(files.stage(bad), FileStage::kBroken);
  EXPECT_EQ(slices_of(good), 3U);
  ASSERT_EQ(failures.size(), 1U);
  EXPECT_EQ(failures[0].code, ErrorCode::kInvalidInput);
  EXPECT_THAT(failures[0].message, HasSubstr("bad.json: not a trace"));
  EXPECT_EQ(files.index(0).data(OpenFiles::kMessage).toString().toStdString(), failures[0].message);
}

TEST_F(OpenFilesTest, ReadABrokenFileAgainWhenItIsMended) {
  const QString path = folder.write("a.json", QByteArray("GIF89a"));
  open({path});
  QSignalSpy mended(&files, &OpenFiles::mended);
  QSignalSpy opened(&files, &OpenFiles::opened);
  folder.write_trace_of("a.json", 4);
  ASSERT_TRUE(becomes(path, FileStage::kOpen));
  EXPECT_EQ(slices_of(path), 4U);
  EXPECT_EQ(mended.count(), 1);
  EXPECT_EQ(opened.count(), 1);
}

TEST_F(OpenFilesTest, SayAgainWhatIsWrongWithAFileThatIsOpenedAgain) {
  const QString path = folder.write("a.json", QByteArray("GIF89a"));
  open({path});
  open({path});
  ASSERT_TRUE(becomes(path, FileStage::kBroken));
  ASSERT_EQ(failures.size(), 2U);
  EXPECT_EQ(failures[0].message, failures[1].message);
}

TEST_F(OpenFilesTest, AreReadAgainThoughOthersInTheirFolderChangeAllTheTime) {
  const QString a = folder.write_trace_of("a.json", 3);
  open({a});
  QTimer busy;
  int number = 0;
  QObject::connect(&busy, &QTimer::timeout, &files,
                   [&] { folder.write(QStringLiteral("%1.log").arg(++number), QByteArray("line")); });
  busy.start(5);
  folder.write_trace_of("a.json", 7);
  EXPECT_TRUE(QTest::qWaitFor([&] { return slices_of(a) == 7; }, 3000));
}

TEST_F(OpenFilesTest, AreReadAgainWhenTheyChange) {
  const QString a = folder.write_trace_of("a.json", 3);
  const QString b = folder.write_trace_of("b.json", 2);
  open({a, b});
  const auto kept = files.contents()[1].trace;
  folder.write_trace_of("a.json", 7);
  EXPECT_TRUE(comes_to_hold(a, 7));
  EXPECT_EQ(files.contents()[1].trace, kept);
  // And once more, by a file that is renamed into its place.
  const QString other = folder.write_trace_of("new.json", 9);
  ASSERT_EQ(std::rename(other.toStdString().c_str(), a.toStdString().c_str()), 0);
  EXPECT_TRUE(comes_to_hold(a, 9));
  folder.write_trace_of("a.json", 11);
  EXPECT_TRUE(comes_to_hold(a, 11));
  EXPECT_TRUE(failures.empty());
}

TEST_F(OpenFilesTest, KeepWhatAFileHeldThatVanishesUntilItIsBack) {
  const QString path = folder.write_trace_of("a.json", 3);
  open({path});
  QFile::remove(path);
  ASSERT_TRUE(becomes(path, FileStage::kKept));
  EXPECT_EQ(slices_of(path), 3U);
  ASSERT_EQ(failures.size(), 1U);
  EXPECT_THAT(failures[0].message, HasSubstr("is gone from disk"));
  QSignalSpy mended(&files, &OpenFiles::mended);
  folder.write_trace_of("a.json", 5);
  ASSERT_TRUE(becomes(path, FileStage::kOpen));
  EXPECT_EQ(slices_of(path), 5U);
  EXPECT_EQ(mended.count(), 1);
}

TEST_F(OpenFilesTest, KeepWhatAFileHeldThatIsCut) {
  const QString ours = folder.write_trace_of("ours.json.gz", 300);
  const QByteArray foreign =
      "{\"traceEvents\":[\n"
      "{\"ph\":\"X\",\"name\":\"a\",\"ts\":1,\"dur\":2,\"pid\":1,\"tid\":1},\n"
      "{\"ph\":\"X\",\"name\":\"b\",\"ts\":4,\"dur\":2,\"pid\":1,\"tid\":1}\n]}\n";
  const QString theirs = folder.write("theirs.json", foreign);
  open({ours, theirs});
  ASSERT_EQ(slices_of(theirs), 2U);
  ASSERT_TRUE(QFile::resize(ours, QFile(ours).size() / 2));
  folder.write("theirs.json", foreign.left(foreign.size() / 2 + 20));
  ASSERT_TRUE(becomes(ours, FileStage::kKept));
  ASSERT_TRUE(becomes(theirs, FileStage::kKept));
  EXPECT_EQ(slices_of(ours), 300U);
  EXPECT_EQ(slices_of(theirs), 2U);
  ASSERT_EQ(failures.size(), 2U);
  for (const Error& error : failures) EXPECT_THAT(error.message, HasSubstr("cut short"));
}

TEST_F(OpenFilesTest, CanBeCancelledOneByOne) {
  const QString large = folder.write_trace_of("large.json", 200000);
  const QString small = folder.write_trace_of("small.json", 3);
  files.open({large, small});
  files.cancel(large);
  EXPECT_EQ(files.paths(), QStringList({small}));
  ASSERT_TRUE(QTest::qWaitFor([this] { return !files.is_loading(); }, 20000));
  EXPECT_EQ(slices_of(small), 3U);
  EXPECT_TRUE(failures.empty());
  // One that is read again keeps what it had.
  files.reload(small);
  files.cancel(small);
  EXPECT_EQ(files.stage(small), FileStage::kOpen);
  EXPECT_EQ(slices_of(small), 3U);
}

TEST_F(OpenFilesTest, TellHowFarEachIsRead) {
  files.open({folder.write_trace_of("large.json", 200000)});
  double most = 0;
  QObject::connect(&files, &QAbstractItemModel::dataChanged, &files, [&](const QModelIndex& index) {
    if (!index.data(OpenFiles::kProgress).isValid()) return;  // not known yet, or done
    const double part = index.data(OpenFiles::kProgress).toDouble();
    EXPECT_GE(part, most);
    most = std::max(most, part);
  });
  EXPECT_TRUE(files.index(0).data(OpenFiles::kIsLoading).toBool());
  ASSERT_TRUE(QTest::qWaitFor([this] { return !files.is_loading(); }, 60000));
  EXPECT_LE(most, 1);
  EXPECT_FALSE(files.index(0).data(OpenFiles::kIsLoading).toBool());
}

TEST_F(OpenFilesTest, AreForgottenWhenClosed) {
  const QString a = folder.write_trace_of("a.json", 3);
  const QString bad = folder.write("bad.json", QByteArray("GIF89a"));
  open({a, bad});
  QSignalSpy mended(&files, &OpenFiles::mended);
  QSignalSpy changed(&files, &OpenFiles::contents_changed);
  files.close(bad);
  EXPECT_EQ(mended.count(), 1);
  files.close(a);
  EXPECT_EQ(changed.count(), 2);
  EXPECT_TRUE(files.contents().empty());
  files.close(a);
  EXPECT_EQ(changed.count(), 2);
}

TEST_F(OpenFilesTest, OfOneNameAreToldApartByTheirFolders) {
  QDir(folder.path(".")).mkdir("one");
  QDir(folder.path(".")).mkdir("two");
  open({folder.write_trace_of("one/a.json", 1), folder.write_trace_of("two/a.json", 2)});
  EXPECT_EQ(files.index(0).data().toString(), "one/a.json");
  files.close(folder.path("two/a.json"));
  EXPECT_EQ(files.index(0).data().toString(), "a.json");
}

}  // namespace
}  // namespace cohort
