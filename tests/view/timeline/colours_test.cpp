#include "view/timeline/colours.hpp"

#include <gtest/gtest.h>

#include <set>

#include "view/chart/palette.hpp"
#include "view/timeline/names.hpp"

namespace cohort {
namespace {

using namespace literals;

TEST(SliceColours, AreTheSameForTheSameTextAndReadable) {
  EXPECT_EQ(colour_of_text("conv1"), colour_of_text("conv1"));
  std::set<Argb> seen;
  for (int i = 0; i < 2000; ++i) {
    const Argb colour = colour_of_text("kernel " + std::to_string(i));
    seen.insert(colour);
    EXPECT_GE(contrast(colour_from(text_colour_on(colour)), colour_from(colour)), 4.5) << std::hex << colour;
    EXPECT_GE(contrast(colour_from(colour), light_palette().background), 1.5) << std::hex << colour;
    EXPECT_GE(contrast(colour_from(colour), dark_palette().background), 2.5) << std::hex << colour;
  }
  EXPECT_GE(seen.size(), 30U);
}

TEST(SliceColours, FollowTypeNameMemberAndStep) {
  Trace trace;
  const TrackId track = trace.add_track("cpu:0", "stream 0");
  const auto add = [&](std::string_view name, std::string_view members, std::int64_t iteration) {
    const std::array<Trace::NamedArg, 2> args{{{"members", members}, {kIterationArg, iteration}}};
    trace.add_slice(track, name, "task", Nanoseconds(static_cast<std::int64_t>(trace.slices.size()) * 10), 5_ns, args);
  };
  add("conv1", "0-3", 0);
  add("conv2", "0-3", 1);
  add("fc1", "4", 1);
  trace.add_slice(track, "mark", "", 1_us, 1_ns);
  const Timeline timeline({{std::make_shared<const Trace>(std::move(trace)), 0_ns, ""}});
  const auto by = [&](Colouring colouring) { return colour_slices(timeline, colouring).front(); };
  const auto types = by(Colouring::kOpType);
  EXPECT_EQ(types[0], types[1]);
  EXPECT_NE(types[0], types[2]);
  const auto names = by(Colouring::kName);
  EXPECT_NE(names[0], names[1]);
  const auto members = by(Colouring::kMember);
  EXPECT_EQ(members[0], members[1]);
  EXPECT_NE(members[0], members[2]);
  EXPECT_EQ(members[3], colour_of_nothing());
  const auto steps = by(Colouring::kIteration);
  EXPECT_NE(steps[0], steps[1]);
  EXPECT_EQ(steps[1], steps[2]);
}

TEST(SliceColours, TellPhasesOfATrainingStepApart) {
  Trace trace;
  const TrackId track = trace.add_track("cpu:0", "stream 0");
  for (const std::string_view phase : {"forward", "backward", "update", "forward"}) {
    const std::array<Trace::NamedArg, 1> args{{{"phase", phase}}};
    trace.add_slice(track, "op", "task", Nanoseconds(static_cast<std::int64_t>(trace.slices.size()) * 10), 5_ns, args);
  }
  const Timeline timeline({{std::make_shared<const Trace>(std::move(trace)), 0_ns, ""}});
  const auto colours = colour_slices(timeline, Colouring::kPhase).front();
  EXPECT_EQ(std::set<Argb>(colours.begin(), colours.end()).size(), 3U);
  EXPECT_EQ(colours[0], colours[3]);
}

TEST(OpType, IsReadFromCategorySignatureAndName) {
  Trace trace;
  const TrackId track = trace.add_track("a", "b");
  const auto type = [&](std::string_view name, std::string_view category) {
    return op_type(trace, trace.slice(trace.add_slice(track, name, category, 0_ns, 1_ns)));
  };
  EXPECT_EQ(type("Memcpy HtoD", "gpu_memcpy"), "copy");
  EXPECT_EQ(type("cudaLaunchKernel", "cuda_runtime"), "runtime call");
  EXPECT_EQ(type("ncclDevKernel_AllReduce_Sum_f32_RING_LL", "kernel"), "collective");
  EXPECT_EQ(type("ampere_sgemm_128x64_tn", "kernel"), "matrix product");
  EXPECT_EQ(type("void cudnn::bn_fw_tr_1C11_kernel_NCHW<float>(...)", "kernel"), "normalisation");
  EXPECT_EQ(type("something", "kernel"), "other work");
  const std::array<Trace::NamedArg, 1> signature{{{"signature", std::string_view("Convolution kernel=7x7")}}};
  EXPECT_EQ(op_type(trace, trace.slice(trace.add_slice(track, "stem", "profile", 0_ns, 1_ns, signature))),
            "convolution");
}

TEST(Blending, MixesChannelByChannel) {
  EXPECT_EQ(blend(0xff000000, 0xffffffff, 0), 0xffffffff);
  EXPECT_EQ(blend(0xff000000, 0xffffffff, 1), 0xff000000);
  EXPECT_EQ(blend(0xffff0000, 0xff0000ff, 0.5), 0xff800080);
}

TEST(ShortName, IsWhatAKernelIsCalled) {
  EXPECT_EQ(short_name("void at::native::(anonymous namespace)::reduce_kernel<512, float>(int, char*)"),
            "reduce_kernel");
  EXPECT_EQ(short_name("void at::native::vectorized_elementwise_kernel<4, at::f(x)::{lambda(float)#1}>(int)"),
            "vectorized_elementwise_kernel");
  EXPECT_EQ(short_name("sm80_xmma_gemm_f16f16"), "sm80_xmma_gemm_f16f16");
  EXPECT_EQ(short_name("aten::add"), "add");
  EXPECT_EQ(short_name("threading.py(1032): _bootstrap"), "threading.py(1032): _bootstrap");
  EXPECT_EQ(short_name("Memcpy HtoD (Pinned -> Device)"), "Memcpy HtoD (Pinned -> Device)");
  EXPECT_EQ(short_name("<built-in method acquire>"), "<built-in method acquire>");
  EXPECT_EQ(short_name(""), "");
}

TEST(Shortened, LeavesOutTheMiddle) {
  EXPECT_EQ(shortened("short", 20), "short");
  EXPECT_EQ(shortened("0123456789abcdefghij", 12), "012345...hij");
  EXPECT_EQ(shortened("a\nb", 20), "a b");
  EXPECT_EQ(shortened("ääääääääää", 12), "äää...ä");
}

}  // namespace
}  // namespace cohort
