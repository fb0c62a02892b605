#include "tracer/file/device_tracks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <vector>

#include "base/text.hpp"
#include "tracer/call_kind.hpp"
#include "tracer/file/spelling.hpp"

namespace cohort {
namespace {

struct Place {
  std::int64_t device = 0;
  std::int64_t stream = 0;
};

std::optional<std::int64_t> leading_number(std::string_view text) {
  std::int64_t number = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), number).ec != std::errc{}) return std::nullopt;
  return number;
}

/// 13 of "Stream #13(Compute)" and "Stream 13".
std::optional<std::int64_t> stream_of(std::string_view thread) {
  return stream_number(thread.substr(0, std::min(thread.size(), thread.find('('))));
}

/// The stream that a track stands for, as tools name it that write no categories.
std::optional<Place> place_of(const Track& track) {
  constexpr std::string_view kLegacy = "CUDA functions";
  constexpr std::string_view kGpu = "/device:GPU:";
  const std::string_view process = track.process;
  if (process == kLegacy && track.tid >= 0) return Place{track.tid, 0};
  const auto stream = stream_of(track.thread);
  if (!stream) return std::nullopt;
  if (const std::size_t gpu = process.find(kGpu); gpu != std::string_view::npos) {
    if (const auto device = leading_number(process.substr(gpu + kGpu.size()))) return Place{*device, *stream};
  }
  if (process.starts_with("Ascend Hardware")) return Place{0, *stream};
  return std::nullopt;
}

/// "cudaLaunchKernel", "cuLaunchKernel", "hipMemcpy".
bool is_call_name(std::string_view name) {
  for (const std::string_view prefix : {"cuda", "hip", "cu"}) {
    if (!name.starts_with(prefix) || name.size() == prefix.size()) continue;
    const char next = name[prefix.size()];
    if (next >= 'A' && next <= 'Z') return true;
  }
  return false;
}

class Recogniser {
 public:
  explicit Recogniser(Trace& trace)
      : trace_(trace),
        categories_(trace.strings.size()),
        device_(trace.strings.intern("device")),
        stream_(trace.strings.intern("stream")),
        details_(trace.strings.intern("kernel_details")) {
    for (const Track& track : trace.tracks) places_.push_back(place_of(track));
  }

  void run() {
    for (Slice& slice : trace_.slices) {
      if (slice.category != StringId{}) continue;
      const auto& place = places_[to_index(slice.track)];
      slice.category = category(slice.name, place.has_value());
      if (place && slice.category != StringId{}) add_place(slice, *place);
    }
  }

 private:
  StringId category(StringId name, bool on_device) {
    if (to_index(name) >= categories_.size()) return {};
    auto& known = categories_[to_index(name)][on_device ? 1 : 0];
    if (!known) known = trace_.strings.intern(on_device ? device_category(name) : host_category(name));
    return *known;
  }

  [[nodiscard]] std::string_view device_category(StringId id) const {
    const std::string name = to_lower(trace_.strings[id]);
    for (const std::string_view wait : {"event_wait", "event_record", "notify_wait", "notify_record"}) {
      if (name.starts_with(wait)) return "cuda_sync";
    }
    if (name.starts_with("memcpy")) return "gpu_memcpy";
    return name.starts_with("memset") ? "gpu_memset" : "kernel";
  }

  [[nodiscard]] std::string_view host_category(StringId id) const {
    const std::string_view name = trace_.strings[id];
    if (!is_call_name(name)) return "";
    return name.starts_with("cuda") || name.starts_with("hip") ? "cuda_runtime" : "cuda_driver";
  }

  void add_place(Slice& slice, const Place& place) {
    if (!slice.args) {
      slice.args = static_cast<ArgsId>(trace_.args.size());
      trace_.args.emplace_back();
    }
    Args& args = trace_.args[to_index(*slice.args)];
    add_details(args);
    for (const auto& [key, value] : {std::pair(device_, place.device), {stream_, place.stream}}) {
      const bool has = std::any_of(args.begin(), args.end(), [&, k = key](const auto& arg) { return arg.first == k; });
      if (!has) args.emplace_back(key, value);
    }
  }

  /// XLA's "regs:16 static_shared:0 dynamic_shared:0 grid:8,1,1 block:128,1,1" as what PyTorch's profiler has.
  void add_details(Args& args) {
    const auto found = std::find_if(args.begin(), args.end(), [&](const auto& arg) { return arg.first == details_; });
    const auto* text = found == args.end() ? nullptr : std::get_if<StringId>(&found->second);
    if (text == nullptr) return;
    const std::string details(trace_.strings[*text]);
    const auto value = [&](std::string_view key) -> std::string_view {
      std::size_t at = details.find(key);
      if (at == std::string::npos || (at > 0 && details[at - 1] != ' ')) return {};
      at += key.size();
      return std::string_view(details).substr(at, details.find(' ', at) - at);
    };
    for (const char* const key : {"grid", "block"}) {
      const std::string_view sizes = value(fmt::format("{}:", key));
      if (!sizes.empty())
        args.emplace_back(trace_.strings.intern(key), trace_.strings.intern(fmt::format("[{}]", sizes)));
    }
    if (const auto registers = leading_number(value("regs:")))
      args.emplace_back(trace_.strings.intern("registers per thread"), *registers);
    const auto fixed = leading_number(value("static_shared:"));
    const auto dynamic = leading_number(value("dynamic_shared:"));
    constexpr std::int64_t kMost = std::int64_t{1} << 40;
    if (fixed && dynamic && std::max(*fixed, *dynamic) < kMost && std::min(*fixed, *dynamic) >= 0)
      args.emplace_back(trace_.strings.intern("shared memory"), *fixed + *dynamic);
  }

  Trace& trace_;
  std::vector<std::optional<Place>> places_;                        ///< by track
  std::vector<std::array<std::optional<StringId>, 2>> categories_;  ///< by name: on the host, on a device
  StringId device_;
  StringId stream_;
  StringId details_;
};

}  // namespace

void recognise_device_tracks(Trace& trace) {
  const bool any = std::any_of(trace.slices.begin(), trace.slices.end(),
                               [](const Slice& slice) { return slice.category == StringId{}; });
  if (any) Recogniser(trace).run();
}

}  // namespace cohort
