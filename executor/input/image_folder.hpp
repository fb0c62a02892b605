#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace cohort {

/// One file that claims to be a JPEG; nothing of it has been read.
struct ImageFile {
  std::filesystem::path path;
  std::uint32_t label = 0;  ///< position in ImageFolder::classes
};

/// JPEGs labelled by the sub-folder they lie in: FOLDER/<class>/<image>.jpg.
struct ImageFolder {
  std::filesystem::path path;
  std::vector<std::string> classes;  ///< names of the sub-folders that hold images, sorted by bytes
  std::vector<ImageFile> images;     ///< by class, then file name: the same order on every machine
};

/// Lists the files named .jpg or .jpeg (any case) in the sub-folders of `path`; hidden ones are left out.
///
/// Errors: kInvalidInput naming the folder if it is missing, not a folder, not readable, or holds no
/// such file; the message says what was expected.
Result<ImageFolder> scan_image_folder(const std::filesystem::path& path);

}  // namespace cohort
