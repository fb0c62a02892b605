#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace cohort {

/// A library opened at run time. Never closed again: libraries of CUDA do not outlive that well.
class SharedLibrary {
 public:
  enum class Scope { kLocal, kGlobal };

  /// Opens `file`; a bare name is looked for where the system's loader looks.
  /// Errors: kDeviceMissing with the loader's reason.
  static Result<SharedLibrary> open(const std::filesystem::path& file, Scope scope);

  /// A function by its C name, as a pointer to `Function`.
  /// Errors: kDeviceMissing naming library and function.
  template <class Function>
  [[nodiscard]] Result<Function*> function(const char* name) const {
    COHORT_TRY(void* const address, symbol(name));
    return reinterpret_cast<Function*>(address);
  }
  /// The same, into a pointer that says what `Function` is.
  template <class Function>
  Result<void> find(const char* name, Function*& pointer) const {
    COHORT_TRY(pointer, function<Function>(name));
    return {};
  }
  /// The file it came from, as the loader sees it.
  [[nodiscard]] std::filesystem::path file() const;

 private:
  SharedLibrary(void* handle, std::string name) : handle_(handle), name_(std::move(name)) {}
  [[nodiscard]] Result<void*> symbol(const char* name) const;

  void* handle_;
  std::string name_;
};

/// Where plugins are: $COHORT_PLUGINS, else lib/cohort beside the folder of the program.
std::filesystem::path plugin_folder();

/// Opens the plugin `name` ("cuda": libcohort_cuda.so), which must be of this very build, since C++
/// types cross its border. Libraries it needs must have been loaded (base/cuda_libraries.hpp).
/// Errors: kDeviceMissing where it is not there, does not load, or is of another build.
Result<SharedLibrary> open_plugin(std::string_view name);

}  // namespace cohort

/// Marks what a plugin shows: `extern "C" COHORT_PLUGIN_EXPORT`.
#define COHORT_PLUGIN_EXPORT __attribute__((visibility("default")))
