// Elements gathered, repeated, joined, packed and put back where they were taken from.

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "executor/onednn/loops/columns.hpp"
#include "executor/onednn/loops/indices.hpp"
#include "executor/onednn/loops/own_way.hpp"
#include "executor/onednn/loops/parallel.hpp"
#include "executor/onednn/loops/strided_copy.hpp"
#include "executor/onednn/loops/vector.hpp"
#include "executor/onednn/operands.hpp"
#include "executor/reference/tensor_ref.hpp"
#include "simulator/plan/values.hpp"

namespace cohort::onednn {
namespace {

/// [outer, extent, inner] from which entries of the middle axis are taken.
struct Entries {
  std::int64_t outer = 1, extent = 1, inner = 1, count = 1;  ///< count: of indices
};

Entries entries_of(const Shape& x, std::int64_t axis, const View& indices) {
  Entries e;
  for (std::size_t d = 0; d < x.size(); ++d) {
    const auto at = static_cast<std::int64_t>(d);
    (at < axis ? e.outer : at == axis ? e.extent : e.inner) *= x[d];
  }
  e.count = element_count(indices.shape);
  return e;
}

/// Entries that lie anywhere: each is a walk of {y, x}.
struct StridedEntries {
  StridedWalk<2> walk;
  std::vector<std::int64_t> places;  ///< of each entry in y
  std::int64_t step = 0;             ///< from one entry of x to the next

  [[nodiscard]] std::int64_t count() const { return static_cast<std::int64_t>(places.size()); }

  void copy_all(const std::int64_t* entries, int threads, const float* x, float* y) const {
    const bool is_one = count() == 1;  // which all threads share
    // Of many entries with short runs, walking through each would take longer than the copies.
    const bool by_element = count() >= kLanes && walk.run_length() < kLanes;
    in_parallel(is_one ? 1 : threads, count(), walk.elements(), [&](std::int64_t begin, std::int64_t end) {
      if (by_element) return copy_by_element(entries, begin, end, x, y);
      for (std::int64_t i = begin; i < end; ++i)
        copy(walk, is_one ? threads : 1, x + entries[i] * step, y + places[static_cast<std::size_t>(i)]);
    });
  }

 private:
  /// The first element of entries [begin, end), then the second of each ...
  void copy_by_element(const std::int64_t* entries, std::int64_t begin, std::int64_t end, const float* x,
                       float* y) const {
    const auto [y_step, x_step] = walk.run_steps();
    walk.for_each_run(0, walk.elements(), [&](const auto& at, std::int64_t length) {
      for (std::int64_t k = 0; k < length; ++k) {
        const float* const from = x + at[1] + k * x_step;
        float* const to = y + at[0] + k * y_step;
        for (std::int64_t i = begin; i < end; ++i) to[places[static_cast<std::size_t>(i)]] = from[entries[i] * step];
      }
    });
  }
};

/// For tensors that are not dense in logical order, such as NHWC images: each entry is copied from where it lies.
OwnWays gather_strided(const Gather& op, const OpCall& call, int threads) {
  const View x = view_of(call, 0), indices = view_of(call, 1), &y = call.outputs[0];
  if (!is_row_major(indices)) return {};
  const Entries e = entries_of(x.shape, op.axis, indices);
  const auto axis = static_cast<std::size_t>(op.axis);
  Shape y_strides = y.strides;  // of an entry
  const auto of_indices = y_strides.begin() + op.axis;
  y_strides.erase(of_indices, of_indices + static_cast<std::ptrdiff_t>(indices.shape.size()));
  std::vector<std::int64_t> places;
  for (std::int64_t i = 0; i < e.count; ++i) {
    std::int64_t place = 0, position = i;
    for (std::size_t d = indices.shape.size(); d-- > 0; position /= indices.shape[d])
      place += position % indices.shape[d] * y.strides[axis + d];
    places.push_back(place);
  }
  const StridedWalk<2> walk(reference::without(x.shape, axis), {y_strides, reference::without(x.strides, axis)});
  const StridedEntries copied{walk, std::move(places), x.strides[axis]};
  const auto loop = [=](const HostArguments& arguments) {
    auto* const entries = reinterpret_cast<std::int64_t*>(arguments.workspace);
    read_indices("Gather", e.extent, arguments.inputs[1], e.count, entries);
    copied.copy_all(entries, threads, arguments.inputs[0], arguments.outputs[0]);
  };
  return {{loop, Bytes{e.count * std::int64_t{sizeof(std::int64_t)}}}};
}

}  // namespace

OwnWays own_ways(const Gather& op, const OpCall& call, int threads) {
  const View x = view_of(call, 0), indices = view_of(call, 1);
  if (!call.post_ops.empty()) return {};
  if (!all_row_major(call)) return gather_strided(op, call, threads);
  const Entries e = entries_of(x.shape, op.axis, indices);
  const auto loop = [=](const HostArguments& arguments) {
    auto* const entries = reinterpret_cast<std::int64_t*>(arguments.workspace);
    read_indices("Gather", e.extent, arguments.inputs[1], e.count, entries);
    const float* const from = arguments.inputs[0];
    float* const to = arguments.outputs[0];
    in_parallel(threads, e.outer * e.count, e.inner, [&](std::int64_t begin, std::int64_t end) {
      while (begin < end) {  // for each of the outer, as far as it is of this part
        const std::int64_t outer = begin / e.count, first = begin % e.count;
        const std::int64_t last = std::min(e.count, first + end - begin);
        const float* const table = from + outer * e.extent * e.inner;
        float* y = to + begin * e.inner;
        if (e.inner == 1) {
          for (std::int64_t i = first; i < last; ++i) *y++ = table[entries[i]];
        } else {
          for (std::int64_t i = first; i < last; ++i) y = std::copy_n(table + entries[i] * e.inner, e.inner, y);
        }
        begin += last - first;
      }
    });
  };
  return {{loop, Bytes{e.count * std::int64_t{sizeof(std::int64_t)}}}};
}

OwnWays own_ways(const GatherGradient& op, const OpCall& call, int threads) {
  const View indices = view_of(call, 0), dy = view_of(call, 1), &dx = call.outputs[0];
  if (!call.post_ops.empty() || !all_row_major(call)) return {};
  const Entries e = entries_of(dx.shape, op.axis, indices);
  const auto loop = [=](const HostArguments& arguments) {
    auto* const entries = reinterpret_cast<std::int64_t*>(arguments.workspace);
    read_indices("GatherGradient", e.extent, arguments.inputs[0], e.count, entries);
    const float* const from = arguments.inputs[1];
    float* const to = arguments.outputs[0];
    const std::int64_t entry_count = e.outer * e.extent;
    in_parallel(threads, entry_count * e.inner, 1,
                [&](std::int64_t begin, std::int64_t end) { std::fill(to + begin, to + end, 0.0F); });
    // An entry may be met several times: threads share what lies within it.
    in_parallel(threads, e.inner, e.outer * e.count, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = 0; i < e.outer * e.count; ++i) {
        const std::int64_t entry = i / e.count * e.extent + entries[i % e.count];
        add_to(from + i * e.inner + begin, end - begin, to + entry * e.inner + begin);
      }
    });
  };
  return {{loop, Bytes{e.count * std::int64_t{sizeof(std::int64_t)}}}};
}

OwnWays own_ways(const Expand& /*op*/, const OpCall& call, int threads) {
  const View x = view_of(call, 0), &y = call.outputs[0];
  if (!call.post_ops.empty() || element_count(y.shape) == 0) return {};
  const StridedWalk<2> walk(y.shape, {y.strides, reference::broadcast_strides(x.shape, x.strides, y.shape)});
  return {{[=](const HostArguments& arguments) { copy(walk, threads, arguments.inputs[0], arguments.outputs[0]); }}};
}

OwnWays own_ways(const Concat& op, const OpCall& call, int threads) {
  const View& y = call.outputs[0];
  if (!call.post_ops.empty() || element_count(y.shape) == 0) return {};
  const auto axis = static_cast<std::size_t>(op.axis);
  struct Part {
    StridedWalk<2> walk;
    std::int64_t place;  ///< of its first element in y
  };
  std::vector<Part> parts;
  std::int64_t entry = 0;
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    const View x = view_of(call, i);
    parts.push_back({StridedWalk<2>(x.shape, {y.strides, x.strides}), entry * y.strides[axis]});
    entry += x.shape[axis];
  }
  const auto loop = [=](const HostArguments& arguments) {
    for (std::size_t i = 0; i < parts.size(); ++i)
      copy(parts[i].walk, threads, arguments.inputs[i], arguments.outputs[0] + parts[i].place);
  };
  return {{loop, {}, /*leads=*/false}};
}

OwnWays own_ways(const Pack& op, const OpCall& call, int threads) {
  const View& y = call.outputs[0];
  if (!call.post_ops.empty() || (y.shape[0] > 1 && y.strides[0] != 1)) return {};
  struct Part {
    StridedWalk<2> walk;
    std::int64_t offset, end;
    std::size_t input;
  };
  std::vector<Part> parts;
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    const View x = view_of(call, i);
    const StridedWalk<2> walk(x.shape, {dense_strides(x.shape, Layout::kNchw), x.strides});
    parts.push_back({walk, op.offsets[i], op.offsets[i] + walk.elements(), i});
  }
  std::sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) { return a.offset < b.offset; });
  return {{[=, size = op.size](const HostArguments& arguments) {
    float* const to = arguments.outputs[0];
    std::int64_t filled = 0;
    for (const Part& part : parts) {
      std::fill(to + filled, to + part.offset, 0.0F);
      copy(part.walk, threads, arguments.inputs[part.input], to + part.offset);
      filled = part.end;
    }
    std::fill(to + filled, to + size, 0.0F);
  }}};
}

OwnWays own_ways(const TensorSliceGradient& op, const OpCall& call, int threads) {
  const View dy = view_of(call, 0), &dx = call.outputs[0];
  if (!call.post_ops.empty()) return {};
  const auto [strides, first] = stepped(op.start, op.step, dx.strides);
  const StridedWalk<1> all(dx.shape, {dx.strides});
  const StridedWalk<2> taken(dy.shape, {strides, dy.strides});
  return {{[=, first = first](const HostArguments& arguments) {
    fill(all, threads, 0, arguments.outputs[0]);
    copy(taken, threads, arguments.inputs[0], arguments.outputs[0] + first);
  }}};
}

}  // namespace cohort::onednn
