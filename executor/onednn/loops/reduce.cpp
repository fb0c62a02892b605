// Sums, means, norms, extremes and logarithms of sums along any axes. Dimensions that lie one in the other in memory
// are one; loops are vectorised over the innermost, whether it is reduced or kept.

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <vector>

#include "executor/onednn/loops/own_way.hpp"
#include "executor/onednn/loops/parallel.hpp"
#include "executor/onednn/loops/vector.hpp"

namespace cohort::onednn {
namespace {

/// Kept elements side by side, and lines or elements that are reduced in float before the result goes into a double.
constexpr std::int64_t kStrip = 64;
constexpr std::int64_t kLines = 64;
constexpr std::int64_t kRun = 1024;

struct Dimension {
  std::int64_t extent, x, y;  ///< steps in elements; y's of kept ones
};

std::int64_t count_of(const std::vector<Dimension>& all) {
  return std::accumulate(all.begin(), all.end(), std::int64_t{1},
                         [](std::int64_t count, const Dimension& d) { return count * d.extent; });
}

struct Place {
  std::int64_t x = 0, y = 0;
};
Place place_of(const std::vector<Dimension>& all, std::int64_t index) {
  Place place;
  for (std::size_t i = all.size(); i-- > 0;) {
    const std::int64_t at = index % all[i].extent;
    index /= all[i].extent;
    place.x += at * all[i].x;
    place.y += at * all[i].y;
  }
  return place;
}

/// What is made of the elements.
struct Function {
  /// Of adjoining ones. `largest` is the largest of all that its result is made of; only exponentials look at it.
  float (*of_run)(const float* x, std::int64_t count, float largest) = nullptr;
  /// Of elements that lie `step` apart, each into its own result, with the largest of its own.
  void (*add_line)(const float* x, std::int64_t step, std::int64_t count, float* into, const float* largest) = nullptr;
  double (*take)(double all, double part) = nullptr;
  double start = 0;
  double (*finish)(double all, float largest) = nullptr;  ///< null: division
  bool needs_largest = false;  ///< It stands in the result before: a pass that takes the maximum has put it there.
};

struct Reduction {
  std::vector<Dimension> kept, reduced;  ///< but for the innermost one, outermost first
  Dimension inner{1, 1, 0};
  bool inner_reduced = true;
  const Function* function = nullptr;
  double divisor = 1;  ///< of a mean

  [[nodiscard]] double take(double all, double part) const { return function->take(all, part); }
  [[nodiscard]] float finish(double all, float largest) const {
    return static_cast<float>(function->finish == nullptr ? all / divisor : function->finish(all, largest));
  }
  [[nodiscard]] float largest_at(const float* y) const { return function->needs_largest ? *y : 0; }
  /// Copies those of `count` results that lie `step` apart, where they are needed.
  void copy_largest(const float* y, std::int64_t step, std::int64_t count, float* to) const {
    if (!function->needs_largest) return;
    for (std::int64_t i = 0; i < count; ++i) to[i] = y[i * step];
  }
};

/// into[i] = function(into[i], x[i * step]).
template <class Function>
COHORT_INLINE void combine(const float* x, std::int64_t step, std::int64_t count, float* into,
                           const Function& function) {
  if (step == 1) {
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) into[i] = function(into[i], x[i]);
    return;
  }
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) into[i] = function(into[i], x[i * step]);
}

COHORT_VECTORS float sum_run(const float* x, std::int64_t count, float) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < count; ++i) sum += x[i];
  return sum;
}

COHORT_VECTORS float sum_squares(const float* x, std::int64_t count, float) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < count; ++i) sum += x[i] * x[i];
  return sum;
}

COHORT_VECTORS void add_line(const float* x, std::int64_t step, std::int64_t count, float* into, const float*) {
  combine(x, step, count, into, [](float sum, float each) { return sum + each; });
}

COHORT_VECTORS void add_squares(const float* x, std::int64_t step, std::int64_t count, float* into, const float*) {
  combine(x, step, count, into, [](float sum, float each) { return sum + each * each; });
}

COHORT_VECTORS float sum_magnitudes(const float* x, std::int64_t count, float) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < count; ++i) sum += std::fabs(x[i]);
  return sum;
}

COHORT_VECTORS void add_magnitudes(const float* x, std::int64_t step, std::int64_t count, float* into, const float*) {
  combine(x, step, count, into, [](float sum, float each) { return sum + std::fabs(each); });
}

COHORT_VECTORS float sum_exponentials(const float* x, std::int64_t count, float largest) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < count; ++i) sum += vector_exp(x[i] - largest);
  return sum;
}

COHORT_VECTORS void add_exponentials(const float* x, std::int64_t step, std::int64_t count, float* into,
                                     const float* largest) {
  if (step == 1) {
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) into[i] += vector_exp(x[i] - largest[i]);
    return;
  }
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) into[i] += vector_exp(x[i * step] - largest[i]);
}

/// The larger or smaller of two, or the one that is no number.
template <bool kLargest>
COHORT_INLINE float extreme(float best, float x) {
  return (kLargest ? x > best : x < best) || x != x ? x : best;
}
template <bool kLargest>
constexpr float kNoExtreme = kLargest ? -INFINITY : INFINITY;

template <bool kLargest>
COHORT_INLINE float extreme_of_run(const float* x, std::int64_t count) {
  float lanes[kLanes];
  std::fill_n(lanes, kLanes, kNoExtreme<kLargest>);
  const std::int64_t whole = count / kLanes * kLanes;
  for (std::int64_t i = 0; i < whole; i += kLanes) {
#pragma omp simd
    for (std::int64_t lane = 0; lane < kLanes; ++lane) lanes[lane] = extreme<kLargest>(lanes[lane], x[i + lane]);
  }
  float best = kNoExtreme<kLargest>;
  for (std::int64_t lane = 0; lane < kLanes; ++lane) best = extreme<kLargest>(best, lanes[lane]);
  for (std::int64_t i = whole; i < count; ++i) best = extreme<kLargest>(best, x[i]);
  return best;
}
COHORT_VECTORS float largest_of_run(const float* x, std::int64_t count, float) {
  return extreme_of_run<true>(x, count);
}
COHORT_VECTORS float smallest_of_run(const float* x, std::int64_t count, float) {
  return extreme_of_run<false>(x, count);
}

COHORT_VECTORS void add_largest(const float* x, std::int64_t step, std::int64_t count, float* into, const float*) {
  combine(x, step, count, into, [](float best, float each) { return extreme<true>(best, each); });
}
COHORT_VECTORS void add_smallest(const float* x, std::int64_t step, std::int64_t count, float* into, const float*) {
  combine(x, step, count, into, [](float best, float each) { return extreme<false>(best, each); });
}

double add(double all, double part) { return all + part; }
/// Parts are floats.
template <bool kLargest>
double take_extreme(double all, double part) {
  return static_cast<double>(extreme<kLargest>(static_cast<float>(all), static_cast<float>(part)));
}
double as_it_is(double all, float) { return all; }
double square_root(double all, float) { return std::sqrt(all); }
double logarithm(double all, float) { return std::log(all); }
/// inf - inf is NaN: a largest that is infinite, or NaN, is itself the result.
double logarithm_and_largest(double all, float largest) {
  return std::isfinite(largest) ? std::log(all) + static_cast<double>(largest) : static_cast<double>(largest);
}

constexpr Function kSum{sum_run, add_line, add};
constexpr Function kLogOfSum{sum_run, add_line, add, 0, logarithm};
constexpr Function kMagnitudes{sum_magnitudes, add_magnitudes, add};
constexpr Function kSquares{sum_squares, add_squares, add};
constexpr Function kNorm{sum_squares, add_squares, add, 0, square_root};
constexpr Function kMaximum{largest_of_run, add_largest, take_extreme<true>, kNoExtreme<true>, as_it_is};
constexpr Function kMinimum{smallest_of_run, add_smallest, take_extreme<false>, kNoExtreme<false>, as_it_is};
constexpr Function kExponentials{sum_exponentials, add_exponentials, add, 0, logarithm_and_largest, true};

/// Null where there are no loops for it.
const Function* function_of(ReduceKind kind) {
  switch (kind) {
    case ReduceKind::kSum:
    case ReduceKind::kMean:
      return &kSum;
    case ReduceKind::kL1:
      return &kMagnitudes;
    case ReduceKind::kL2:
      return &kNorm;
    case ReduceKind::kSumOfSquares:
      return &kSquares;
    case ReduceKind::kLogSum:
      return &kLogOfSum;
    case ReduceKind::kMax:
      return &kMaximum;
    case ReduceKind::kMin:
      return &kMinimum;
    case ReduceKind::kLogSumExp:
      return &kExponentials;
    default:
      return nullptr;
  }
}

double of_part(const Reduction& r, const float* x, std::int64_t count, float largest) {
  double all = r.function->start;
  for (std::int64_t at = 0; at < count; at += kRun)
    all = r.take(all, static_cast<double>(r.function->of_run(x + at, std::min(kRun, count - at), largest)));
  return all;
}

/// One value for each kept place; of a single one threads share the elements.
void reduce_rows(const Reduction& r, int threads, const HostArguments& arguments) {
  const std::int64_t kept = count_of(r.kept), outer = count_of(r.reduced);
  const float* const x = arguments.inputs[0];
  float* const y = arguments.outputs[0];
  if (kept == 1 && outer == 1) {
    auto* const results = reinterpret_cast<double*>(arguments.workspace);
    const std::int64_t count = r.inner.extent;
    const std::int64_t parts = std::clamp<std::int64_t>(count / kGrain, 1, threads);
    const float largest = r.largest_at(y);
    in_parallel(static_cast<int>(parts), parts, kGrain, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t part = first; part < last; ++part) {
        const std::int64_t begin = count * part / parts, end = count * (part + 1) / parts;
        results[part] = of_part(r, x + begin, end - begin, largest);
      }
    });
    double all = r.function->start;
    for (std::int64_t part = 0; part < parts; ++part) all = r.take(all, results[part]);
    y[0] = r.finish(all, largest);
    return;
  }
  in_parallel(threads, kept, outer * r.inner.extent, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t k = begin; k < end; ++k) {
      const Place to = place_of(r.kept, k);
      const float largest = r.largest_at(y + to.y);
      double all = r.function->start;
      for (std::int64_t i = 0; i < outer; ++i)
        all = r.take(all, of_part(r, x + to.x + place_of(r.reduced, i).x, r.inner.extent, largest));
      y[to.y] = r.finish(all, largest);
    }
  });
}

/// Rows of at most so many elements are reduced side by side: a call for each would take longer than its work.
constexpr std::int64_t kShortRow = 8;

bool has_short_rows(const Reduction& r) { return r.inner_reduced && r.inner.extent <= kShortRow && !r.kept.empty(); }

void reduce_short_rows(const Reduction& r, int threads, const HostArguments& arguments) {
  const Dimension& side = r.kept.back();
  const std::int64_t kept = count_of(r.kept), outer = count_of(r.reduced), width = r.inner.extent;
  in_parallel(threads, kept, outer * width, [&](std::int64_t begin, std::int64_t end) {
    float strip[kStrip], largest[kStrip] = {};
    double results[kStrip];
    for (std::int64_t k = begin, count = 0; k < end; k += count) {
      count = std::min({kStrip, end - k, side.extent - k % side.extent});
      const Place to = place_of(r.kept, k);
      float* const y = arguments.outputs[0] + to.y;
      r.copy_largest(y, side.y, count, largest);
      for (std::int64_t i = 0; i < outer; ++i) {
        const float* const rows = arguments.inputs[0] + to.x + place_of(r.reduced, i).x;
        std::fill_n(strip, count, static_cast<float>(r.function->start));
        for (std::int64_t c = 0; c < width; ++c) r.function->add_line(rows + c, side.x, count, strip, largest);
        if (i == 0) {
          std::copy_n(strip, count, results);
          continue;
        }
        for (std::int64_t j = 0; j < count; ++j) results[j] = r.take(results[j], static_cast<double>(strip[j]));
      }
      for (std::int64_t j = 0; j < count; ++j) y[j * side.y] = r.finish(results[j], largest[j]);
    }
  });
}

/// Of lines [begin, end) of the reduced ones, at the kept place whose elements begin at `from` and whose results at
/// `y`: a result for each inner element.
void of_lines(const Reduction& r, const float* from, const float* y, std::int64_t begin, std::int64_t end,
              double* results) {
  const std::int64_t width = r.inner.extent;
  float strip[kStrip], largest[kStrip] = {};
  std::int64_t places[kLines];
  for (std::int64_t at = begin; at < end; at += kLines) {
    const std::int64_t lines = std::min(kLines, end - at);
    for (std::int64_t i = 0; i < lines; ++i) places[i] = place_of(r.reduced, at + i).x;
    for (std::int64_t first = 0; first < width; first += kStrip) {
      const std::int64_t count = std::min(kStrip, width - first);
      std::fill_n(strip, count, static_cast<float>(r.function->start));
      r.copy_largest(y + first * r.inner.y, r.inner.y, count, largest);
      for (std::int64_t i = 0; i < lines; ++i) r.function->add_line(from + places[i] + first, 1, count, strip, largest);
      if (at == begin) {
        std::copy_n(strip, count, results + first);
        continue;
      }
      for (std::int64_t c = 0; c < count; ++c)
        results[first + c] = r.take(results[first + c], static_cast<double>(strip[c]));
    }
  }
}

/// Parts that the lines of each kept place are cut into, so that every thread has one.
std::int64_t parts_of(const Reduction& r, int threads) {
  const std::int64_t kept = count_of(r.kept), lines = count_of(r.reduced);
  if (kept >= threads) return 1;
  return std::clamp<std::int64_t>(lines * r.inner.extent / kGrain, 1, std::min<std::int64_t>(threads, lines));
}

void reduce_columns(const Reduction& r, int threads, const HostArguments& arguments) {
  const std::int64_t kept = count_of(r.kept), lines = count_of(r.reduced), width = r.inner.extent;
  const std::int64_t parts = parts_of(r, threads);
  auto* const all = reinterpret_cast<double*>(arguments.workspace);
  const auto put = [&](float* y, const double* results) {
    for (std::int64_t c = 0; c < width; ++c) {
      float& result = y[c * r.inner.y];
      result = r.finish(results[c], r.largest_at(&result));
    }
  };
  if (parts == 1) {
    const std::int64_t workers = std::min<std::int64_t>(threads, kept);
    in_parallel(static_cast<int>(workers), workers, kept * lines * width / workers,
                [&](std::int64_t first, std::int64_t last) {
                  for (std::int64_t worker = first; worker < last; ++worker) {
                    double* const results = all + worker * width;
                    for (std::int64_t k = kept * worker / workers; k < kept * (worker + 1) / workers; ++k) {
                      const Place to = place_of(r.kept, k);
                      float* const y = arguments.outputs[0] + to.y;
                      of_lines(r, arguments.inputs[0] + to.x, y, 0, lines, results);
                      put(y, results);
                    }
                  }
                });
    return;
  }
  for (std::int64_t k = 0; k < kept; ++k) {
    const Place to = place_of(r.kept, k);
    float* const y = arguments.outputs[0] + to.y;
    in_parallel(static_cast<int>(parts), parts, kGrain, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t part = first; part < last; ++part)
        of_lines(r, arguments.inputs[0] + to.x, y, lines * part / parts, lines * (part + 1) / parts,
                 all + part * width);
    });
    for (std::int64_t part = 1; part < parts; ++part) {
      for (std::int64_t c = 0; c < width; ++c) all[c] = r.take(all[c], all[part * width + c]);
    }
    put(y, all);
  }
}

/// The dimensions of x, those that lie one in the other as one; empty where the innermost has gaps.
std::optional<Reduction> reduction_of(const Reduce& op, const View& x, const View& y) {
  struct Each {
    Dimension dimension;
    bool reduced;
  };
  std::vector<Each> all;
  std::size_t next = 0;
  for (std::size_t d = 0; d < x.shape.size(); ++d) {
    const bool reduced = std::binary_search(op.axes.begin(), op.axes.end(), static_cast<std::int64_t>(d));
    const std::int64_t to = reduced ? 0 : y.strides[next];
    if (!reduced || op.keep_axes) ++next;
    if (x.shape[d] > 1) all.push_back({{x.shape[d], x.strides[d], to}, reduced});
  }
  std::stable_sort(all.begin(), all.end(), [](const Each& a, const Each& b) { return a.dimension.x > b.dimension.x; });
  std::vector<Each> joined;
  for (const Each& each : all) {
    const auto joins = [&](const Each& outer) {
      const Dimension& d = each.dimension;
      return outer.reduced == each.reduced && outer.dimension.x == d.x * d.extent &&
             (each.reduced || outer.dimension.y == d.y * d.extent);
    };
    if (joined.empty() || !joins(joined.back())) {
      joined.push_back(each);
      continue;
    }
    joined.back().dimension = {joined.back().dimension.extent * each.dimension.extent, each.dimension.x,
                               each.dimension.y};
  }
  Reduction r;
  if (!joined.empty()) {
    r.inner = joined.back().dimension;
    r.inner_reduced = joined.back().reduced;
    joined.pop_back();
  }
  if (r.inner.x != 1) return std::nullopt;
  for (const Each& each : joined) (each.reduced ? r.reduced : r.kept).push_back(each.dimension);
  return r;
}

}  // namespace

OwnWays own_ways(const Reduce& op, const OpCall& call, int threads) {
  const Function* const function = function_of(op.kind);
  const View x = view_of(call, 0);
  if (function == nullptr || op.axes.empty() || !call.post_ops.empty() || element_count(x.shape) == 0) return {};
  std::optional<Reduction> r = reduction_of(op, x, call.outputs[0]);
  if (!r) return {};
  r->function = function;
  if (op.kind == ReduceKind::kMean)
    r->divisor =
        static_cast<double>(element_count(x.shape)) / static_cast<double>(element_count(call.outputs[0].shape));
  const std::int64_t results = r->inner_reduced ? threads : threads * r->inner.extent;
  const auto reduce = has_short_rows(*r) ? reduce_short_rows : r->inner_reduced ? reduce_rows : reduce_columns;
  Reduction extremes = *r;
  extremes.function = &kMaximum;
  return {{[=, r = *std::move(r), extremes = std::move(extremes)](const HostArguments& arguments) {
             if (r.function->needs_largest) reduce(extremes, threads, arguments);
             reduce(r, threads, arguments);
           },
           Bytes{results * std::int64_t{sizeof(double)}}}};
}

}  // namespace cohort::onednn
