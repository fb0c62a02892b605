// Passes files through what the fuzzers call, so that what they once found stays found in every build.

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <vector>

#include "base/file.hpp"
#include "fuzz/trace_input.hpp"

int main(int argc, char** argv) {
  namespace fs = std::filesystem;
  std::vector<fs::path> files;
  for (int i = 1; i < argc; ++i) {
    for (const auto& entry : fs::directory_iterator(argv[i])) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  for (const fs::path& file : files) {
    const auto content = cohort::read_file(file);
    if (!content) {
      std::fprintf(stderr, "%s\n", content.error().message.c_str());
      return 1;
    }
    std::printf("%s\n", file.filename().c_str());
    std::fflush(stdout);
    cohort::check_trace_input(*content);
  }
  return files.empty() ? 1 : 0;
}
