#include "base/cuda_libraries.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>
#include <string>
#include <system_error>

namespace cohort {
namespace {

namespace fs = std::filesystem;

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

/// Subfolders of `folder` whose names begin with `prefix`, by name.
std::vector<fs::path> subfolders(const fs::path& folder, std::string_view prefix) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    std::error_code ignored;
    if (entry->is_directory(ignored) && entry->path().filename().string().starts_with(prefix))
      found.push_back(entry->path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

/// Where the Pythons on the PATH are installed: environments that were not activated, too.
std::vector<fs::path> python_prefixes() {
  std::vector<fs::path> prefixes;
  const std::string path = environment("PATH");
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find(':', begin), path.size());
    const fs::path folder = path.substr(begin, end - begin);
    begin = end + 1;
    std::error_code ignored;
    if (folder.is_absolute() && fs::exists(folder / "python3", ignored)) prefixes.push_back(folder.parent_path());
  }
  return prefixes;
}

class Folders {
 public:
  void add(const fs::path& folder) {
    std::error_code ignored;
    if (folder.empty() || !fs::is_directory(folder, ignored)) return;
    if (std::find(folders_.begin(), folders_.end(), folder) == folders_.end()) folders_.push_back(folder);
  }
  void add_toolkit(const fs::path& root) {
    if (root.empty()) return;
    add(root / "lib64");
    add(root / "lib");
    add(root / "extras" / "CUPTI" / "lib64");
  }
  /// The wheels' folders below every lib/python3* of `prefix`.
  void add_python(const fs::path& prefix) {
    for (const fs::path& python : subfolders(prefix / "lib", "python3")) {
      for (const char* packages : {"site-packages", "dist-packages"}) {
        for (const fs::path& wheel : subfolders(python / packages / "nvidia", "")) add(wheel / "lib");
      }
    }
  }
  [[nodiscard]] std::vector<fs::path> take() { return std::move(folders_); }

 private:
  std::vector<fs::path> folders_;
};

/// Of $COHORT_CUDA_LIBRARIES.
Folders named_folders() {
  Folders folders;
  const std::string given = environment("COHORT_CUDA_LIBRARIES");
  for (std::size_t begin = 0; begin <= given.size();) {
    const std::size_t end = std::min(given.find(':', begin), given.size());
    folders.add(given.substr(begin, end - begin));
    begin = end + 1;
  }
  return folders;
}

/// "9.8.0" of 90800, as cuDNN and cuBLAS count.
std::string version_text(std::size_t version) {
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

/// A library that tells its version by a function without arguments.
struct Requirement {
  std::string_view soname;
  const char* name;
  const char* version_function;
  std::size_t least;
};
constexpr std::array<Requirement, 2> kRequirements = {{
    {"libcudnn.so.9", "cuDNN", "cudnnGetVersion", 90800},
    {"libcublasLt.so.13", "cuBLASLt", "cublasLtGetVersion", 130000},
}};

Result<SharedLibrary> recent_enough(SharedLibrary library, std::string_view soname) {
  const auto* const needed = std::find_if(kRequirements.begin(), kRequirements.end(),
                                          [&](const Requirement& each) { return each.soname == soname; });
  if (needed == kRequirements.end()) return library;
  COHORT_TRY(auto* const version, library.function<std::size_t()>(needed->version_function));
  if (version() >= needed->least) return library;
  return fail(ErrorCode::kDeviceMissing, "{} {} is installed ({}), {} or later is needed; install a newer one",
              needed->name, version_text(version()), library.file().string(), version_text(needed->least));
}

}  // namespace

Result<SharedLibrary> load_driver_library(std::string_view soname) {
  auto found = SharedLibrary::open(std::string(soname), SharedLibrary::Scope::kLocal);
  // Where containers and WSL mount it; once it is loaded, others find it by its name.
  for (const char* folder : {"/usr/local/nvidia/lib64", "/usr/local/nvidia/lib", "/usr/lib/wsl/lib"}) {
    std::error_code ignored;
    if (found || !fs::exists(fs::path(folder) / soname, ignored)) continue;
    found = SharedLibrary::open(fs::path(folder) / soname, SharedLibrary::Scope::kLocal);
  }
  return found;
}

Result<void> probe_cuda_driver() {
  if (load_driver_library("libcuda.so.1")) return {};
  return fail(ErrorCode::kDeviceMissing,
              "no NVIDIA driver here: libcuda.so.1 does not load; on a machine with an NVIDIA GPU install its driver "
              "(580 or later for CUDA 13)");
}

std::vector<fs::path> cuda_library_folders() {
  Folders folders = named_folders();
  folders.add_toolkit(environment("CUDA_PATH"));
  folders.add_toolkit(environment("CUDA_HOME"));
  for (const fs::path& root : subfolders("/usr/local", "cuda")) folders.add_toolkit(root);
  const std::string home = environment("HOME");
  folders.add_python(environment("VIRTUAL_ENV"));
  for (const fs::path& prefix : python_prefixes()) folders.add_python(prefix);
  if (!home.empty()) folders.add_python(fs::path(home) / ".local");
  for (const char* prefix : {"/usr/local", "/usr", "/opt/conda"}) folders.add_python(prefix);
  return folders.take();
}

Result<SharedLibrary> load_cuda_library(std::string_view soname) {
  std::string reason, searched;
  const auto in = [&](const std::vector<fs::path>& folders) -> std::optional<SharedLibrary> {
    searched.clear();
    for (const fs::path& folder : folders) {
      searched += (searched.empty() ? "" : ", ") + folder.string();
      std::error_code ignored;
      if (!fs::exists(folder / soname, ignored)) continue;
      auto found = SharedLibrary::open(folder / soname, SharedLibrary::Scope::kGlobal);
      if (found) return *std::move(found);
      reason = found.error().message;
    }
    return std::nullopt;
  };
  if (auto named = in(named_folders().take())) return recent_enough(*std::move(named), soname);
  auto loaded = SharedLibrary::open(std::string(soname), SharedLibrary::Scope::kGlobal);
  if (loaded) return recent_enough(*std::move(loaded), soname);
  if (reason.empty()) reason = loaded.error().message;
  if (auto found = in(cuda_library_folders())) return recent_enough(*std::move(found), soname);
  return fail(ErrorCode::kDeviceMissing,
              "{} does not load ({}); looked in the system's folders and in {}; install the CUDA toolkit or NVIDIA's "
              "Python packages, or name the folder in COHORT_CUDA_LIBRARIES",
              soname, reason, searched.empty() ? "no other, as there is none" : searched);
}

Result<SharedLibrary> open_cuda_plugin(std::string_view name, std::span<const std::string_view> sonames) {
  for (const std::string_view soname : sonames) COHORT_CHECK(load_cuda_library(soname));
  return open_plugin(name);
}

}  // namespace cohort
