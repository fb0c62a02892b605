#include "executor/input/image_folder.hpp"

#include <algorithm>
#include <system_error>

#include "base/text.hpp"

namespace cohort {
namespace {

namespace fs = std::filesystem;

bool hidden(const fs::path& path) { return path.filename().native().starts_with('.'); }

bool named_as_jpeg(const fs::path& path) {
  const std::string extension = to_lower(path.extension().string());
  return extension == ".jpg" || extension == ".jpeg";
}

/// Regular files, and links to nothing: those are reported as unreadable when their turn comes,
/// instead of vanishing. Reading a pipe or a device could block for ever.
bool can_be_image(const fs::directory_entry& entry) {
  std::error_code error;
  return entry.is_regular_file(error) || (entry.is_symlink(error) && !entry.exists(error));
}

Result<std::vector<fs::directory_entry>> sorted_entries(const fs::path& folder) {
  std::error_code error;
  std::vector<fs::directory_entry> entries;
  fs::directory_iterator iterator(folder, error);
  while (!error && iterator != fs::directory_iterator()) {
    if (!hidden(iterator->path())) entries.push_back(*iterator);
    iterator.increment(error);
  }
  if (error) return fail(ErrorCode::kInvalidInput, "cannot read folder {}: {}", folder.string(), error.message());
  std::sort(entries.begin(), entries.end(),
            [](const auto& a, const auto& b) { return a.path().native() < b.path().native(); });
  return entries;
}

}  // namespace

Result<ImageFolder> scan_image_folder(const fs::path& path) {
  std::error_code error;
  if (!fs::exists(path, error)) return fail(ErrorCode::kInvalidInput, "image folder {} does not exist", path.string());
  if (!fs::is_directory(path, error))
    return fail(ErrorCode::kInvalidInput, "{} is not a folder; expected a folder with a sub-folder of JPEGs per class",
                path.string());

  ImageFolder folder{path, {}, {}};
  std::size_t loose_images = 0;
  COHORT_TRY(const auto entries, sorted_entries(path));
  for (const auto& entry : entries) {
    if (!entry.is_directory(error)) {
      if (named_as_jpeg(entry.path())) ++loose_images;
      continue;
    }
    COHORT_TRY(const auto files, sorted_entries(entry.path()));
    const auto label = static_cast<std::uint32_t>(folder.classes.size());
    const std::size_t images_before = folder.images.size();
    for (const auto& file : files)
      if (named_as_jpeg(file.path()) && can_be_image(file)) folder.images.push_back({file.path(), label});
    if (folder.images.size() > images_before) folder.classes.push_back(entry.path().filename().string());
  }
  if (!folder.images.empty()) return folder;
  if (loose_images > 0)
    return fail(ErrorCode::kInvalidInput,
                "{} holds {} JPEGs but none in a sub-folder; expected {}/<class>/<image>.jpg, a sub-folder per class",
                path.string(), loose_images, path.string());
  return fail(ErrorCode::kInvalidInput, "no JPEGs in {}; expected {}/<class>/<image>.jpg, a sub-folder per class",
              path.string(), path.string());
}

}  // namespace cohort
