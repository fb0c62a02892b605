#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.hpp"

// fuzz_NAME_replay [--mutants N] [--seconds S] [--save FILE] PATH...: runs a fuzz target without libFuzzer on files, on
// all files of folders, and on N mutants of each, as many as S seconds allow. The n-th mutant of a corpus is the same
// in every run; FILE holds the one that was run last.

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

struct Input {
  std::string name;
  std::string bytes;
};

void add_files(const std::filesystem::path& path, std::vector<Input>& inputs) {
  std::vector<std::filesystem::path> files;
  if (std::filesystem::is_directory(path)) {
    for (const auto& entry : std::filesystem::directory_iterator(path)) files.push_back(entry.path());
    std::sort(files.begin(), files.end());
  } else {
    files.push_back(path);
  }
  for (const std::filesystem::path& name : files) {
    std::ifstream file(name, std::ios::binary);
    inputs.push_back({name.filename().string(), {std::istreambuf_iterator<char>(file), {}}});
  }
}

/// What formats of text and numbers break on: other bytes, parts missing, twice or from another file, extreme numbers.
std::string mutant_of(const std::vector<Input>& inputs, std::size_t index, std::uint64_t number) {
  static constexpr std::string_view kExtremes[] = {
      "0", "-1", "9223372036854775807", "-9223372036854775808", "1e308", "4294967296", "null", "{}", "\"\""};
  cohort::Random random(cohort::derive_seed(index, number));
  std::string bytes = inputs[index].bytes;
  for (std::uint64_t changes = 1 + random.below(4); changes > 0 && !bytes.empty(); --changes) {
    const std::size_t at = random.below(bytes.size());
    const std::size_t length = 1 + random.below(std::min<std::size_t>(bytes.size() - at, 64));
    switch (random.below(6)) {
      case 0:
        bytes[at] = static_cast<char>(random.below(256));
        break;
      case 1:
        bytes.erase(at, length);
        break;
      case 2:
        bytes.insert(at, bytes.substr(at, length));
        break;
      case 3: {
        const std::string& other = inputs[random.below(inputs.size())].bytes;
        if (!other.empty()) bytes.insert(at, other.substr(random.below(other.size()), length));
        break;
      }
      case 4: {
        const std::size_t digit = bytes.find_first_of("0123456789", at);
        if (digit == std::string::npos) break;
        const std::size_t end = std::min(bytes.find_first_not_of("0123456789.", digit), bytes.size());
        bytes.replace(digit, end - digit, kExtremes[random.below(std::size(kExtremes))]);
        break;
      }
      default:
        if (random.below(4) == 0) bytes.resize(at);
        break;
    }
  }
  return bytes;
}

void run(const std::string& bytes) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
}

}  // namespace

int main(int argc, char** argv) {
  using Clock = std::chrono::steady_clock;
  std::uint64_t mutants = 0;
  std::chrono::seconds most(0);
  std::filesystem::path save;
  std::vector<Input> inputs;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--mutants" && i + 1 < argc) {
      mutants = std::strtoull(argv[++i], nullptr, 10);
    } else if (word == "--seconds" && i + 1 < argc) {
      most = std::chrono::seconds(std::strtoll(argv[++i], nullptr, 10));
    } else if (word == "--save" && i + 1 < argc) {
      save = argv[++i];
    } else {
      add_files(argv[i], inputs);
    }
  }
  for (const Input& input : inputs) {
    std::printf("%s\n", input.name.c_str());
    std::fflush(stdout);  // names the file that does not come back
    run(input.bytes);
  }
  const Clock::time_point begin = Clock::now();
  std::uint64_t run_mutants = 0;
  for (std::uint64_t number = 0; number < mutants; ++number) {
    for (std::size_t index = 0; index < inputs.size() && Clock::now() - begin < most; ++index) {
      std::printf("mutant %llu of %s\n", static_cast<unsigned long long>(number), inputs[index].name.c_str());
      std::fflush(stdout);
      const std::string bytes = mutant_of(inputs, index, number);
      if (!save.empty()) std::ofstream(save, std::ios::binary) << bytes;
      run(bytes);
      ++run_mutants;
    }
  }
  std::printf("%zu files, %llu mutants\n", inputs.size(), static_cast<unsigned long long>(run_mutants));
  return inputs.empty() ? 1 : 0;
}
