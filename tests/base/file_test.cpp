#include "base/file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <iterator>
#include <string>

#include "tests/temporary_folder.hpp"

namespace cohort {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

class File : public ::testing::Test {
 protected:
  File() = default;
  ~File() override { fs::permissions(folder_, fs::perms::owner_all); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  [[nodiscard]] std::ptrdiff_t entries() const {
    return std::distance(fs::directory_iterator(folder_), fs::directory_iterator());
  }

  const TemporaryFolder temporary_;
  const fs::path& folder_ = temporary_.path();
};

TEST_F(File, IsReadBackAsItWasWritten) {
  const std::string content("line\n\0\xff tail", 12);
  ASSERT_TRUE(write_file(folder_ / "a", content, Overwrite::kNever));
  const auto read = read_file(folder_ / "a");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, content);
  EXPECT_EQ(entries(), 1);
}

TEST_F(File, OfManyChunksIsReadWhole) {
  std::string content(1'000'003, 'x');
  content.back() = 'y';
  ASSERT_TRUE(write_file(folder_ / "a", content, Overwrite::kNever));
  EXPECT_EQ(read_file(folder_ / "a").value(), content);
}

TEST_F(File, IsNotOverwrittenUnasked) {
  ASSERT_TRUE(write_file(folder_ / "a", "first", Overwrite::kNever));
  const auto refused = write_file(folder_ / "a", "second", Overwrite::kNever);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalidInput);
  EXPECT_THAT(refused.error().message, HasSubstr("exists already; give -f"));
  EXPECT_EQ(read_file(folder_ / "a").value(), "first");
  ASSERT_TRUE(write_file(folder_ / "a", "second", Overwrite::kAllow));
  EXPECT_EQ(read_file(folder_ / "a").value(), "second");
  EXPECT_EQ(entries(), 1);
}

TEST_F(File, HasThePermissionsThatTheUmaskAllowsOrItsOwn) {
  const mode_t before = ::umask(0027);
  EXPECT_TRUE(write_file(folder_ / "a", "first", Overwrite::kNever));
  EXPECT_EQ(fs::status(folder_ / "a").permissions(), fs::perms(0640));
  fs::permissions(folder_ / "a", fs::perms(0604));
  EXPECT_TRUE(write_file(folder_ / "a", "second", Overwrite::kAllow));
  EXPECT_EQ(fs::status(folder_ / "a").permissions(), fs::perms(0604));
  ::umask(before);
}

TEST_F(File, OfALinkIsWhatItLeadsTo) {
  temporary_.write("end/a", "first");
  fs::create_symlink("end/a", folder_ / "a");
  fs::create_symlink("a", folder_ / "b");
  EXPECT_FALSE(write_file(folder_ / "b", "second", Overwrite::kNever));
  ASSERT_TRUE(write_file(folder_ / "b", "second", Overwrite::kAllow));
  EXPECT_TRUE(fs::is_symlink(folder_ / "a"));
  EXPECT_TRUE(fs::is_symlink(folder_ / "b"));
  EXPECT_EQ(read_file(folder_ / "end/a").value(), "second");
  fs::create_symlink("end/new", folder_ / "c");
  ASSERT_TRUE(write_file(folder_ / "c", "third", Overwrite::kNever));
  EXPECT_EQ(read_file(folder_ / "end/new").value(), "third");
  EXPECT_EQ(entries(), 4);
  fs::create_symlink("end/other", folder_ / "e");
  fs::create_symlink("end/other", folder_ / "f");
  PendingFiles both(Overwrite::kNever);
  EXPECT_TRUE(both.add(folder_ / "e", "x"));
  EXPECT_FALSE(both.add(folder_ / "f", "y"));
  fs::create_symlink("gone/new", folder_ / "d");
  const auto refused = check_writable(folder_ / "d", Overwrite::kNever);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("gone"));
}

TEST_F(File, ThatIsOpenAlreadyIsWrittenInPlace) {
  const fs::path file = folder_ / "a";
  const int fd = ::open(file.c_str(), O_CREAT | O_WRONLY, 0644);
  ASSERT_GE(fd, 0);
  ASSERT_EQ(::write(fd, "line\n", 5), 5);
  const fs::path open_one = fmt::format("/proc/self/fd/{}", fd);
  fs::create_symlink(open_one, folder_ / "stdout");
  EXPECT_TRUE(write_file(open_one, "first", Overwrite::kNever));
  EXPECT_TRUE(write_file(folder_ / "stdout", "second", Overwrite::kNever));
  EXPECT_TRUE(write_file(fmt::format("/dev/fd/{}", fd), "third", Overwrite::kNever));
  ASSERT_EQ(::write(fd, "\nline", 5), 5) << "behind it";
  ::close(fd);
  EXPECT_EQ(read_file(file).value(), "line\nfirstsecondthird\nline");
  // By way of /proc, but none that is open.
  const fs::path by_root = fs::path("/proc/self/root") / file.relative_path();
  EXPECT_FALSE(write_file(by_root, "other", Overwrite::kNever));
  EXPECT_TRUE(write_file(by_root, "other", Overwrite::kAllow));
  EXPECT_EQ(read_file(file).value(), "other");
}

TEST_F(File, NamesAFolderThatIsMissing) {
  const auto refused = write_file(folder_ / "none" / "a", "x", Overwrite::kNever);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr((folder_ / "none").string()));
  EXPECT_THAT(refused.error().message, HasSubstr("No such file or directory"));
  EXPECT_FALSE(check_writable(folder_ / "none" / "a", Overwrite::kAllow));
}

TEST_F(File, NamesAFileThatStandsForAFolder) {
  ASSERT_TRUE(write_file(folder_ / "a", "x", Overwrite::kNever));
  const auto refused = check_writable(folder_ / "a" / "b", Overwrite::kNever);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr((folder_ / "a").string() + " is a file, no folder"));
}

TEST_F(File, RefusesAFolderAsTarget) {
  const auto refused = write_file(folder_, "x", Overwrite::kAllow);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("it is a folder"));
}

TEST_F(File, RefusesAFolderThatCannotBeWritten) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may write anywhere";
  fs::permissions(folder_, fs::perms::owner_read | fs::perms::owner_exec);
  const auto refused = check_writable(folder_ / "a", Overwrite::kNever);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("Permission denied"));
}

TEST_F(File, IsNotCreatedByACheck) {
  EXPECT_TRUE(check_writable(folder_ / "a", Overwrite::kNever));
  EXPECT_EQ(entries(), 0);
}

TEST_F(File, LeavesNothingBehindWhenItsTargetCannotBeReplaced) {
  fs::create_directories(folder_ / "taken" / "inside");
  EXPECT_FALSE(write_file(folder_ / "taken", "x", Overwrite::kAllow));
  EXPECT_EQ(entries(), 1);
}

TEST_F(File, WrittenWithOthersIsInItsPlaceOnlyWithThem) {
  ASSERT_TRUE(write_file(folder_ / "old", "old", Overwrite::kNever));
  {
    PendingFiles files(Overwrite::kAllow);
    ASSERT_TRUE(files.add(folder_ / "old", "new"));
    ASSERT_TRUE(files.make_folder(folder_ / "more" / "deep"));
    ASSERT_TRUE(files.add(folder_ / "more" / "deep" / "a", "a"));
    EXPECT_EQ(read_file(folder_ / "old").value(), "old");
    EXPECT_FALSE(fs::exists(folder_ / "more" / "deep" / "a"));
    ASSERT_TRUE(files.commit());
  }
  EXPECT_EQ(read_file(folder_ / "old").value(), "new");
  EXPECT_EQ(read_file(folder_ / "more" / "deep" / "a").value(), "a");
  EXPECT_EQ(entries(), 2);
}

TEST_F(File, LeavesNothingWhereOneOfThoseWithItIsNotWritten) {
  ASSERT_TRUE(write_file(folder_ / "old", "old", Overwrite::kNever));
  {
    PendingFiles files(Overwrite::kAllow);
    ASSERT_TRUE(files.add(folder_ / "old", "new"));
    ASSERT_TRUE(files.make_folder(folder_ / "more" / "deep"));
    ASSERT_TRUE(files.add(folder_ / "more" / "deep" / "a", "a"));
    EXPECT_FALSE(files.add(folder_ / "missing" / "b", "b"));
  }
  EXPECT_EQ(read_file(folder_ / "old").value(), "old");
  EXPECT_EQ(entries(), 1) << "folders that were made for it are gone, too";
}

TEST_F(File, IsNotCommittedOverOneThatCameMeanwhile) {
  PendingFiles files(Overwrite::kNever);
  ASSERT_TRUE(files.add(folder_ / "a", "a"));
  ASSERT_TRUE(files.add(folder_ / "b", "b"));
  ASSERT_TRUE(write_file(folder_ / "b", "another's", Overwrite::kNever));
  const auto refused = files.commit();
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("b exists already; give -f"));
  EXPECT_FALSE(fs::exists(folder_ / "a"));
  EXPECT_EQ(read_file(folder_ / "b").value(), "another's");
}

TEST_F(File, IsNotAddedTwice) {
  for (const Overwrite overwrite : {Overwrite::kNever, Overwrite::kAllow}) {
    PendingFiles files(overwrite);
    ASSERT_TRUE(files.add(folder_ / "a", "a"));
    const auto refused = files.add(folder_ / "." / "a", "b");
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message, HasSubstr("would be written twice"));
  }
}

TEST_F(File, LeavesNoTemporaryWhereTheProgramEndsAtOnce) {
  PendingFiles files(Overwrite::kNever);
  for (const char* const name : {"a", "b", "c"}) ASSERT_TRUE(files.add(folder_ / name, name));
  ASSERT_TRUE(write_file(folder_ / "done", "done", Overwrite::kNever));
  EXPECT_EQ(entries(), 4);
  remove_temporaries();
  EXPECT_EQ(entries(), 1);
  EXPECT_FALSE(files.commit());
  EXPECT_EQ(read_file(folder_ / "done").value(), "done");
}

TEST_F(File, IsGivenOnlyFoldersThatCanBeMade) {
  ASSERT_TRUE(write_file(folder_ / "a", "x", Overwrite::kNever));
  MadeFolders folders;
  for (const fs::path& path : {folder_ / "a", folder_ / "a" / "b"}) {
    const auto refused = folders.make(path);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().message, "cannot make folder " + path.string() + ": Not a directory");
  }
  EXPECT_TRUE(folders.make(folder_));
}

TEST_F(File, KeepsFoldersThatHoldSomething) {
  fs::create_directory(folder_ / "mine");
  {
    MadeFolders folders;
    ASSERT_TRUE(folders.make(folder_ / "mine"));
    ASSERT_TRUE(folders.make(folder_ / "full" / "empty"));
    ASSERT_TRUE(write_file(folder_ / "full" / "a", "x", Overwrite::kNever));
  }
  EXPECT_TRUE(fs::exists(folder_ / "mine")) << "which was there before";
  EXPECT_TRUE(fs::exists(folder_ / "full" / "a"));
  EXPECT_FALSE(fs::exists(folder_ / "full" / "empty"));
}

TEST(FullDisk, IsNamedAndTheDeviceStays) {
  const fs::path full("/dev/full");
  if (!fs::is_character_file(full)) GTEST_SKIP() << "no " << full;
  const auto refused = write_file(full, "x", Overwrite::kNever);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "cannot write /dev/full: No space left on device");
  EXPECT_TRUE(fs::is_character_file(full));
}

TEST(Device, IsWrittenInPlace) {
  const fs::path null("/dev/null");
  if (!fs::is_character_file(null)) GTEST_SKIP() << "no " << null;
  EXPECT_TRUE(write_file(null, "x", Overwrite::kNever));
  EXPECT_TRUE(fs::is_character_file(null));
}

TEST_F(File, NamesWhatCannotBeRead) {
  const auto missing = read_file(folder_ / "missing");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::kInvalidInput);
  EXPECT_THAT(missing.error().message, HasSubstr("missing: No such file or directory"));
  const auto folder = read_file(folder_);
  ASSERT_FALSE(folder);
  EXPECT_THAT(folder.error().message, HasSubstr("Is a directory"));
}

}  // namespace
}  // namespace cohort
