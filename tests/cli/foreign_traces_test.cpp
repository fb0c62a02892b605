#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "program.hpp"

namespace cohort {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

/// Traces as other people have them, hand-made: the right answer or a plain refusal.
class ForeignTraces : public ProgramTest {
 protected:
  /// Every command that predicts refuses the file, and trace info warns of it.
  void expect_refused(const std::string& file, const std::string& why) {
    for (const std::vector<std::string>& words :
         {std::vector<std::string>{"simulate", file}, {"simulate", file, "--models", "4"}, {"plan", file}}) {
      const Outcome outcome = cohort(words);
      EXPECT_EQ(outcome.exit_code, 3) << words[0] << outcome.out << outcome.err;
      EXPECT_THAT(outcome.err, AllOf(HasSubstr(file), HasSubstr(why))) << words[0];
      EXPECT_THAT(outcome.out, IsEmpty()) << words[0];
    }
  }
  void expect_warned(const std::string& file, const std::string& why) {
    const Outcome info = cohort({"trace", "info", file});
    EXPECT_EQ(info.exit_code, 0) << info.err;
    EXPECT_THAT(info.out, AllOf(HasSubstr("warning: "), HasSubstr(why)));
  }
};

std::string host_call(std::string_view name, int start, int length, int id) {
  return fmt::format(R"({{"ph":"X","cat":"cuda_runtime","name":"{}","pid":1,"tid":1,"ts":{},"dur":{},
      "args":{{"correlation":{}}}}})",
                     name, start, length, id);
}

std::string marked_step(int number, int start, int length) {
  return fmt::format(
      R"({{"ph":"X","cat":"user_annotation","name":"ProfilerStep#{}","pid":1,"tid":1,"ts":{},"dur":{}}})", number,
      start, length);
}

std::string gpu_kernel(int start, int length, int id) {
  return fmt::format(R"({{"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":{},"dur":{},
      "args":{{"correlation":{},"stream":7,"device":0}}}})",
                     start, length, id);
}

TEST_F(ForeignTraces, WithLaunchesButNoKernelsAreRefused) {
  write("t.json", "[" + host_call("cudaLaunchKernel", 5, 5, 1) + "," + marked_step(0, 0, 50) + R"(,
      {"ph":"X","cat":"gpu_user_annotation","name":"ProfilerStep#0","pid":0,"tid":7,"ts":0,"dur":50}])");
  expect_refused("t.json", "no device work in this trace: 1 calls put");
  expect_warned("t.json", "no device work in this trace: 1 calls put");
  const json info = json::parse(cohort({"trace", "info", "t.json", "--json"}).out);
  EXPECT_THAT(info.value("no_device_work", ""), HasSubstr("ProfilerActivity.CUDA"));
}

TEST_F(ForeignTraces, OfTheHostAloneAreRefused) {
  write("t.json", R"([{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":1,"ts":5,"dur":20}])");
  expect_refused("t.json", "no device work in this trace: 1 slices are of the host alone");
  write("bare.json", R"([{"ph":"X","name":"work","pid":1,"tid":1,"ts":5,"dur":20}])");
  expect_refused("bare.json", "no device work in this trace: none of its 1 slices");
}

TEST_F(ForeignTraces, WithoutDeviceWorkInTheWindowSaySo) {
  write("t.json", "[" + host_call("cudaLaunchKernel", 5, 5, 1) + "," + gpu_kernel(12, 20, 1) + "," +
                      host_call("cudaMalloc", 1000, 5, 2) + "]");
  const Outcome outcome = cohort({"simulate", "t.json", "--window", "900us..2000us"});
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_THAT(outcome.err, HasSubstr("choose another with --step or --window"));
}

TEST_F(ForeignTraces, AreReplayedAtAStepWithWorkAndThatIsTold) {
  write("t.json", "[" + marked_step(3, 0, 100) + "," + host_call("cudaLaunchKernel", 5, 5, 1) + "," +
                      gpu_kernel(12, 20, 1) + "," + host_call("cudaDeviceSynchronize", 12, 25, 2) + "," +
                      marked_step(4, 110, 20) + "]");
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"simulate", "t.json"}, {"simulate", "t.json", "--models", "2"}, {"plan", "t.json"}}) {
    const Outcome outcome = cohort(words);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr("1 of 2 steps have no device work; step 0 (ProfilerStep#3) is taken"));
  }
  EXPECT_THAT(cohort({"simulate", "t.json", "--step", "0"}).err, Not(HasSubstr("no device work")));
  EXPECT_EQ(cohort({"simulate", "t.json", "--step", "1"}).exit_code, 3);
}

TEST_F(ForeignTraces, WithAKernelOfImpossibleTimesAreAnsweredAndThatIsTold) {
  write("t.json", "[" + host_call("cudaLaunchKernel", 5'000'000, 5, 1) + "," + gpu_kernel(5'000'012, 20, 1) + "," +
                      host_call("cudaLaunchKernel", 5'000'020, 5, 2) + "," + gpu_kernel(0, 0, 2) + "," +
                      host_call("cudaDeviceSynchronize", 5'000'030, 25, 3) + "]");
  const std::string why = "1 of device work of impossible times: at time 0, dropped (\"gemm\" at 0.000 us)";
  const Outcome outcome = cohort({"simulate", "t.json"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("t.json: " + why));
  EXPECT_THAT(outcome.out, HasSubstr("traced 55.0 us"));
  EXPECT_THAT(cohort({"trace", "info", "t.json"}).out, HasSubstr("lowers confidence  " + why));
}

/// The files of ../shared/cases/reports, which are not in the repository.
struct Reported {
  const char* file;
  int exit_code;
  const char* says;  ///< on either stream, of `simulate`
};

TEST_F(ForeignTraces, OfReportsAreAnsweredOrPlainlyRefused) {
  const auto folder = std::filesystem::path(COHORT_TRACES).parent_path().parent_path() / "shared" / "cases" / "reports";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no " << folder;
  const std::vector<Reported> reported = {
      {"04-host-runs-ahead/70-host-runs-ahead.json", 0, "traced"},
      {"04-host-runs-ahead/mi300__resnet_act_checkpoint.json.gz", 0, "traced"},
      {"05-no-kernels/63-launches-no-kernels.json", 3, "no device work in this trace"},
      {"06-stream-2p63/08-stream-max.json", 0, "traced"},
      {"07-cpu-only/38-cpu-only.json", 3, "no device work in this trace"},
      {"08-no-categories/19-jax.trace.json", 0, "4 ops of device work"},
      {"09-kernel-ts-0/60-ts0.json", 0, "at time 0, dropped (\"k2<float>\""},
      {"10-kernel-before-launch/62-one-kernel-5s-early.json", 0, "before its launch, dropped (\"k0<float>\""},
      {"11-duration-overflow/61-dur-overflow.json", 0, "cut where the next starts (\"k1<float>\""},
      {"12-control-characters/01-control.json", 0, "traced"},
      {"13-unescaped-quotes/04-quotes.json", 0, "traced"},
      {"14-empty-step-chosen/71-last-step-empty.json", 0, "ProfilerStep#3"},
      {"15-merged-ranks/32-reused-corr.json", 0, "traced"},
      {"16-numbers-as-floats/31-floatargs.json", 0, "traced"},
      {"17-args-not-object/07-args-null.json", 0, "traced"},
      {"18-not-what-it-seems/05-bom.json", 0, "traced"},
      {"18-not-what-it-seems/12-nsysrep.nsys-rep", 3, "nsys export --type sqlite"},
      {"18-not-what-it-seems/lfs.onnx", 3, "git lfs pull"},
      {"19-gzip-cut/10b-cutgz.json.gz", 0, "traced"},
      {"19-gzip-cut/22f-two-docs.json", 0, "traced"},
      {"27-nsight-schemas/03-kernel-v3.sqlite", 0, "traced"},
      {"28-times-out-of-range/17b-ns-as-us.json", 3, "nanoseconds, it seems"},
  };
  for (const Reported& each : reported) {
    SCOPED_TRACE(each.file);
    const Outcome outcome = cohort({"simulate", (folder / each.file).string()});
    EXPECT_EQ(outcome.exit_code, each.exit_code) << outcome.err;
    EXPECT_THAT(outcome.out + outcome.err, HasSubstr(each.says));
    if (each.exit_code != 0) continue;
    const json replay = json::parse(cohort({"simulate", (folder / each.file).string(), "--json"}).out);
    EXPECT_LE(std::abs(replay.at("relative_error").get<double>()), 0.02);
  }
}

}  // namespace
}  // namespace cohort
