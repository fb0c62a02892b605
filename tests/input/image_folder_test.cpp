#include "executor/input/image_folder.hpp"

#include <gmock/gmock.h>

#include "tests/input/fixture.hpp"

namespace cohort {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(ImageFolder, ListsJpegsByClassThenName) {
  const TemporaryFolder folder;
  for (const char* name : {"dog/b.jpg", "cat/z.JPEG", "dog/a.JPG", "cat/10.jpeg", "cat/notes.txt", "cat/.hidden.jpg",
                           ".git/x.jpg", "empty class/readme.md", "loose.jpg"})
    folder.write(name, "x");
  const auto scanned = scan_image_folder(folder.path());
  ASSERT_TRUE(scanned) << scanned.error().message;
  EXPECT_THAT(scanned->classes, ElementsAre("cat", "dog"));
  std::vector<std::string> listed;
  for (const ImageFile& image : scanned->images)
    listed.push_back(fmt::format("{} {}", image.label, fs::relative(image.path, folder.path()).string()));
  EXPECT_THAT(listed, ElementsAre("0 cat/10.jpeg", "0 cat/z.JPEG", "1 dog/a.JPG", "1 dog/b.jpg"));
}

TEST(ImageFolder, FollowsLinksAndKeepsThoseToNothing) {
  const TemporaryFolder folder;
  folder.write("elsewhere.bin", "x");
  fs::create_directories(folder.path() / "cat" / "folder.jpg");
  fs::create_symlink(folder.path() / "elsewhere.bin", folder.path() / "cat" / "link.jpg");
  fs::create_symlink(folder.path() / "missing", folder.path() / "cat" / "nowhere.jpg");
  const auto scanned = scan_image_folder(folder.path());
  ASSERT_TRUE(scanned);
  ASSERT_EQ(scanned->images.size(), 2U);
  EXPECT_EQ(scanned->images[0].path.filename(), "link.jpg");
  EXPECT_EQ(scanned->images[1].path.filename(), "nowhere.jpg");
}

TEST(ImageFolder, SaysWhatItExpectsWhenThereIsNoImage) {
  const TemporaryFolder folder;
  const auto empty = scan_image_folder(folder.path());
  ASSERT_FALSE(empty);
  EXPECT_EQ(empty.error().code, ErrorCode::kInvalidInput);
  EXPECT_THAT(empty.error().message, HasSubstr("no JPEGs in " + folder.path().string()));
  EXPECT_THAT(empty.error().message, HasSubstr("<class>/<image>.jpg"));

  folder.write("one.jpg", "x");
  const auto flat = scan_image_folder(folder.path());
  ASSERT_FALSE(flat);
  EXPECT_THAT(flat.error().message, HasSubstr("1 JPEGs but none in a sub-folder"));
}

TEST(ImageFolder, NamesWhatIsMissingOrNoFolder) {
  const TemporaryFolder folder;
  const auto missing = scan_image_folder(folder.path() / "nothing");
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().message, HasSubstr((folder.path() / "nothing").string() + " does not exist"));

  folder.write("file", "x");
  const auto file = scan_image_folder(folder.path() / "file");
  ASSERT_FALSE(file);
  EXPECT_THAT(file.error().message, HasSubstr("is not a folder"));
}

}  // namespace
}  // namespace cohort
