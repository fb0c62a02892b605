#pragma once

#include <string_view>

namespace cohort {

/// True for the few lines that stand in a checkout for a file that Git LFS keeps elsewhere.
constexpr bool is_lfs_pointer(std::string_view content) {
  return content.starts_with("version https://git-lfs.github.com/spec/");
}
inline constexpr std::string_view kLfsPointerText =
    "a Git LFS pointer, not the file itself; `git lfs pull` in its repository fetches that";

}  // namespace cohort
