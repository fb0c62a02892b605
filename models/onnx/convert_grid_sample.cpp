#include <algorithm>
#include <optional>
#include <utility>

#include "models/onnx/converters.hpp"
#include "models/onnx/positions.hpp"

// GridSample, of ops that there are: positions and weights of the elements around each point of the grid are computed
// for all axes at once, then all channels of an element are gathered as one row.

namespace cohort::onnx {

namespace {

enum class Interpolation { kNearest, kLinear, kCubic };
enum class Outside { kZeros, kBorder, kReflection };

/// The first names are those of opset 16.
constexpr std::pair<std::string_view, Interpolation> kInterpolations[] = {{"bilinear", Interpolation::kLinear},
                                                                          {"bicubic", Interpolation::kCubic},
                                                                          {"nearest", Interpolation::kNearest},
                                                                          {"linear", Interpolation::kLinear},
                                                                          {"cubic", Interpolation::kCubic}};
constexpr std::pair<std::string_view, Outside> kOutsides[] = {
    {"zeros", Outside::kZeros}, {"border", Outside::kBorder}, {"reflection", Outside::kReflection}};

constexpr float kCubic = -0.75F;

/// The elements that are read along each axis around every point, [points, axes], in the grid's order of axes: what
/// their position adds to that of the row, and their weights; none where that is 1. Outside, where that counts as zero,
/// it adds so much that the row is behind all others.
struct Neighbour {
  TensorId position{};
  std::optional<TensorId> weight;
};

/// Rows to read, [points, 1], and what each counts.
using Row = Neighbour;

/// Of a grid's last dimension: x, the last axis of the image, comes first.
class GridSample {
 public:
  GridSample(NodeImport& node, Shape x, Shape grid)
      : node_(node), x_(std::move(x)), grid_(std::move(grid)), lengths_(x_.rbegin(), x_.rend() - 2) {
    for (float stride = 1; const std::int64_t length : lengths_) {
      strides_.push_back(stride);
      stride *= static_cast<float>(length);
    }
  }

  Result<void> read_attributes() {
    COHORT_TRY(mode_, choice(node_, "mode", "bilinear", kInterpolations));
    COHORT_TRY(outside_, choice(node_, "padding_mode", "zeros", kOutsides));
    COHORT_TRY(const std::int64_t align_corners, node_.integer("align_corners", 0));
    align_corners_ = align_corners != 0;
    return {};
  }

  Result<TensorId> sample(TensorId x, TensorId grid) {
    COHORT_TRY(const TensorId flat, node_.emit_reshape("points", grid, {points(), axes()}));
    COHORT_TRY(const TensorId at, coordinates(flat));
    COHORT_TRY(const std::vector<Neighbour> neighbours, neighbours_of(at));
    COHORT_TRY(const std::vector<Row> rows, rows_of(neighbours));
    COHORT_TRY(const TensorId sum, weighted_sum(x, rows));
    Shape channels_last(grid_.begin(), grid_.end() - 1);
    channels_last.push_back(x_[1]);
    COHORT_TRY(const TensorId shaped, node_.emit_reshape("shaped", sum, std::move(channels_last)));
    Transpose transpose{{0, axes() + 1}};
    for (std::int64_t d = 1; d <= axes(); ++d) transpose.permutation.push_back(d);
    return node_.emit("", std::move(transpose), {shaped});
  }

 private:
  [[nodiscard]] std::int64_t axes() const { return static_cast<std::int64_t>(lengths_.size()); }
  [[nodiscard]] std::int64_t points() const { return element_count(grid_) / axes(); }

  Result<TensorId> apply(BinaryKind kind, TensorId a, TensorId b) { return binary(node_, "grid", kind, a, b); }
  Result<TensorId> apply(BinaryKind kind, TensorId a, float b) { return apply(kind, a, node_.scalar("number", b)); }
  Result<TensorId> apply(ActivationKind kind, TensorId x) { return node_.emit("grid", Activation{kind}, {x}); }

  /// A number for each axis.
  template <class OfLength>
  Result<TensorId> by_axis(OfLength of_length) {
    std::vector<float> values;
    for (const std::int64_t length : lengths_) values.push_back(of_length(static_cast<float>(length)));
    return node_.made_weight("axes", {axes()}, std::move(values));
  }

  /// From -1 to 1 to positions in the image; outside of it, where they come back inside.
  Result<TensorId> coordinates(TensorId grid) {
    COHORT_TRY(TensorId at, apply(BinaryKind::kAdd, grid, 1));
    if (align_corners_) {
      COHORT_TRY(const TensorId half, by_axis([](float length) { return (length - 1) / 2; }));
      COHORT_TRY(at, apply(BinaryKind::kMul, at, half));
    } else {
      COHORT_TRY(const TensorId whole, by_axis([](float length) { return length; }));
      COHORT_TRY(at, apply(BinaryKind::kMul, at, whole));
      COHORT_TRY(at, apply(BinaryKind::kSub, at, 1));
      COHORT_TRY(at, apply(BinaryKind::kMul, at, 0.5F));
    }
    COHORT_TRY(at, bounded(at));
    if (mode_ == Interpolation::kNearest) return apply(ActivationKind::kRound, at);
    if (outside_ == Outside::kReflection) return reflected(at);
    return outside_ == Outside::kBorder && mode_ == Interpolation::kLinear ? clipped(at) : at;
  }

  /// A position far outside, or that is no number, becomes one so near that every number from here on is finite. Where
  /// zeros or the border are read nothing changes; reflections are told apart as far as kFar.
  Result<TensorId> bounded(TensorId at) {
    constexpr float kFar = 1 << 20;
    const float beyond = outside_ == Outside::kReflection ? kFar : 4;
    const TensorId least = node_.scalar("least", -beyond);
    COHORT_TRY(const TensorId most, by_axis([&](float length) { return length - 1 + beyond; }));
    COHORT_TRY(const TensorId is_above, apply(BinaryKind::kGreaterOrEqual, at, least));
    COHORT_TRY(const TensorId raised, node_.emit("grid", Select{}, {is_above, at, least}));
    return apply(BinaryKind::kMin, raised, most);
  }

  Result<TensorId> clipped(TensorId at) {
    COHORT_TRY(const TensorId end, by_axis([](float length) { return length - 1; }));
    COHORT_TRY(const TensorId raised, apply(BinaryKind::kMax, at, 0));
    return apply(BinaryKind::kMin, raised, end);
  }

  /// Mirrored at the first and last element's middle, or at their outer edges, as often as it takes.
  Result<TensorId> reflected(TensorId at) {
    const float low = align_corners_ ? 0 : -0.5F;
    const auto range = [&](float length) { return std::max(length - 1 - 2 * low, 0x1p-20F); };
    COHORT_TRY(const TensorId ranges, by_axis(range));
    COHORT_TRY(const TensorId twice, by_axis([&](float length) { return 2 * range(length); }));
    COHORT_TRY(const TensorId high, by_axis([&](float length) { return length - 1 - low; }));
    COHORT_TRY(TensorId away, apply(BinaryKind::kSub, at, low));
    COHORT_TRY(away, apply(ActivationKind::kAbs, away));
    COHORT_TRY(away, apply(BinaryKind::kMod, away, twice));
    COHORT_TRY(away, apply(BinaryKind::kSub, away, ranges));
    COHORT_TRY(away, apply(ActivationKind::kAbs, away));
    return apply(BinaryKind::kSub, high, away);
  }

  /// Rows of all images; the next one is zeros, where they are read outside.
  [[nodiscard]] float zeros_row() const { return static_cast<float>(x_[0] * element_count(lengths_)); }

  /// `position` along each axis, whole numbers; `weight` of what lies there.
  Result<Neighbour> neighbour(TensorId position, std::optional<TensorId> weight) {
    TensorId inside = position;
    if (outside_ == Outside::kReflection) {
      COHORT_TRY(inside, reflected(position));
    }
    COHORT_TRY(inside, clipped(inside));
    COHORT_TRY(const TensorId strides, node_.made_weight("strides", {axes()}, strides_));
    COHORT_TRY(const TensorId moved, apply(BinaryKind::kMul, inside, strides));
    if (outside_ != Outside::kZeros) return Neighbour{moved, weight};
    COHORT_TRY(const TensorId is_inside, apply(BinaryKind::kEqual, inside, position));
    COHORT_TRY(const TensorId kept,
               node_.emit("grid", Select{}, {is_inside, moved, node_.scalar("zeros", zeros_row())}));
    return Neighbour{kept, weight};
  }

  Result<std::vector<Neighbour>> neighbours_of(TensorId at) {
    std::vector<Neighbour> neighbours;
    if (mode_ == Interpolation::kNearest) {
      COHORT_TRY(neighbours.emplace_back(), neighbour(at, std::nullopt));
      return neighbours;
    }
    COHORT_TRY(const TensorId below, apply(ActivationKind::kFloor, at));
    COHORT_TRY(const TensorId part, apply(BinaryKind::kSub, at, below));
    COHORT_TRY(const TensorId rest, apply(BinaryKind::kSub, node_.scalar("one", 1), part));
    if (mode_ == Interpolation::kLinear) {
      COHORT_TRY(const TensorId above, apply(BinaryKind::kAdd, below, 1));
      COHORT_TRY(neighbours.emplace_back(), neighbour(below, rest));
      COHORT_TRY(neighbours.emplace_back(), neighbour(above, part));
      return neighbours;
    }
    COHORT_TRY(const TensorId far_below, far_weight(part, rest));
    COHORT_TRY(const TensorId near_below, near_weight(part));
    COHORT_TRY(const TensorId near_above, near_weight(rest));
    COHORT_TRY(const TensorId far_above, far_weight(rest, part));
    for (float offset = -1; const TensorId weight : {far_below, near_below, near_above, far_above}) {
      COHORT_TRY(const TensorId position, apply(BinaryKind::kAdd, below, offset));
      COHORT_TRY(neighbours.emplace_back(), neighbour(position, weight));
      ++offset;
    }
    return neighbours;
  }

  /// Keys' cubic convolution with a = -3/4, of an element at distance d: ((a + 2) d - (a + 3)) d^2 + 1.
  Result<TensorId> near_weight(TensorId d) {
    COHORT_TRY(TensorId weight, apply(BinaryKind::kMul, d, kCubic + 2));
    COHORT_TRY(weight, apply(BinaryKind::kSub, weight, kCubic + 3));
    COHORT_TRY(weight, apply(BinaryKind::kMul, weight, d));
    COHORT_TRY(weight, apply(BinaryKind::kMul, weight, d));
    return apply(BinaryKind::kAdd, weight, 1);
  }
  /// At distance d + 1, where `rest` is 1 - d: a d (1 - d)^2.
  Result<TensorId> far_weight(TensorId d, TensorId rest) {
    COHORT_TRY(TensorId weight, apply(BinaryKind::kMul, d, kCubic));
    COHORT_TRY(weight, apply(BinaryKind::kMul, weight, rest));
    return apply(BinaryKind::kMul, weight, rest);
  }

  Result<TensorId> column(TensorId of_axes, std::int64_t axis) {
    return node_.emit("column", TensorSlice{{0, axis}, {1, 1}, {points(), 1}}, {of_axes});
  }

  /// Every choice of a neighbour along each axis.
  Result<std::vector<Row>> rows_of(const std::vector<Neighbour>& neighbours) {
    std::vector<Row> rows;
    for (std::int64_t axis = 0; axis < axes(); ++axis) {
      std::vector<Row> further;
      for (const Neighbour& each : neighbours) {
        COHORT_TRY(Row along, along_axis(each, axis));
        if (rows.empty()) further.push_back(along);
        for (const Row& row : rows) {
          COHORT_TRY(further.emplace_back(), both(row, along));
        }
      }
      rows = std::move(further);
    }
    return rows;
  }

  Result<Row> along_axis(const Neighbour& neighbour, std::int64_t axis) {
    Row row;
    COHORT_TRY(row.position, column(neighbour.position, axis));
    if (neighbour.weight) {
      COHORT_TRY(row.weight.emplace(), column(*neighbour.weight, axis));
    }
    if (axis > 0 || x_[0] == 1) return row;
    // Images lie one behind another.
    std::vector<float> first;
    const float elements = static_cast<float>(element_count(lengths_));
    for (std::int64_t image = 0; image < x_[0]; ++image)
      first.insert(first.end(), static_cast<std::size_t>(points() / x_[0]), static_cast<float>(image) * elements);
    COHORT_TRY(const TensorId images, node_.made_weight("images", {points(), 1}, std::move(first)));
    COHORT_TRY(row.position, apply(BinaryKind::kAdd, row.position, images));
    return row;
  }

  Result<Row> both(const Row& a, const Row& b) {
    Row row;
    COHORT_TRY(row.position, apply(BinaryKind::kAdd, a.position, b.position));
    if (a.weight) {
      COHORT_TRY(row.weight.emplace(), apply(BinaryKind::kMul, *a.weight, *b.weight));
    }
    return row;
  }

  /// [points, channels].
  Result<TensorId> weighted_sum(TensorId x, const std::vector<Row>& rows) {
    Transpose channels_last{{0}};
    for (std::int64_t d = 2; d < axes() + 2; ++d) channels_last.permutation.push_back(d);
    channels_last.permutation.push_back(1);
    COHORT_TRY(const TensorId moved, node_.emit("channels_last", std::move(channels_last), {x}));
    COHORT_TRY(TensorId image, node_.emit_reshape("rows", moved, {x_[0] * element_count(lengths_), x_[1]}));
    if (outside_ == Outside::kZeros) {
      COHORT_TRY(const TensorId zeros,
                 node_.made_weight("zeros", {1, x_[1]}, std::vector<float>(static_cast<std::size_t>(x_[1]), 0)));
      COHORT_TRY(image, node_.emit("rows", Concat{0}, {image, zeros}));
    }
    std::optional<TensorId> sum;
    for (const Row& row : rows) {
      COHORT_TRY(TensorId flat, node_.emit_reshape("positions", row.position, {points()}));
      if (outside_ == Outside::kZeros) {
        COHORT_TRY(flat, apply(BinaryKind::kMin, flat, zeros_row()));
      }
      COHORT_TRY(const TensorId at, node_.emit("positions", Cast{ElementType::kFloat32, ElementType::kInt32}, {flat}));
      COHORT_TRY(TensorId value, node_.emit("values", Gather{0}, {image, at}));
      if (row.weight) {
        COHORT_TRY(value, apply(BinaryKind::kMul, value, *row.weight));
      }
      if (sum) {
        COHORT_TRY(value, apply(BinaryKind::kAdd, *sum, value));
      }
      sum = value;
    }
    return *sum;
  }

  NodeImport& node_;
  Shape x_, grid_, lengths_;    ///< lengths in the grid's order
  std::vector<float> strides_;  ///< likewise, in rows
  Interpolation mode_ = Interpolation::kLinear;
  Outside outside_ = Outside::kZeros;
  bool align_corners_ = false;
};

}  // namespace

Result<void> convert_grid_sample(NodeImport& node) {
  COHORT_TRY(const Shape x_shape, node.shape(0));
  COHORT_TRY(const Shape grid_shape, node.shape(1));
  const bool has_rank = (x_shape.size() == 4 || x_shape.size() == 5) && grid_shape.size() == x_shape.size();
  if (!has_rank || grid_shape.front() != x_shape.front() ||
      grid_shape.back() != static_cast<std::int64_t>(x_shape.size()) - 2)
    return fail(ErrorCode::kInvalidInput,
                "is supported on [N, C, H, W] and a grid [N, H, W, 2], or on [N, C, D, H, W] "
                "and a grid [N, D, H, W, 3], not on {} and {}",
                to_string(x_shape), to_string(grid_shape));
  if (element_count(x_shape) == 0) return fail(ErrorCode::kInvalidInput, "cannot be made of {}", to_string(x_shape));
  Shape rows = x_shape;
  rows[1] = 1;
  COHORT_CHECK(check_positions(rows));
  GridSample sampler(node, x_shape, grid_shape);
  COHORT_CHECK(sampler.read_attributes());
  COHORT_TRY(const TensorId x, node.tensor(0));
  COHORT_TRY(const TensorId grid, node.tensor(1));
  COHORT_TRY(const TensorId y, sampler.sample(x, grid));
  node.set_result(y);
  return {};
}

}  // namespace cohort::onnx
