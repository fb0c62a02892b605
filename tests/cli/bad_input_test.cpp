// What people give the program that it cannot use: it names what is wrong, ends with the right exit code, and leaves
// every file as it was and none half written.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/random.hpp"
#include "tests/cli/loop.hpp"

namespace cohort {
namespace {

using nlohmann::json;
using ::testing::Contains;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

std::string random_bytes(std::size_t count) {
  Random random(5);
  std::string bytes(count, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random.below(256));
  return bytes;
}

class BadInput : public LoopTest {
 protected:
  /// All that the loop reads and writes.
  void make_loop() {
    ASSERT_EQ(profile().exit_code, 0);
    ASSERT_EQ(cohort({"plan", "mlp.trace.json.gz", "-n", "4"}).exit_code, 0);
    ASSERT_EQ(run_shortly("mlp.plan.json").exit_code, 0);
  }
  /// What the program says to `words`, having changed nothing.
  std::string refusal(const std::vector<std::string>& words, int exit_code) {
    const auto before = contents();
    const Outcome outcome = cohort(words);
    EXPECT_EQ(outcome.exit_code, exit_code) << words.front() << ": " << outcome.out << outcome.err;
    EXPECT_THAT(outcome.err, StartsWith("cohort: ")) << words.front();
    EXPECT_TRUE(contents() == before) << words.front();
    return outcome.err;
  }
};

TEST_F(BadInput, OfDamagedFilesIsNamedByTheFile) {
  make_loop();
  ASSERT_EQ(cohort({"models", "mlp", "--export", "net.onnx"}).exit_code, 0);
  write("members.json", R"({"members": [{"name": "a", "model": "mlp", "arguments": {"inputs": "8", "hidden": "8"},
    "minibatch": 2, "seed": 5, "count": 2}]})");
  const std::vector<std::pair<std::string, std::vector<std::string>>> readers = {
      {"net.onnx", {"profile", "net.onnx", "--device", "reference"}},
      {"mlp.trace.json.gz", {"plan", "-f", "mlp.trace.json.gz"}},
      {"members.json", {"plan", "-f", "mlp.trace.json.gz", "--members", "members.json"}},
      {"mlp.plan.json", {"plan", "-f", "mlp.trace.json.gz", "--resolve", "mlp.plan.json"}},
      {"mlp.plan.json", {"run", "-f", "mlp.plan.json"}},
      {"mlp.plan.json", {"simulate", "mlp.trace.json.gz", "--plan", "mlp.plan.json"}},
      {"mlp.measured.json.gz", {"simulate", "mlp.measured.json.gz"}},
      {"mlp.predicted.json.gz", {"compare", "mlp.predicted.json.gz", "mlp.measured.json.gz"}},
      {"mlp.measured.json.gz", {"compare", "mlp.predicted.json.gz", "mlp.measured.json.gz"}},
      {"mlp.measured.json.gz", {"trace", "convert", "mlp.measured.json.gz", "out.json"}},
      {"mlp.trace.json.gz", {"calibrate", "--fit", "mlp.trace.json.gz"}},
  };
  for (const auto& [file, words] : readers) {
    const std::string whole = read(file);
    for (const std::string& damaged : {whole.substr(0, whole.size() / 2), random_bytes(whole.size()), std::string()}) {
      write(file, damaged);
      EXPECT_THAT(refusal(words, 3), StartsWith("cohort: " + file + ": ")) << words.front();
    }
    write(file, whole);
  }
}

TEST_F(BadInput, OfAPlanIsNamedByTheField) {
  ASSERT_EQ(profile().exit_code, 0);
  ASSERT_EQ(cohort({"plan", "mlp.trace.json.gz", "-n", "4"}).exit_code, 0);
  std::string good = read("mlp.plan.json");
  const auto edited = [&](const std::string& from, const std::string& to, int exit_code) {
    write("mlp.plan.json", good);
    edit("mlp.plan.json", from, to);
    return refusal({"run", "mlp.plan.json"}, exit_code);
  };
  EXPECT_THAT(edited("\"count\":4", "\"count\":0", 3), HasSubstr("mlp.plan.json: members[0].count must be"));
  EXPECT_THAT(edited("\"version\": 1", "\"version\": 9", 3), HasSubstr("version 9"));
  EXPECT_THAT(edited("\"model\":\"mlp\"", "\"model\":\"perceptron\"", 3),
              HasSubstr("baselines[0] was made for other models than its members have now"));
  json bare = json::parse(good);
  bare.erase("baselines");
  good = bare.dump();
  EXPECT_THAT(edited("\"model\":\"mlp\"", "\"model\":\"perceptron\"", 3),
              HasSubstr("no built-in network \"perceptron\""));
}

TEST_F(BadInput, OfAPlanForAnotherDeviceIsNamedByBoth) {
  ASSERT_EQ(profile().exit_code, 0);
  ASSERT_EQ(cohort({"plan", "mlp.trace.json.gz", "-n", "2"}).exit_code, 0);
  const std::string here = json::parse(read("mlp.plan.json"))["resolved"]["device"];
  const std::string good = read("mlp.plan.json");
  edit("mlp.plan.json", "\"device\": \"" + here + "\"", "\"device\": \"Some GPU\"");
  EXPECT_THAT(refusal({"run", "mlp.plan.json"}, 3),
              HasSubstr("mlp.plan.json: resolved.device: the plan was made for Some GPU, this device is " + here));
  write("mlp.plan.json", good);
  edit("mlp.plan.json", "\"device\": \"reference:0\"", "\"device\": \"cuda:7\"");
  refusal({"run", "mlp.plan.json"}, 4);
  edit("mlp.plan.json", "\"device\": \"cuda:7\"", "\"device\": \"tpu:0\"");
  EXPECT_THAT(refusal({"run", "mlp.plan.json"}, 2), HasSubstr("there is no device tpu:0; known: "));
}

TEST_F(BadInput, OfACycleInAPlanIsNamedByItsGroups) {
  write("cycle.plan.json", R"({"format": "cohort.plan", "version": 1, "device": "reference:0",
    "members": [{"name": "mlp", "model": "mlp", "arguments": {}, "minibatch": 1, "seed": 0, "count": 2}],
    "input": {"source": "generated", "sharing": "shared", "decode_workers": 1, "buffers": 2, "seed": 0, "bad_images": "skip"},
    "streams": 1, "layout": "nhwc", "launch": "graph",
    "groups": [{"name": "first", "members": "0", "strategy": "serial", "after": ["second"]},
               {"name": "second", "members": "1", "strategy": "serial", "after": ["first"]}]})");
  EXPECT_THAT(refusal({"run", "cycle.plan.json"}, 3),
              HasSubstr("cycle.plan.json: groups[0].after makes a cycle: first -> second -> first"));
}

TEST_F(BadInput, OfOutputsThatCannotBeWrittenIsNamedByThePath) {
  make_loop();
  const std::vector<std::pair<std::string, std::string>> outputs = {
      {"none/out", "cannot write none/out: folder none: No such file or directory"},
      {"mlp.plan.json/out", "cannot write mlp.plan.json/out: mlp.plan.json is a file, no folder"},
      {".", "cannot write .: it is a folder"},
      {"mlp.plan.json", "mlp.plan.json exists already; give -f to overwrite it"},
      {"/dev/full", "cannot write /dev/full: No space left on device"},
  };
  for (const auto& [output, message] : outputs) {
    if (output == "/dev/full" && !std::filesystem::is_character_file("/dev/full")) continue;
    for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
             {"profile", "mlp", "--set", "inputs=8", "--set", "hidden=8", "--no-fused", "--device", "reference", "-q",
              "-o", output},
             {"plan", "mlp.trace.json.gz", "-o", output},
             {"run", "mlp.plan.json", "--blocks", "1", "--block-ms", "1", "-o", output},
             {"simulate", "mlp.trace.json.gz", "-o", output},
             {"trace", "convert", "mlp.trace.json.gz", output},
             {"models", "mlp", "--export", output}}) {
      if (output == "/dev/full" && words.front() == "plan") continue;  // the predicted trace would go beside it
      EXPECT_EQ(refusal(words, 3), "cohort: " + message + "\n") << words.front();
    }
  }
  EXPECT_EQ(refusal({"run", "-f", "mlp.plan.json", "--outputs", "mlp.plan.json"}, 3),
            "cohort: cannot make folder mlp.plan.json/mlp-0: Not a directory\n");
}

TEST_F(BadInput, OfMoreStreamsThanCoresIsNamedByTheField) {
  ASSERT_EQ(profile().exit_code, 0);
  ASSERT_EQ(cohort({"plan", "mlp.trace.json.gz", "-n", "4"}).exit_code, 0);
  json plan = json::parse(read("mlp.plan.json"));
  plan["streams"] = 1024;
  plan["groups"] = json::parse(R"([{"name": "all", "members": "0-3", "strategy": "concurrent"}])");
  write("mine.plan.json", plan.dump());
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"run", "-q", "mine.plan.json"},
                                             {"plan", "-f", "mlp.trace.json.gz", "--resolve", "mine.plan.json"},
                                             {"simulate", "mlp.trace.json.gz", "--plan", "mine.plan.json"}})
    EXPECT_THAT(refusal(words, 3), ContainsRegex("streams must be at most [0-9]+, the device's number of cores, "
                                                 "not 1024"))
        << words.front();
}

TEST_F(BadInput, OfImagesToProfileIsSaidBeforeAnythingIsTimed) {
  EXPECT_THAT(refusal({"profile", "smallcnn", "--device", "reference", "--data", "missing"}, 3), HasSubstr("missing"));
  make_photos();
  EXPECT_THAT(refusal({"profile", "lstm", "--device", "reference", "--data", "photos"}, 3),
              HasSubstr("--data: lstm has no input of images [N, C, H, W]"));
}

using FullDisk = BadInput;

TEST_F(FullDisk, LeavesNoPartOfAFile) {
  const Outcome outcome = cohort_on_full_disk(4096, {"models", "lenet5", "--export", "lenet5.onnx"});
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_EQ(outcome.err, "cohort: cannot write lenet5.onnx: File too large\n");
  EXPECT_THAT(files(), IsEmpty());
}

TEST_F(FullDisk, LeavesNoPlanWithoutItsTraceNorATraceWithoutItsPlan) {
  ASSERT_EQ(profile().exit_code, 0);
  const std::vector<std::string> words{"plan", "mlp.trace.json.gz", "-q", "-n", "16"};
  ASSERT_EQ(cohort(words).exit_code, 0);
  const std::size_t plan = read("mlp.plan.json").size();
  const std::size_t trace = read("mlp.predicted.json.gz").size();
  const auto later = [&](std::vector<std::string> more) {
    more.insert(more.begin(), words.begin(), words.end());
    const auto before = contents();
    const Outcome outcome = cohort_on_full_disk(std::max(plan, trace) - 1, more);
    EXPECT_EQ(outcome.exit_code, 3);
    EXPECT_EQ(outcome.err, fmt::format("cohort: cannot write {}: File too large\n",
                                       plan > trace ? "mlp.plan.json" : "mlp.predicted.json.gz"));
    EXPECT_TRUE(contents() == before);
    EXPECT_FALSE(std::filesystem::exists(path("all")));
  };
  later({"-f"});
  later({"-f", "--candidates", "all"});
  std::filesystem::remove(path("mlp.plan.json"));
  std::filesystem::remove(path("mlp.predicted.json.gz"));
  later({});
}

TEST_F(BadInput, OfCandidatesThatAreThereAlreadyLeavesNoPlan) {
  ASSERT_EQ(profile().exit_code, 0);
  std::filesystem::create_directory(path("all"));
  write("all/02.plan.json", "mine");
  EXPECT_EQ(refusal({"plan", "mlp.trace.json.gz", "-n", "4", "--candidates", "all"}, 3),
            "cohort: all/02.plan.json exists already; give -f to overwrite it\n");
}

TEST_F(FullDisk, LeavesNoResultsOfARunWithoutItsTrace) {
  make_loop();
  const auto before = contents();
  const std::vector<std::string> words{"run", "-fq", "mlp.plan.json", "--blocks", "1", "--block-ms", "1", "--outputs"};
  constexpr std::size_t kResults = 300;  // more than results have, less than the trace
  for (const char* const folder : {"results", "new/results"}) {
    std::vector<std::string> run = words;
    run.emplace_back(folder);
    const Outcome outcome = cohort_on_full_disk(kResults, run);
    EXPECT_EQ(outcome.exit_code, 3);
    EXPECT_EQ(outcome.err, "cohort: cannot write mlp.measured.json.gz: File too large\n");
    EXPECT_TRUE(contents() == before);
    EXPECT_FALSE(std::filesystem::exists(path("new")));
  }
}

TEST_F(FullDisk, LeavesNoEmptyFoldersOfAData) {
  const Outcome outcome = cohort_on_full_disk(100, {"dataset", "synth", "below/photos", "--long-side", "48"});
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_EQ(outcome.err, "cohort: cannot write below/photos/class_00/00000.jpg: File too large\n");
  EXPECT_THAT(files(), IsEmpty());
  make_photos();
  const auto before = contents();
  EXPECT_EQ(cohort_on_full_disk(100, {"dataset", "synth", "photos", "-f", "--long-side", "48"}).exit_code, 3);
  EXPECT_TRUE(contents() == before);
}

TEST_F(FullDisk, LeavesAnOlderProfile) {
  const std::vector<std::string> words{"profile",  "mlp",        "--set",    "inputs=8",  "--set",
                                       "hidden=8", "--no-fused", "--device", "reference", "-fq"};
  EXPECT_EQ(cohort_on_full_disk(200, words).err, "cohort: cannot write mlp.trace.json.gz: File too large\n");
  EXPECT_THAT(files(), IsEmpty());
  ASSERT_EQ(profile().exit_code, 0);
  const auto before = contents();
  EXPECT_EQ(cohort_on_full_disk(200, words).exit_code, 3);
  EXPECT_TRUE(contents() == before);
}

TEST_F(BadInput, OfImagesIsSkippedAndNamedUnlessItIsFatal) {
  make_photos();
  const std::string image = read("photos/class_00/00001.jpg");
  write("photos/class_00/00001.jpg", image.substr(0, image.size() / 2));
  write("photos/class_01/00002.jpg", random_bytes(700));
  const Outcome skipped = run_shortly("photos.plan.json");
  ASSERT_EQ(skipped.exit_code, 0) << skipped.err;
  const json bad = json::parse(skipped.out)["bad_images"];
  ASSERT_EQ(bad.size(), 2U) << bad;
  EXPECT_EQ(bad[0]["path"], "photos/class_00/00001.jpg");
  EXPECT_THAT(bad[0]["reason"].get<std::string>(), StartsWith("broken JPEG: Premature end"));
  EXPECT_THAT(bad[1]["reason"].get<std::string>(), StartsWith("broken JPEG: Not a JPEG file"));
  edit("photos.plan.json", "\"skip\"", "\"fatal\"");
  EXPECT_THAT(refusal({"run", "-fq", "photos.plan.json", "--blocks", "1", "--block-ms", "1"}, 3),
              HasSubstr("broken JPEG: "));
}

TEST_F(BadInput, OfImagesIsFatalWhereThePlanIsToldSo) {
  ASSERT_EQ(profile().exit_code, 0);
  ASSERT_EQ(cohort({"plan", "mlp.trace.json.gz", "--bad-images", "fatal"}).exit_code, 0);
  EXPECT_EQ(json::parse(read("mlp.plan.json"))["input"]["bad_images"], "fatal");
  EXPECT_THAT(refusal({"plan", "mlp.trace.json.gz", "-f", "--bad-images", "ignore"}, 2), HasSubstr("{skip,fatal}"));
}

using Interrupt = BadInput;

TEST_F(Interrupt, EndsTheProgramAndLeavesFilesAsTheyWere) {
  make_loop();
  const auto before = contents();
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"profile", "smallcnn", "--device", "reference"},  // either takes minutes, if nobody stops it
           {"run", "-f", "mlp.plan.json", "--blocks", "1000", "--block-ms", "1000"}}) {
    for (const int signal : {SIGINT, SIGTERM}) {
      const pid_t process = start(words);
      ASSERT_TRUE(catches(process, signal)) << words.front();
      ASSERT_EQ(::kill(process, signal), 0);
      EXPECT_EQ(wait_for(process), 130) << words.front();
      EXPECT_TRUE(contents() == before) << words.front();
    }
  }
}

TEST_F(Interrupt, EndsARunInTheMiddleOfALongBlock) {
  make_loop();
  const auto before = contents();
  const pid_t process =
      start({"run", "-f", "mlp.plan.json", "--blocks", "1", "--block-ms", "600000", "--outputs", "results"});
  ASSERT_TRUE(catches(process, SIGINT));
  std::this_thread::sleep_for(std::chrono::seconds(5));  // longer than it warms up
  EXPECT_GT(contents().size(), before.size()) << "results are in temporaries";
  const auto interrupted = std::chrono::steady_clock::now();
  ASSERT_EQ(::kill(process, SIGINT), 0);
  EXPECT_EQ(wait_for(process), 130);
  EXPECT_LT(std::chrono::steady_clock::now() - interrupted, std::chrono::minutes(1));
  EXPECT_TRUE(contents() == before);
}

TEST_F(Interrupt, ByASecondSignalLeavesNoTemporary) {
  make_loop();
  const auto before = contents();
  const pid_t process =
      start({"run", "-f", "mlp.plan.json", "--blocks", "1", "--block-ms", "600000", "--outputs", "results"});
  while (contents().size() == before.size()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  // Both are there before it goes on: the second comes before it can end for the first.
  for (const int signal : {SIGSTOP, SIGINT, SIGTERM, SIGCONT}) ASSERT_EQ(::kill(process, signal), 0);
  EXPECT_EQ(wait_for(process), 130);
  EXPECT_TRUE(contents() == before);
}

}  // namespace
}  // namespace cohort
