#include "base/plugin.hpp"

#include <dlfcn.h>
#include <link.h>

#include <cstdlib>
#include <system_error>

namespace cohort {
namespace {

std::string loader_reason() {
  const char* reason = ::dlerror();
  return reason != nullptr ? reason : "no reason given";
}

}  // namespace

Result<SharedLibrary> SharedLibrary::open(const std::filesystem::path& file, Scope scope) {
  const int visibility = scope == Scope::kGlobal ? RTLD_GLOBAL : RTLD_LOCAL;
  void* const handle = ::dlopen(file.c_str(), RTLD_NOW | RTLD_NODELETE | visibility);
  if (handle == nullptr) return fail(ErrorCode::kDeviceMissing, "{}", loader_reason());
  return SharedLibrary(handle, file.string());
}

Result<void*> SharedLibrary::symbol(const char* name) const {
  void* const address = ::dlsym(handle_, name);
  if (address == nullptr) return fail(ErrorCode::kDeviceMissing, "{} has no function {}", name_, name);
  return address;
}

std::filesystem::path SharedLibrary::file() const {
  const link_map* map = nullptr;
  if (::dlinfo(handle_, RTLD_DI_LINKMAP, static_cast<void*>(&map)) != 0 || map == nullptr) return name_;
  return map->l_name;
}

std::filesystem::path plugin_folder() {
  const char* given = std::getenv("COHORT_PLUGINS");
  if (given != nullptr && *given != '\0') return given;
  std::error_code ignored;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", ignored);
  return program.parent_path().parent_path() / "lib" / "cohort";
}

Result<SharedLibrary> open_plugin(std::string_view name) {
  const std::filesystem::path file = plugin_folder() / fmt::format("libcohort_{}.so", name);
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored)) {
    return fail(ErrorCode::kDeviceMissing,
                "no plugin {}: this build has no CUDA parts (build with a CUDA toolkit, see scripts/install-cuda), or "
                "set COHORT_PLUGINS to their folder",
                file.string());
  }
  COHORT_TRY(const SharedLibrary library, SharedLibrary::open(file, SharedLibrary::Scope::kLocal));
  COHORT_TRY(const auto build, library.function<const char*()>("cohort_plugin_build"));
  if (std::string_view(build()) != COHORT_BUILD) {
    return fail(ErrorCode::kDeviceMissing, "plugin {} is of another build ({}) than this program ({})", file.string(),
                build(), COHORT_BUILD);
  }
  return library;
}

}  // namespace cohort
