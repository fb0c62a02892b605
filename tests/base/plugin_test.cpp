#include "base/plugin.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/cuda_libraries.hpp"
#include "tests/temporary_folder.hpp"

namespace cohort {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

/// A folder of its own and environment variables that are put back.
class Plugins : public ::testing::Test {
 protected:
  Plugins() = default;
  ~Plugins() override {
    for (const char* name : {"COHORT_PLUGINS", "COHORT_CUDA_LIBRARIES", "VIRTUAL_ENV"}) ::unsetenv(name);
  }
  Plugins(const Plugins&) = delete;
  Plugins& operator=(const Plugins&) = delete;

  const TemporaryFolder temporary_;
  const std::filesystem::path& folder_ = temporary_.path();
};

TEST_F(Plugins, AreLookedForBesideTheProgramUnlessAFolderIsGiven) {
  const auto program = std::filesystem::read_symlink("/proc/self/exe");
  EXPECT_EQ(plugin_folder(), program.parent_path().parent_path() / "lib" / "cohort");
  ::setenv("COHORT_PLUGINS", folder_.c_str(), 1);
  EXPECT_EQ(plugin_folder(), folder_);
}

TEST_F(Plugins, ThatAreNotThereAreNamedWithTheirFile) {
  ::setenv("COHORT_PLUGINS", folder_.c_str(), 1);
  const auto opened = open_plugin("cuda");
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, ErrorCode::kDeviceMissing);
  EXPECT_THAT(opened.error().message, HasSubstr((folder_ / "libcohort_cuda.so").string()));
}

TEST_F(Plugins, ThatAreNoLibrariesAreRefused) {
  ::setenv("COHORT_PLUGINS", folder_.c_str(), 1);
  std::ofstream(folder_ / "libcohort_cuda.so") << "no library";
  const auto opened = open_plugin("cuda");
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, ErrorCode::kDeviceMissing);
}

TEST_F(Plugins, ThatDoNotSayWhichBuildTheyAreOfAreRefused) {
  ::setenv("COHORT_PLUGINS", folder_.c_str(), 1);
  const auto other = SharedLibrary::open("libdl.so.2", SharedLibrary::Scope::kLocal);
  if (!other) GTEST_SKIP() << "no libdl.so.2 to stand in for a foreign library";
  std::filesystem::create_symlink(other->file(), folder_ / "libcohort_foreign.so");
  const auto opened = open_plugin("foreign");
  ASSERT_FALSE(opened);
  EXPECT_THAT(opened.error().message, HasSubstr("cohort_plugin_build"));
}

TEST_F(Plugins, CallFunctionsOfALibraryByName) {
  const auto library = SharedLibrary::open("libc.so.6", SharedLibrary::Scope::kLocal);
  ASSERT_TRUE(library) << library.error().message;
  const auto absolute = library->function<int(int)>("abs");
  ASSERT_TRUE(absolute) << absolute.error().message;
  EXPECT_EQ((*absolute)(-3), 3);
  EXPECT_FALSE(library->function<int(int)>("no_such_function"));
}

TEST_F(Plugins, FindCudasLibrariesInGivenFoldersAndPythonPackages) {
  const auto wheels = folder_ / "venv" / "lib" / "python3.12" / "site-packages" / "nvidia";
  std::filesystem::create_directories(wheels / "cudnn" / "lib");
  std::filesystem::create_directories(wheels / "cu13" / "lib");
  std::filesystem::create_directories(wheels / "no_library");
  ::setenv("VIRTUAL_ENV", (folder_ / "venv").c_str(), 1);
  ::setenv("COHORT_CUDA_LIBRARIES", (folder_.string() + ":" + (folder_ / "missing").string()).c_str(), 1);
  const auto folders = cuda_library_folders();
  ASSERT_FALSE(folders.empty());
  EXPECT_EQ(folders.front(), folder_);
  EXPECT_THAT(folders, Contains(wheels / "cudnn" / "lib"));
  EXPECT_THAT(folders, Contains(wheels / "cu13" / "lib"));
  EXPECT_THAT(folders, Not(Contains(folder_ / "missing")));
  EXPECT_THAT(folders, Not(Contains(wheels / "no_library" / "lib")));
}

TEST_F(Plugins, FindCudasLibrariesOfAPythonOnThePathThatWasNotActivated) {
  const auto wheel = folder_ / "env" / "lib" / "python3.12" / "site-packages" / "nvidia" / "cu13" / "lib";
  std::filesystem::create_directories(wheel);
  std::filesystem::create_directories(folder_ / "env" / "bin");
  std::ofstream(folder_ / "env" / "bin" / "python3") << "#!";
  const char* const before = std::getenv("PATH");
  const std::string path = before != nullptr ? before : "";
  ::setenv("PATH", ("relative:" + (folder_ / "env" / "bin").string() + ":" + path).c_str(), 1);
  EXPECT_THAT(cuda_library_folders(), Contains(wheel));
  ::setenv("PATH", path.c_str(), 1);
}

TEST_F(Plugins, TakeALibraryFromAGivenFolderEvenWhereTheSystemHasIt) {
  const auto of_system = SharedLibrary::open("libsqlite3.so.0", SharedLibrary::Scope::kLocal);
  ASSERT_TRUE(of_system) << of_system.error().message;
  std::filesystem::copy_file(of_system->file(), folder_ / "libsqlite3.so.0");
  ::setenv("COHORT_CUDA_LIBRARIES", folder_.c_str(), 1);
  const auto loaded = load_cuda_library("libsqlite3.so.0");
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(loaded->file(), folder_ / "libsqlite3.so.0");
}

TEST_F(Plugins, NameEveryFolderWhereALibraryOfCudaWasLookedFor) {
  ::setenv("COHORT_CUDA_LIBRARIES", folder_.c_str(), 1);
  const auto loaded = load_cuda_library("libcohort_no_such_library.so.1");
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code, ErrorCode::kDeviceMissing);
  EXPECT_THAT(loaded.error().message, HasSubstr("libcohort_no_such_library.so.1"));
  EXPECT_THAT(loaded.error().message, HasSubstr(folder_.string()));
}

}  // namespace
}  // namespace cohort
