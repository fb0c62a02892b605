#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "models/onnx/onnx_file.hpp"
#include "tests/models/evaluate.hpp"
#include "tests/models/onnx_text.hpp"

/// GridSample beside a plain computation of what ONNX says of it.
namespace cohort {
namespace {

using testing::HasSubstr;

struct Way {
  std::string_view mode, outside;
  bool align_corners = false;
};

/// Of one axis.
double unnormalized(const Way& way, float at, std::int64_t length) {
  const auto extent = static_cast<double>(length);
  const auto x = static_cast<double>(at);
  return way.align_corners ? (x + 1) / 2 * (extent - 1) : ((x + 1) * extent - 1) / 2;
}

double mirrored(double at, double low, double high) {
  while (at < low || at > high) at = at < low ? 2 * low - at : 2 * high - at;
  return at;
}

double mirrored(const Way& way, double at, std::int64_t length) {
  const double edge = way.align_corners ? 0 : 0.5;
  return mirrored(at, -edge, static_cast<double>(length) - 1 + edge);
}

double cubic(double distance) {
  constexpr double kA = -0.75;
  const double d = std::abs(distance);
  if (d <= 1) return ((kA + 2) * d - (kA + 3)) * d * d + 1;
  return d < 2 ? ((kA * d - 5 * kA) * d + 8 * kA) * d - 4 * kA : 0;
}

/// Elements along one axis, and their weights: those outside that count as zero are left out.
std::vector<std::pair<std::int64_t, double>> elements_around(const Way& way, float coordinate, std::int64_t length) {
  double at = unnormalized(way, coordinate, length);
  if (way.mode == "nearest") at = std::nearbyint(at);
  const double last = static_cast<double>(length) - 1;
  if (way.outside == "border" && way.mode == "bilinear") at = std::clamp(at, 0.0, last);
  if (way.outside == "reflection") at = mirrored(way, at, length);
  std::vector<std::pair<std::int64_t, double>> elements;
  for (double place = std::floor(at) - 1; place <= std::floor(at) + 2; ++place) {
    const double distance = place - at;
    double weight = std::max(0.0, 1 - std::abs(distance));
    if (way.mode == "nearest") weight = place == at ? 1 : 0;
    if (way.mode == "bicubic") weight = cubic(distance);
    if (weight == 0) continue;
    double inside = std::clamp(place, 0.0, last);
    if (way.outside == "zeros" && inside != place) continue;
    if (way.outside == "reflection") inside = std::clamp(mirrored(way, place, length), 0.0, last);
    elements.emplace_back(static_cast<std::int64_t>(inside), weight);
  }
  return elements;
}

/// x [N, C, H, W], grid [N, points, 1, 2].
std::vector<float> sampled(const Way& way, const Shape& shape, const std::vector<float>& x,
                           const std::vector<float>& grid, std::int64_t points) {
  std::vector<float> y;
  for (std::int64_t n = 0; n < shape[0]; ++n) {
    for (std::int64_t c = 0; c < shape[1]; ++c) {
      for (std::int64_t p = 0; p < points; ++p) {
        const auto at = static_cast<std::size_t>(2 * (n * points + p));
        double sum = 0;
        for (const auto& [h, h_weight] : elements_around(way, grid[at + 1], shape[2])) {
          for (const auto& [w, w_weight] : elements_around(way, grid[at], shape[3]))
            sum += h_weight * w_weight *
                   static_cast<double>(x[static_cast<std::size_t>(((n * shape[1] + c) * shape[2] + h) * shape[3] + w)]);
        }
        y.push_back(static_cast<float>(sum));
      }
    }
  }
  return y;
}

std::string grid_sample(const Shape& x, const Shape& grid, const Way& way) {
  const std::string attributes = text_attribute("mode", way.mode) + text_attribute("padding_mode", way.outside) +
                                 integer_attribute("align_corners", way.align_corners ? 1 : 0);
  return onnx_model(16, input_text("x", x) + input_text("grid", grid) + output_text("y") +
                            node_text("GridSample", {"x", "grid"}, {"y"}, attributes));
}

/// Values that repeat with no period of the image.
std::vector<float> values(const Shape& shape, float scale) {
  std::vector<float> all(static_cast<std::size_t>(element_count(shape)));
  for (std::size_t i = 0; i < all.size(); ++i)
    all[i] = scale * static_cast<float>(std::sin(1.7 * static_cast<double>(i)));
  return all;
}

TEST(OnnxGridSample, ComputesWhatOnnxSaysInEveryWay) {
  const Shape shape{2, 3, 5, 4};
  const std::int64_t points = 60;
  const std::vector<float> x = values(shape, 2), grid = values({2, points, 1, 2}, 2.6F);
  for (const std::string_view mode : {"nearest", "bilinear", "bicubic"}) {
    for (const std::string_view outside : {"zeros", "border", "reflection"}) {
      for (const bool align_corners : {false, true}) {
        SCOPED_TRACE(fmt::format("{} {} {}", mode, outside, align_corners));
        const Way way{mode, outside, align_corners};
        const Result<LoadedModel> loaded = onnx::parse_model(grid_sample(shape, {2, points, 1, 2}, way), {});
        ASSERT_TRUE(loaded) << loaded.error().message;
        EXPECT_EQ(loaded->model.tensor(loaded->model.outputs[0]).shape, (Shape{2, 3, points, 1}));
        const auto y = evaluate(*loaded, {x, grid});
        ASSERT_TRUE(y) << y.error().message;
        EXPECT_LE(excess(y->front(), sampled(way, shape, x, grid, points), 1e-4), 1e-5);
      }
    }
  }
}

TEST(OnnxGridSample, PicksElementsOfVolumes) {
  // The grid's first number is along the last axis.
  const Way way{"nearest", "zeros", true};
  const Result<LoadedModel> loaded = onnx::parse_model(grid_sample({1, 2, 2, 3, 3}, {1, 1, 1, 3, 3}, way), {});
  ASSERT_TRUE(loaded) << loaded.error().message;
  std::vector<float> x(36);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i + 1);
  const auto y = evaluate(*loaded, {x, {-1, -1, -1, /**/ 1, 0, -1, /**/ 0, 3, 1}});
  ASSERT_TRUE(y) << y.error().message;
  EXPECT_THAT(y->front(), testing::ElementsAre(1, 6, 0, 19, 24, 0));
}

std::vector<float> values_of(const std::string& graph, const std::vector<std::vector<float>>& inputs) {
  const Result<LoadedModel> loaded = onnx::parse_model(graph, {});
  EXPECT_TRUE(loaded) << loaded.error().message;
  if (!loaded) return {};
  const auto y = evaluate(*loaded, inputs);
  EXPECT_TRUE(y) << y.error().message;
  return y ? y->front() : std::vector<float>();
}

TEST(OnnxGridSample, OfAVolumeOfOneImageIsThatOfTheImage) {
  const Shape image{2, 3, 5, 4}, volume{2, 3, 1, 5, 4};
  const std::int64_t points = 20;
  const std::vector<float> x = values(image, 2), grid = values({2, points, 1, 2}, 1.4F);
  std::vector<float> deeper;
  for (std::size_t i = 0; i < grid.size(); i += 2) deeper.insert(deeper.end(), {grid[i], grid[i + 1], 0});
  for (const std::string_view mode : {"nearest", "bilinear"}) {
    for (const std::string_view outside : {"zeros", "border", "reflection"}) {
      SCOPED_TRACE(fmt::format("{} {}", mode, outside));
      const Way way{mode, outside, true};
      const std::vector<float> y = values_of(grid_sample(volume, {2, 1, points, 1, 3}, way), {x, deeper});
      EXPECT_LE(excess(y, values_of(grid_sample(image, {2, points, 1, 2}, way), {x, grid}), 1e-5), 1e-6);
    }
  }
}

TEST(OnnxGridSample, IsANumberWhereTheGridIsNoneOrFarOutside) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> grid{kNaN, 0, kInfinity, kInfinity, -kInfinity, 0, 3e38F, -3e38F, 1e4F, 0.5F};
  for (const std::string_view mode : {"nearest", "bilinear", "bicubic"}) {
    for (const std::string_view outside : {"zeros", "border", "reflection"}) {
      SCOPED_TRACE(fmt::format("{} {}", mode, outside));
      const std::vector<float> y =
          values_of(grid_sample({1, 1, 3, 2}, {1, 5, 1, 2}, {mode, outside}), {{1, 2, 3, 4, 5, 6}, grid});
      EXPECT_THAT(y, testing::Each(testing::AllOf(testing::Ge(0.0F), testing::Le(7.0F))));
      if (outside == "zeros") {
        EXPECT_THAT(y, testing::Each(0.0F));
      }
    }
  }
}

TEST(OnnxGridSample, DoesNotReadWhatLiesBesideZeros) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const std::vector<float> x{kInfinity, 2, 3, 4, 5, kInfinity};
  for (const std::string_view mode : {"nearest", "bilinear", "bicubic"}) {
    EXPECT_THAT(values_of(grid_sample({1, 1, 3, 2}, {1, 2, 1, 2}, {mode, "zeros"}), {x, {-5, -5, 4, 4}}),
                testing::Each(0.0F));
  }
}

TEST(OnnxGridSample, SaysWhatDoesNotFit) {
  const auto problem = [](const std::string& bytes) {
    const Result<LoadedModel> loaded = onnx::parse_model(bytes, {});
    return loaded ? std::string("read") : loaded.error().message;
  };
  EXPECT_THAT(problem(grid_sample({2, 1, 4, 4}, {1, 2, 2, 2}, {"bilinear", "zeros"})),
              HasSubstr("not on [2, 1, 4, 4] and [1, 2, 2, 2]"));
  EXPECT_THAT(problem(grid_sample({1, 1, 4, 4}, {1, 2, 2, 3}, {"bilinear", "zeros"})),
              HasSubstr("a grid [N, H, W, 2]"));
  EXPECT_THAT(problem(grid_sample({1, 1, 4}, {1, 2, 1}, {"bilinear", "zeros"})), HasSubstr("not on [1, 1, 4]"));
  EXPECT_THAT(problem(grid_sample({1, 1, 4, 4}, {1, 2, 2, 2}, {"area", "zeros"})), HasSubstr("attribute mode is area"));
  EXPECT_THAT(problem(grid_sample({1, 1, 4, 4}, {1, 2, 2, 2}, {"nearest", "wrap"})),
              HasSubstr("attribute padding_mode is wrap"));
}

std::string affine_grid(const Shape& theta, const std::vector<std::int64_t>& size, bool align_corners) {
  return onnx_model(20, input_text("theta", theta) + output_text("y") +
                            integers_text("size", {static_cast<std::int64_t>(size.size())}, size) +
                            node_text("AffineGrid", {"theta", "size"}, {"y"},
                                      integer_attribute("align_corners", align_corners ? 1 : 0)));
}

TEST(OnnxAffineGrid, MovesThePlacesOfAnImage) {
  using testing::ElementsAre;
  // x and y of two rows of two elements: as they are, and in a second sample x doubled and y moved by 1.
  const std::vector<float> theta{1, 0, 0, 0, 1, 0, 2, 0, 0, 0, 1, 1};
  EXPECT_THAT(values_of(affine_grid({2, 2, 3}, {2, 5, 2, 2}, true), {theta}),
              ElementsAre(-1, -1, 1, -1, -1, 1, 1, 1, -2, 0, 2, 0, -2, 2, 2, 2));
  EXPECT_THAT(values_of(affine_grid({2, 2, 3}, {2, 5, 2, 2}, false), {theta}),
              ElementsAre(-0.5, -0.5, 0.5, -0.5, -0.5, 0.5, 0.5, 0.5, -1, 0.5, 1, 0.5, -1, 1.5, 1, 1.5));
  // In a volume of one element all coordinates are those of its middle, or of its first corner.
  const std::vector<float> same{1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0};
  EXPECT_THAT(values_of(affine_grid({1, 3, 4}, {1, 1, 1, 1, 1}, false), {same}), ElementsAre(0, 0, 0));
  EXPECT_THAT(values_of(affine_grid({1, 3, 4}, {1, 1, 1, 1, 1}, true), {same}), ElementsAre(-1, -1, -1));
}

TEST(OnnxAffineGrid, SaysWhatDoesNotFit) {
  for (const std::vector<std::int64_t>& size :
       {std::vector<std::int64_t>{2, 1, 4, 4}, {1, 1, 4}, {1, 1, 2, 4, 4}, {}}) {
    const Result<LoadedModel> loaded = onnx::parse_model(affine_grid({1, 2, 3}, size, false), {});
    EXPECT_THAT(loaded ? std::string("read") : loaded.error().message, HasSubstr("not on [1, 2, 3] and"));
  }
}

}  // namespace
}  // namespace cohort
