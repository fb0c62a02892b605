#include <gmock/gmock.h>

#include <cmath>
#include <complex>
#include <numbers>

#include "models/onnx/onnx_file.hpp"
#include "tests/models/evaluate.hpp"
#include "tests/models/onnx_text.hpp"

// Fourier transforms beside sums in double precision; the ONNX project's cases have the shapes.

namespace cohort {
namespace {

using testing::ElementsAre;
using testing::FloatNear;
using testing::HasSubstr;
using testing::Pointwise;

using Complex = std::complex<double>;

/// The transform of x, zero beyond its end, by its definition.
std::vector<Complex> transformed(const std::vector<Complex>& x, std::size_t length, double direction = -1) {
  std::vector<Complex> y(length);
  for (std::size_t k = 0; k < length; ++k) {
    for (std::size_t i = 0; i < std::min(x.size(), length); ++i)
      y[k] += x[i] * std::polar(1.0, direction * 2 * std::numbers::pi * static_cast<double>(k * i % length) /
                                         static_cast<double>(length));
  }
  return y;
}

std::vector<float> parts(const std::vector<Complex>& values, std::size_t count) {
  std::vector<float> result;
  for (std::size_t i = 0; i < count; ++i) {
    result.push_back(static_cast<float>(values[i].real()));
    result.push_back(static_cast<float>(values[i].imag()));
  }
  return result;
}

std::vector<Complex> complex_of(const std::vector<float>& values) { return {values.begin(), values.end()}; }

Result<LoadedModel> read(const std::string& graph, int opset) {
  return onnx::parse_model(onnx_model(opset, graph + output_text("y")), {});
}

std::vector<float> result(const std::string& graph, const std::vector<float>& x, int opset = 20) {
  const Result<LoadedModel> loaded = read(graph, opset);
  EXPECT_TRUE(loaded) << loaded.error().message;
  if (!loaded) return {};
  const auto outputs = evaluate(simplify(*loaded), {x});
  EXPECT_TRUE(outputs) << outputs.error().message;
  return outputs ? outputs->front() : std::vector<float>();
}

std::string problem(const std::string& graph, int opset = 20) {
  const Result<LoadedModel> loaded = read(graph, opset);
  return loaded ? std::string("read") : loaded.error().message;
}

const std::vector<float> kSamples{1, -2, 0.5F, 3, -1.5F, 0.25F, 4};

TEST(OnnxDft, IsTheSumOfItsDefinition) {
  const std::string x = input_text("x", {1, 7, 1});
  const std::vector<Complex> expected = transformed(complex_of(kSamples), 7);
  EXPECT_THAT(result(x + node_text("DFT", {"x"}, {"y"}), kSamples), Pointwise(FloatNear(1e-5F), parts(expected, 7)));
  EXPECT_THAT(result(x + node_text("DFT", {"x"}, {"y"}, integer_attribute("onesided", 1)), kSamples),
              Pointwise(FloatNear(1e-5F), parts(expected, 4)));
}

TEST(OnnxDft, CutsOrFillsUpToTheLengthAskedFor) {
  const std::string x = input_text("x", {1, 7, 1});
  for (const std::int64_t length : {4, 7, 10}) {
    const auto count = static_cast<std::size_t>(length);
    EXPECT_THAT(result(x + integers_text("n", {}, {length}) + node_text("DFT", {"x", "n"}, {"y"}), kSamples),
                Pointwise(FloatNear(1e-5F), parts(transformed(complex_of(kSamples), count), count)))
        << length;
  }
}

TEST(OnnxDft, TransformsComplexSamplesAlongAnyAxisAndBack) {
  // [3, 1, 2]: three complex samples along axis 0
  const std::vector<float> x{1, 2, -1, 0.5F, 3, -2};
  const std::vector<Complex> samples{{1, 2}, {-1, 0.5}, {3, -2}};
  const std::string input = input_text("x", {3, 1, 2});
  const std::string axis = integer_attribute("axis", 0);
  EXPECT_THAT(result(input + node_text("DFT", {"x"}, {"y"}, axis), x, 17),
              Pointwise(FloatNear(1e-5F), parts(transformed(samples, 3), 3)));
  const std::string back =
      node_text("DFT", {"x"}, {"f"}, axis) + node_text("DFT", {"f"}, {"y"}, axis + integer_attribute("inverse", 1));
  EXPECT_THAT(result(input + back, x, 17), Pointwise(FloatNear(1e-6F), x));
}

TEST(OnnxDft, OfHalfASpectrumGivesRealSamplesBack) {
  for (const std::int64_t length : {6, 7}) {
    const std::vector<float> x(kSamples.begin(), kSamples.begin() + length);
    const std::string graph =
        input_text("x", {1, length, 1}) + integers_text("n", {}, {length}) +
        node_text("DFT", {"x"}, {"half"}, integer_attribute("onesided", 1)) +
        node_text("DFT", {"half", "n"}, {"y"}, integer_attribute("onesided", 1) + integer_attribute("inverse", 1));
    EXPECT_THAT(result(graph, x), Pointwise(FloatNear(1e-6F), x)) << length;
  }
}

TEST(OnnxDft, OfWhatItCannotTransformIsRefused) {
  EXPECT_THAT(problem(input_text("x", {1, 7, 3}) + node_text("DFT", {"x"}, {"y"})), HasSubstr("real or complex"));
  EXPECT_THAT(problem(input_text("x", {1, 7, 1}) + integers_text("n", {}, {0}) + node_text("DFT", {"x", "n"}, {"y"})),
              HasSubstr("its length must be from 1 to 1048576, not 0"));
  EXPECT_THAT(problem(input_text("x", {1, 8192, 2}) + node_text("DFT", {"x"}, {"y"})),
              HasSubstr("needs a matrix of 16384 by 16384 numbers; at most 33554432"));
  EXPECT_THAT(
      problem(floats_text("x", {1, 0, 1}, {}) + integers_text("n", {}, {4}) + node_text("DFT", {"x", "n"}, {"y"})),
      HasSubstr("real or complex, not [1, 0, 1]"));
  EXPECT_THAT(problem(input_text("x", {1, 7, 1}) + integers_text("n", {}, {7}) + integers_text("a", {}, {2}) +
                      node_text("DFT", {"x", "n", "a"}, {"y"})),
              HasSubstr("axis must not be the last one"));
}

TEST(OnnxStft, TransformsEachFrameTimesItsWindow) {
  const std::vector<float> window{0.5F, 1, 2, -1};
  const std::string graph = input_text("x", {1, 7}) + integers_text("step", {}, {2}) +
                            floats_text("window", {4}, window) + node_text("STFT", {"x", "step", "window"}, {"y"});
  std::vector<float> expected;
  for (const std::size_t begin : {0U, 2U}) {
    std::vector<Complex> frame;
    for (std::size_t i = 0; i < 4; ++i) frame.emplace_back(kSamples[begin + i] * window[i]);
    const std::vector<float> bins = parts(transformed(frame, 4), 3);
    expected.insert(expected.end(), bins.begin(), bins.end());
  }
  EXPECT_THAT(result(graph, kSamples), Pointwise(FloatNear(1e-5F), expected));
}

TEST(OnnxStft, TransformsSeveralSignalsIntoAllBins) {
  std::vector<float> signals = kSamples;
  signals.insert(signals.end(), {2, 0, -1, 5, 1, 1, 3});
  std::vector<float> expected;
  for (const std::ptrdiff_t begin : {0, 4, 7, 11}) {
    const std::vector<Complex> frame(signals.begin() + begin, signals.begin() + begin + 3);
    const std::vector<float> bins = parts(transformed(frame, 3), 3);
    expected.insert(expected.end(), bins.begin(), bins.end());
  }
  EXPECT_THAT(result(input_text("x", {2, 7, 1}) + integers_text("step", {}, {4}) + integers_text("n", {}, {3}) +
                         node_text("STFT", {"x", "step", "", "n"}, {"y"}, integer_attribute("onesided", 0)),
                     signals),
              Pointwise(FloatNear(1e-5F), expected));
}

TEST(OnnxStft, WithoutWindowAndLengthTakesTheWholeSignal) {
  EXPECT_THAT(result(input_text("x", {1, 7}) + integers_text("step", {}, {1}) + node_text("STFT", {"x", "step"}, {"y"}),
                     kSamples),
              Pointwise(FloatNear(1e-5F), parts(transformed(complex_of(kSamples), 7), 4)));
}

TEST(OnnxStft, OfWhatItCannotTransformIsRefused) {
  const std::string step = integers_text("step", {}, {2});
  EXPECT_THAT(problem(input_text("x", {1, 7}) + step + floats_text("w", {4}, {1, 1, 1, 1}) +
                      integers_text("n", {}, {5}) + node_text("STFT", {"x", "step", "w", "n"}, {"y"})),
              HasSubstr("frames of 5 samples have a window of 4"));
  EXPECT_THAT(problem(input_text("x", {1, 7, 2}) + step + integers_text("n", {}, {4}) +
                      node_text("STFT", {"x", "step", "", "n"}, {"y"})),
              HasSubstr("is supported for real signals"));
}

TEST(OnnxWindows, AreSumsOfCosines) {
  const auto window = [](const char* op, std::int64_t periodic) {
    return result(input_text("x", {4}) + integers_text("n", {}, {4}) +
                      node_text(op, {"n"}, {"w"}, integer_attribute("periodic", periodic)) +
                      node_text("Mul", {"x", "w"}, {"y"}),
                  {1, 1, 1, 1});
  };
  EXPECT_THAT(window("HannWindow", 1), Pointwise(FloatNear(1e-6F), std::vector<float>{0, 0.5F, 1, 0.5F}));
  EXPECT_THAT(window("HannWindow", 0), Pointwise(FloatNear(1e-6F), std::vector<float>{0, 0.75F, 0.75F, 0}));
  EXPECT_THAT(window("HammingWindow", 1),
              Pointwise(FloatNear(1e-6F), std::vector<float>{4.0F / 46, 25.0F / 46, 1, 25.0F / 46}));
  EXPECT_THAT(problem(input_text("x", {4}) + integers_text("n", {}, {4}) +
                      node_text("HannWindow", {"n"}, {"w"}, integer_attribute("output_datatype", 6)) +
                      node_text("Mul", {"x", "w"}, {"y"})),
              HasSubstr("of int32 is not supported"));
  EXPECT_THAT(window("BlackmanWindow", 1), Pointwise(FloatNear(1e-6F), std::vector<float>{0, 0.34F, 1, 0.34F}));
}

}  // namespace
}  // namespace cohort
