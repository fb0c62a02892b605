#include <gmock/gmock.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "program.hpp"

namespace cohort {
namespace {

using nlohmann::json;
using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

class CommandLine : public ProgramTest {
 protected:
  /// Names that a help text lists under "Subcommands:".
  static std::vector<std::string> subcommands(const std::string& help) {
    std::vector<std::string> names;
    std::istringstream lines(help.substr(std::min(help.size(), help.find("Subcommands:"))));
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with("  ") && line[2] != ' ') names.push_back(line.substr(2, line.find(' ', 2) - 2));
    }
    return names;
  }

  /// The command lines under "Example:" in the help of every command below `words`, in its order.
  std::vector<std::string> examples(std::vector<std::string> words) {
    words.emplace_back("--help");
    const std::string help = cohort(words).out;
    words.pop_back();
    std::vector<std::string> lines;
    for (const std::string& name : subcommands(help)) {
      words.push_back(name);
      for (std::string& line : examples(words)) lines.push_back(std::move(line));
      words.pop_back();
    }
    std::istringstream example(help.substr(std::min(help.size(), help.find("Example:"))));
    for (std::string line; std::getline(example, line);) {
      if (line.starts_with("  cohort ")) lines.push_back(line.substr(2));
    }
    return lines;
  }

  void expect_helpful(const std::string& family, const std::string& name) {
    std::vector<std::string> words;
    if (!family.empty()) words.push_back(family);
    words.push_back(name);
    words.emplace_back("--help");
    const Outcome help = cohort(words);
    EXPECT_EQ(help.exit_code, 0) << name;
    EXPECT_THAT(help.err, IsEmpty()) << name;
    const auto nested = subcommands(help.out);
    for (const std::string& sub : nested) expect_helpful(name, sub);
    if (!nested.empty()) return;
    const std::string line = "cohort " + (family.empty() ? "" : family + " ") + name;
    EXPECT_THAT(help.out, HasSubstr("Usage: " + line)) << name;
    EXPECT_THAT(help.out.substr(std::min(help.out.size(), help.out.find("\nExample:\n  cohort "))), HasSubstr(line))
        << name;
    EXPECT_THAT(help.out, HasSubstr("--json")) << name;
    EXPECT_THAT(help.out, HasSubstr("-q,--quiet")) << name;
  }
};

TEST_F(CommandLine, EveryCommandsHelpEndsWithAnExample) {
  const Outcome help = cohort({"--help"});
  EXPECT_EQ(help.exit_code, 0);
  const auto names = subcommands(help.out);
  EXPECT_THAT(names, Contains("models"));
  EXPECT_THAT(names, Contains("trace"));
  for (const std::string& name : names) expect_helpful("", name);
}

TEST_F(CommandLine, EveryExampleWorksAsItStands) {
  // A file that an example reads stands below it.
  for (const auto& [command, file] : {std::pair("train", "sweep.toml"), std::pair("colocate", "resnet50.csv")}) {
    const std::string heading = fmt::format("\n{}:\n", file);
    const std::string help = cohort({command, "--help"}).out;
    ASSERT_NE(help.find(heading), std::string::npos) << command;
    write(file, help.substr(help.find(heading) + heading.size()));
  }
  std::set<std::string> done;  // what one writes, others read
  for (const std::string& line : examples({})) {
    if (line.starts_with("cohort calibrate")) continue;  // takes a GPU
    if (line.starts_with("cohort view")) continue;       // opens a window
    if (line.starts_with("cohort verify") && !std::filesystem::exists(line.substr(14, line.find(' ', 14) - 14)))
      continue;
    if (!done.insert(line).second) continue;
    const std::string folder = std::filesystem::path(COHORT_PROGRAM).parent_path().string();
    const Outcome outcome = execute({"/bin/sh", "-c", "PATH=" + folder + ":$PATH; " + line});
    EXPECT_EQ(outcome.exit_code, 0) << line << "\n" << outcome.err;
  }
  EXPECT_GE(done.size(), 14U);
}

TEST_F(CommandLine, TellsItsVersion) {
  const Outcome version = cohort({"--version"});
  EXPECT_EQ(version.exit_code, 0);
  EXPECT_THAT(version.out, StartsWith("cohort "));
}

struct Misuse {
  std::vector<std::string> words;
  std::string message;
};

TEST_F(CommandLine, MisuseIsExitCode2WithTheWayToHelp) {
  const std::vector<Misuse> cases = {
      {{}, "cohort: A subcommand is required\nTry 'cohort --help'.\n"},
      {{"frobnicate"}, "cohort: there is no command 'cohort frobnicate'\nTry 'cohort --help'.\n"},
      {{"trace"}, "cohort: A subcommand is required\nTry 'cohort trace --help'.\n"},
      {{"trace", "frobnicate"}, "cohort: there is no command 'cohort trace frobnicate'\nTry 'cohort trace --help'.\n"},
      {{"trace", "info"}, "cohort: FILE is required\nTry 'cohort trace info --help'.\n"},
      {{"trace", "convert", "a"}, "cohort: OUT is required\nTry 'cohort trace convert --help'.\n"},
      {{"devices", "--frobnicate"}, "--frobnicate\nTry 'cohort devices --help'.\n"},
      {{"devices", "--frobnicate", "3"},
       "cohort: these arguments were not expected: --frobnicate 3\nTry 'cohort devices --help'.\n"},
      {{"devices", "extra"}, "extra\nTry 'cohort devices --help'.\n"},
      {{"devices", "-f"}, "-f\nTry 'cohort devices --help'.\n"},
      {{"dataset", "synth", "d", "--classes", "many"},
       "--classes: Value many not in range 1 to 10000\nTry 'cohort dataset synth --help'.\n"},
      {{"profile", "mlp", "--budget", "nan"}, "--budget: 'nan' is no number\nTry 'cohort profile --help'.\n"},
      {{"dataset", "synth", "d", "--classes"}, "Try 'cohort dataset synth --help'.\n"},
      {{"models", "--export", "a.onnx"}, "--export requires NAME\nTry 'cohort models --help'.\n"},
      {{"models", "mlp", "--minibatch", "0"}, "Try 'cohort models --help'.\n"},
      {{"models", "mlp", "--set", "hidden"}, "--set takes name=value"},
      {{"models", "mlp", "--seed", "-1"}, "'-1' is no whole number from 0 to 18446744073709551615"},
      {{"dataset", "synth", "d", "--seed", "-1"}, "'-1' is no whole number from 0 to"},
      {{"plan", "p.json", "--input-seed", "-1"}, "'-1' is no whole number from 0 to"},
      {{"compare", "a.json", "b.json", "--rows", "-1"}, "'-1' is no whole number from 0 to"},
      {{"simulate", "t.json", "--step", "-1"}, "'-1' is no whole number from 0 to"},
      {{"profile", "net\xff.onnx"}, "net\xff.onnx: the name is not UTF-8"},
      {{"plan", "p.json", "--data", "photos\xff"}, "--data photos\xff: the name is not UTF-8"},
      {{"models", "mlp", "--set", "hidden=1", "--set", "hidden=2"}, "--set gives hidden twice"},
  };
  for (const Misuse& misuse : cases) {
    const Outcome outcome = cohort(misuse.words);
    EXPECT_EQ(outcome.exit_code, 2) << misuse.message;
    EXPECT_THAT(outcome.out, IsEmpty()) << misuse.message;
    EXPECT_THAT(outcome.err, StartsWith("cohort: ")) << misuse.message;
    EXPECT_THAT(outcome.err, HasSubstr(misuse.message));
  }
  EXPECT_THAT(files(), IsEmpty());
}

TEST_F(CommandLine, DevicesListsTheWaysToRunAModel) {
  const Outcome outcome = cohort({"devices", "--ways", "lenet5", "--device", "reference", "--json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const json ops = json::parse(outcome.out);
  ASSERT_EQ(ops.size(), 7U);
  EXPECT_EQ(ops[0]["ops"], json::array({"conv1"}));
  EXPECT_THAT(ops[0]["signature"].get<std::string>(), StartsWith("Convolution kernel=5x5"));
  EXPECT_EQ(ops[0]["ways"][0]["workspace_bytes"], 0);
  const Outcome text = cohort({"devices", "--ways", "mlp", "--device", "reference:0", "--layout", "nchw"});
  EXPECT_THAT(text.out, HasSubstr("fc1\n  Gemm"));
  EXPECT_THAT(text.out, HasSubstr("workspace"));

  EXPECT_THAT(cohort({"devices", "--minibatch", "4"}).err, HasSubstr("--minibatch: only with --ways MODEL"));
  EXPECT_EQ(cohort({"devices", "--ways", "mlp", "--device", "cuda:0", "--described", "x.json"}).exit_code, 2);
  const Outcome described = cohort({"devices", "--ways", "mlp", "--described", "absent.json"});
  EXPECT_TRUE(described.exit_code == 3 || described.exit_code == 4) << "with NVIDIA's libraries, or without";
  EXPECT_THAT(described.err, AnyOf(HasSubstr("absent.json"), HasSubstr("libcu"), HasSubstr("plugin")));
}

TEST_F(CommandLine, DevicesListsWhatIsHereAndWhyOthersAreNot) {
  const Outcome outcome = cohort({"devices", "--json"});
  EXPECT_EQ(outcome.exit_code, 0);
  std::map<std::string, json> devices;
  for (const json& device : json::parse(outcome.out)) {
    devices[device.at("id")] = device;
    EXPECT_TRUE(device.at("kind").is_string());
    EXPECT_EQ(device.at("reason").get<std::string>().empty(), device.at("available").get<bool>());
  }
  ASSERT_TRUE(devices.contains("reference:0") && devices.contains("cpu:0") && devices.contains("cuda:0"));
  EXPECT_EQ(devices["reference:0"].at("available"), true);
  if (devices["cuda:0"].at("available") == true) GTEST_SKIP() << "here is a GPU; what follows is for machines without";
  EXPECT_THAT(devices["cuda:0"].at("reason").get<std::string>(), HasSubstr("NVIDIA"));
  const Outcome text = cohort({"devices"});
  EXPECT_THAT(text.out, HasSubstr("cuda:0       not available  NVIDIA GPU\n"));
  const Outcome run = cohort({"profile", "mlp", "--device", "cuda:0"});
  EXPECT_EQ(run.exit_code, 4);
  EXPECT_THAT(run.err, HasSubstr("device cuda:0: "));
}

}  // namespace
}  // namespace cohort
