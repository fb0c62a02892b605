// Gradients of pools. Where channels adjoin in memory, loops run over a strip of them; else over positions in a row.

#include <algorithm>
#include <array>
#include <vector>

#include "executor/onednn/loops/own_way.hpp"
#include "executor/onednn/loops/parallel.hpp"
#include "executor/onednn/loops/vector.hpp"

namespace cohort::onednn {
namespace {

/// Channels that are walked together.
constexpr std::int64_t kStrip = 64;

using Three = std::array<std::int64_t, 3>;

/// A tensor with three spatial dimensions: [N, C, D, H, W].
struct Image {
  std::int64_t sample, channel;
  Three extent{1, 1, 1}, step{};
};

Image image_of(const View& view) {
  Image image{view.strides[0], view.strides[1]};
  const std::size_t missing = 5 - view.shape.size();
  for (std::size_t d = 2; d < view.shape.size(); ++d) {
    image.extent[d - 2 + missing] = view.shape[d];
    image.step[d - 2 + missing] = view.strides[d];
  }
  return image;
}

Three three(const std::vector<std::int64_t>& values, std::int64_t missing) {
  Three result{missing, missing, missing};
  std::copy(values.begin(), values.end(), result.end() - static_cast<std::ptrdiff_t>(values.size()));
  return result;
}

struct Geometry {
  Image dy, x, dx;  ///< x of maxima only
  Three kernel, stride, pad_begin, pad_end, dilation;
  std::int64_t samples, channels;
  bool maximum, count_padding;

  /// What divides an average at output position `at`.
  [[nodiscard]] std::int64_t divisor(const Three& at, std::int64_t inside) const {
    if (!count_padding) return std::max<std::int64_t>(inside, 1);
    std::int64_t count = 1;
    for (std::size_t d = 0; d < 3; ++d) {
      const std::int64_t room = pad_begin[d] + dx.extent[d] + pad_end[d] - at[d] * stride[d];
      count *= std::clamp<std::int64_t>((room + dilation[d] - 1) / dilation[d], 0, kernel[d]);
    }
    return std::max<std::int64_t>(count, 1);
  }
};

std::int64_t place(const Image& image, const Three& at) {
  return at[0] * image.step[0] + at[1] * image.step[1] + at[2] * image.step[2];
}

/// Where elements of a window lie, from the window's first on.
struct Tap {
  std::int64_t x, dx;
};

/// Elements [low, high) of a window along each dimension.
void find_taps(const Geometry& g, const Three& low, const Three& high, std::vector<Tap>& taps) {
  taps.clear();
  for (std::int64_t a = low[0]; a < high[0]; ++a) {
    for (std::int64_t b = low[1]; b < high[1]; ++b) {
      for (std::int64_t c = low[2]; c < high[2]; ++c) {
        const Three from{a * g.dilation[0], b * g.dilation[1], c * g.dilation[2]};
        taps.push_back({place(g.x, from), place(g.dx, from)});
      }
    }
  }
}

/// The window at an output position: where its first element would lie, and those inside x.
class WindowTaps {
 public:
  explicit WindowTaps(const Geometry& g) : g_(g) { find_taps(g, {0, 0, 0}, g.kernel, whole_); }

  void move_to(const Three& at) {
    Three first{}, low{}, high{};
    bool inside = true;
    for (std::size_t d = 0; d < 3; ++d) {
      first[d] = at[d] * g_.stride[d] - g_.pad_begin[d];
      const std::int64_t last = first[d] + (g_.kernel[d] - 1) * g_.dilation[d];
      low[d] = 0;
      high[d] = g_.kernel[d];
      if (first[d] >= 0 && last < g_.dx.extent[d]) continue;
      inside = false;
      if (first[d] < 0) low[d] = (-first[d] + g_.dilation[d] - 1) / g_.dilation[d];
      high[d] = std::min(high[d], (g_.dx.extent[d] - first[d] + g_.dilation[d] - 1) / g_.dilation[d]);
    }
    origin_ = {place(g_.x, first), place(g_.dx, first)};
    if (!inside) find_taps(g_, low, high, border_);
    taps_ = inside ? &whole_ : &border_;
  }

  [[nodiscard]] const Tap& origin() const { return origin_; }
  [[nodiscard]] const std::vector<Tap>& taps() const { return *taps_; }

 private:
  const Geometry& g_;
  std::vector<Tap> whole_, border_;
  const std::vector<Tap>* taps_ = &whole_;
  Tap origin_{};
};

/// Gives dy of a strip of channels to the first largest element of each channel's window.
COHORT_VECTORS void give_to_largest(const float* dy, const float* x, const Tap* taps, std::int64_t count,
                                    std::int64_t width, float* dx) {
  std::int64_t c = 0;
  for (; c + kLanes <= width; c += kLanes) {
    float largest[kLanes];
    std::int32_t which[kLanes] = {};
    std::copy_n(x + taps[0].x + c, kLanes, largest);
    for (std::int64_t t = 1; t < count; ++t) {
      const float* const candidate = x + taps[t].x + c;
#pragma omp simd
      for (std::int64_t lane = 0; lane < kLanes; ++lane) {
        const bool larger = candidate[lane] > largest[lane];
        largest[lane] = larger ? candidate[lane] : largest[lane];
        which[lane] = larger ? static_cast<std::int32_t>(t) : which[lane];
      }
    }
    for (std::int64_t t = 0; t < count; ++t) {
      float* const to = dx + taps[t].dx + c;
#pragma omp simd
      for (std::int64_t lane = 0; lane < kLanes; ++lane)
        to[lane] += which[lane] == static_cast<std::int32_t>(t) ? dy[c + lane] : 0.0F;
    }
  }
  for (; c < width; ++c) {
    const Tap* largest = taps;
    for (std::int64_t t = 1; t < count; ++t) {
      if (x[taps[t].x + c] > x[largest->x + c]) largest = taps + t;
    }
    dx[largest->dx + c] += dy[c];
  }
}

COHORT_VECTORS void give_to_all(const float* dy, float factor, const Tap* taps, std::int64_t count, std::int64_t width,
                                float* dx) {
  for (std::int64_t t = 0; t < count; ++t) {
    float* const to = dx + taps[t].dx;
#pragma omp simd
    for (std::int64_t c = 0; c < width; ++c) to[c] += dy[c] * factor;
  }
}

template <class Visit>
void for_each_position(const Three& extent, const Visit& visit) {
  for (std::int64_t a = 0; a < extent[0]; ++a) {
    for (std::int64_t b = 0; b < extent[1]; ++b) {
      for (std::int64_t c = 0; c < extent[2]; ++c) visit(Three{a, b, c});
    }
  }
}

/// Some channels of one sample, which adjoin.
void give_strip(const Geometry& g, const float* dy, const float* x, std::int64_t width, float* dx, WindowTaps& window) {
  for_each_position(g.dx.extent, [&](const Three& at) { std::fill_n(dx + place(g.dx, at), width, 0.0F); });
  for_each_position(g.dy.extent, [&](const Three& at) {
    window.move_to(at);
    const auto count = static_cast<std::int64_t>(window.taps().size());
    if (count == 0) return;
    const float* const from = dy + place(g.dy, at);
    float* const to = dx + window.origin().dx;
    if (g.maximum) {
      give_to_largest(from, x + window.origin().x, window.taps().data(), count, width, to);
    } else {
      give_to_all(from, 1.0F / static_cast<float>(g.divisor(at, count)), window.taps().data(), count, width, to);
    }
  });
}

/// One channel of one sample, whose positions adjoin in a row.
void give_plane(const Geometry& g, const float* dy, const float* x, float* dx, WindowTaps& window) {
  for_each_position({g.dx.extent[0], g.dx.extent[1], 1},
                    [&](const Three& at) { std::fill_n(dx + place(g.dx, at), g.dx.extent[2], 0.0F); });
  for_each_position(g.dy.extent, [&](const Three& at) {
    window.move_to(at);
    if (window.taps().empty()) return;
    const float given = dy[place(g.dy, at)];
    float* const to = dx + window.origin().dx;
    if (!g.maximum) {
      const float part = given / static_cast<float>(g.divisor(at, static_cast<std::int64_t>(window.taps().size())));
      for (const Tap& tap : window.taps()) to[tap.dx] += part;
      return;
    }
    const float* const from = x + window.origin().x;
    const Tap* largest = window.taps().data();
    for (const Tap& tap : window.taps()) {
      if (from[tap.x] > from[largest->x]) largest = &tap;
    }
    to[largest->dx] += given;
  });
}

void run(const Geometry& g, bool by_channels, int threads, const HostArguments& arguments) {
  const std::int64_t strip = by_channels ? kStrip : 1;
  const std::int64_t strips = (g.channels + strip - 1) / strip;
  const std::int64_t positions = g.dx.extent[0] * g.dx.extent[1] * g.dx.extent[2];
  in_parallel(threads, g.samples * strips, positions * std::min(strip, g.channels),
              [&](std::int64_t begin, std::int64_t end) {
                WindowTaps window(g);
                for (std::int64_t i = begin; i < end; ++i) {
                  const std::int64_t n = i / strips, c = i % strips * strip;
                  const float* const dy = arguments.inputs[0] + n * g.dy.sample + c * g.dy.channel;
                  const float* const x = g.maximum ? arguments.inputs[1] + n * g.x.sample + c * g.x.channel : nullptr;
                  float* const dx = arguments.outputs[0] + n * g.dx.sample + c * g.dx.channel;
                  if (by_channels) {
                    give_strip(g, dy, x, std::min(strip, g.channels - c), dx, window);
                  } else {
                    give_plane(g, dy, x, dx, window);
                  }
                }
              });
}

}  // namespace

OwnWays own_ways(const PoolGradient& op, const OpCall& call, int threads) {
  if (!call.post_ops.empty()) return {};
  const View& dx = call.outputs[0];
  const bool maximum = op.pool.kind == PoolKind::kMax;
  const View dy = view_of(call, 0), x = maximum ? view_of(call, 1) : dx;
  const Window& window = op.pool.window;
  const Geometry g{image_of(dy),
                   image_of(x),
                   image_of(dx),
                   three(window.kernel, 1),
                   three(window.stride, 1),
                   three(window.pad_begin, 0),
                   three(window.pad_end, 0),
                   three(window.dilation, 1),
                   dx.shape[0],
                   dx.shape[1],
                   maximum,
                   op.pool.count_include_pad};
  const auto adjoin = [](const View& view, std::size_t axis) {
    return view.shape[axis] == 1 || view.strides[axis] == 1;
  };
  const std::size_t last = dx.shape.size() - 1;
  const bool by_channels = adjoin(dy, 1) && adjoin(x, 1) && adjoin(dx, 1) && dx.shape[1] > 1;
  if (!by_channels && !adjoin(dx, last)) return {};
  return {{[=](const HostArguments& arguments) { run(g, by_channels, threads, arguments); }, {}, maximum}};
}

}  // namespace cohort::onednn
