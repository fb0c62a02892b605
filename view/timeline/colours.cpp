#include "view/timeline/colours.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include "base/text.hpp"
#include "tracer/kernel_name.hpp"
#include "tracer/slice_kind.hpp"
#include "tracer/trace.hpp"
#include "view/chart/palette.hpp"

namespace cohort {
namespace {

/// FNV-1a, which is the same on every machine.
std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : text) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 0x100000001b3U;
  }
  return hash ^ (hash >> 29U);
}

/// Eighteen hues around the circle in two lightnesses, of middling lightness and saturation: at a contrast of 1.6 or
/// more to white and 3 or more to the dark theme's background.
constexpr std::array<Argb, 36> kTexts = {
    0xff4e79a7, 0xff76b7e5, 0xff2f8f83, 0xff6cc4a1, 0xff5b9a3c, 0xff9ccc65, 0xff9a8b1f, 0xffd4b843, 0xffd98a2b,
    0xfff2b066, 0xffc8622d, 0xfff0936b, 0xffc24a4a, 0xfff08b8b, 0xffb84a7d, 0xffee94bd, 0xff9657a8, 0xffcf97dd,
    0xff6f63bd, 0xffa9a0ea, 0xff4568c4, 0xff8ba8f0, 0xff2a87b5, 0xff62c0d8, 0xff3b8f5e, 0xff86d08f, 0xff7c8f2a,
    0xffb9c94a, 0xffa5792a, 0xffd9a760, 0xff9c6a52, 0xffc99a80, 0xff6b7f92, 0xffa3b4c4, 0xff8a6d8f, 0xffbfa2c4};
constexpr Argb kNothing = 0xff9aa3ad;

/// Kinds of work by words of kernels' and ops' names; the first that fits counts.
struct TypeWord {
  std::string_view word;
  std::string_view type;
};
constexpr TypeWord kTypeWords[] = {
    {"attention", "attention"},
    {"flash_fwd", "attention"},
    {"flash_bwd", "attention"},
    {"fmha", "attention"},
    {"softmax", "softmax"},
    {"layer_norm", "normalisation"},
    {"layernorm", "normalisation"},
    {"batch_norm", "normalisation"},
    {"batchnorm", "normalisation"},
    {"bn_fw", "normalisation"},
    {"bn_bw", "normalisation"},
    {"rmsnorm", "normalisation"},
    {"norm", "normalisation"},
    {"conv", "convolution"},
    {"implicit", "convolution"},
    {"winograd", "convolution"},
    {"wgrad", "convolution"},
    {"dgrad", "convolution"},
    {"fire", "convolution"},
    {"gemm", "matrix product"},
    {"gemv", "matrix product"},
    {"nvjet", "matrix product"},
    {"cutlass", "matrix product"},
    {"matmul", "matrix product"},
    {"linear", "matrix product"},
    {"addmm", "matrix product"},
    {"splitk", "matrix product"},
    {"dot_kernel", "matrix product"},
    {"lstm", "recurrent"},
    {"gru", "recurrent"},
    {"rnn", "recurrent"},
    {"pool", "pooling"},
    {"embedding", "embedding"},
    {"indexselect", "indexing"},
    {"index", "indexing"},
    {"gather", "indexing"},
    {"scatter", "indexing"},
    {"dropout", "dropout"},
    {"loss", "loss"},
    {"entropy", "loss"},
    {"adam", "optimizer"},
    {"sgd", "optimizer"},
    {"optimizer", "optimizer"},
    {"update", "optimizer"},
    {"multi_tensor", "optimizer"},
    {"reduce", "reduction"},
    {"sum", "reduction"},
    {"mean", "reduction"},
    {"argmax", "reduction"},
    {"sort", "sorting"},
    {"topk", "sorting"},
    {"concat", "copy"},
    {"catarray", "copy"},
    {"copy", "copy"},
    {"transpose", "copy"},
    {"reorder", "copy"},
    {"fill", "memory set"},
    {"zero", "memory set"},
    {"elementwise", "elementwise"},
    {"relu", "elementwise"},
    {"gelu", "elementwise"},
    {"silu", "elementwise"},
    {"sigmoid", "elementwise"},
    {"tanh", "elementwise"},
    {"add", "elementwise"},
    {"mul", "elementwise"},
    {"pointwise", "elementwise"},
    {"triton", "elementwise"},
    {"fc", "matrix product"},
    {"decode", "input"},
};

std::string_view type_of_name(std::string_view name) {
  if (is_collective(name)) return "collective";
  // What a kernel is called comes before its types' and arguments' names.
  std::string_view head = name.substr(0, std::min<std::size_t>(name.size(), 160));
  const std::string lower = to_lower(head);
  for (const TypeWord& entry : kTypeWords) {
    if (lower.find(entry.word) != std::string::npos) return entry.type;
  }
  return "other work";
}

std::optional<std::string_view> type_of_kind(SliceKind kind) {
  switch (kind) {
    case SliceKind::kCopy:
      return "copy";
    case SliceKind::kMemset:
      return "memory set";
    case SliceKind::kGraph:
      return "graph";
    case SliceKind::kRuntimeCall:
      return "runtime call";
    case SliceKind::kDriverCall:
      return "driver call";
    case SliceKind::kSynchronization:
      return "wait";
    case SliceKind::kEventRecord:
      return "event";
    case SliceKind::kAnnotation:
    case SliceKind::kDeviceAnnotation:
      return "range";
    case SliceKind::kPythonFunction:
      return "Python";
    case SliceKind::kOverhead:
      return "overhead of tracing";
    case SliceKind::kKernel:
    case SliceKind::kOp:
    case SliceKind::kOther:
      break;
  }
  return std::nullopt;
}

Argb colour_of_type(std::string_view type) {
  constexpr std::pair<std::string_view, Argb> kTypes[] = {
      {"convolution", 0xff4e79a7}, {"matrix product", 0xff2f8f83},
      {"attention", 0xff6f63bd},   {"normalisation", 0xffd4b843},
      {"softmax", 0xffee94bd},     {"elementwise", 0xff76b7e5},
      {"pooling", 0xff9ccc65},     {"reduction", 0xfff0936b},
      {"recurrent", 0xff9657a8},   {"embedding", 0xff6cc4a1},
      {"indexing", 0xff86d08f},    {"dropout", 0xffbfa2c4},
      {"loss", 0xffc24a4a},        {"optimizer", 0xffc8622d},
      {"sorting", 0xffa5792a},     {"copy", 0xfff2b066},
      {"memory set", 0xffd9a760},  {"collective", 0xffb84a7d},
      {"graph", 0xff4568c4},       {"runtime call", 0xff8ba8f0},
      {"driver call", 0xffa9a0ea}, {"wait", 0xffa3b4c4},
      {"event", 0xff6b7f92},       {"range", 0xffb9c94a},
      {"Python", 0xffa3b4c4},      {"overhead of tracing", 0xfff08b8b},
      {"input", 0xff62c0d8},       {"other work", 0xff9aa3ad}};
  for (const auto& [name, colour] : kTypes) {
    if (name == type) return colour;
  }
  return colour_of_text(type);
}

/// Colours by what a slice has in its arguments; where that is missing, grey.
class ArgColours {
 public:
  ArgColours(const Trace& trace, std::initializer_list<std::string_view> keys,
             Argb (*of_text)(std::string_view) = colour_of_text)
      : trace_(trace), of_text_(of_text) {
    for (const std::string_view key : keys) keys_.push_back(trace.strings.find(key));
  }
  Argb operator()(const Slice& slice) const {
    if (!slice.args) return kNothing;
    for (const auto& [key, value] : trace_.args[to_index(*slice.args)]) {
      if (std::find(keys_.begin(), keys_.end(), std::optional(key)) == keys_.end()) continue;
      if (const auto* text = std::get_if<StringId>(&value)) return of_text_(trace_.strings[*text]);
      if (const auto* number = std::get_if<std::int64_t>(&value)) {
        return kTexts[static_cast<std::size_t>((static_cast<std::uint64_t>(*number) * 11 + 2) % kTexts.size())];
      }
    }
    return kNothing;
  }

 private:
  const Trace& trace_;
  Argb (*of_text_)(std::string_view);
  std::vector<std::optional<StringId>> keys_;
};

/// Three that are told apart at a glance.
Argb colour_of_phase(std::string_view phase) {
  if (phase == "forward") return 0xff4e79a7;
  if (phase == "backward") return 0xffc8622d;
  return phase == "update" ? 0xff9ccc65 : colour_of_text(phase);
}

/// Colours that follow from name and category, each worked out once.
class NameColours {
 public:
  NameColours(const Trace& trace, bool by_type)
      : trace_(trace), kinds_(trace.strings), by_type_(by_type), known_(trace.strings.size()) {}
  Argb operator()(const Slice& slice) {
    Entry& entry = known_[to_index(slice.name)];
    if (entry.colour == 0 || entry.category != slice.category) {
      entry.category = slice.category;
      entry.colour = by_type_ ? colour_of_type(op_type(slice)) : colour_of_text(trace_.name(slice));
    }
    return entry.colour;
  }

 private:
  struct Entry {
    Argb colour = 0;
    StringId category{};
  };
  [[nodiscard]] std::string_view op_type(const Slice& slice) const {
    if (const auto type = type_of_kind(kinds_(slice))) return *type;
    const auto signature = trace_.text_arg(slice, "signature");
    if (signature) return type_of_name(signature->substr(0, signature->find(' ')));
    return type_of_name(trace_.name(slice));
  }

  const Trace& trace_;
  SliceKinds kinds_;
  bool by_type_;
  std::vector<Entry> known_;  ///< by name
};

template <class Function>
std::vector<Argb> colours_of(const Trace& trace, Function&& colour) {
  std::vector<Argb> colours;
  colours.reserve(trace.slices.size());
  for (const Slice& slice : trace.slices) colours.push_back(colour(slice));
  return colours;
}

}  // namespace

std::string_view to_string(Colouring colouring) {
  switch (colouring) {
    case Colouring::kOpType:
      return "kind of work";
    case Colouring::kName:
      return "name";
    case Colouring::kMember:
      return "member";
    case Colouring::kIteration:
      return "step";
    case Colouring::kPhase:
      break;
  }
  return "phase";
}

SliceColours colour_slices(const Timeline& timeline, Colouring colouring) {
  SliceColours colours;
  for (const TimelinePart& part : timeline.parts()) {
    const Trace& trace = *part.trace;
    switch (colouring) {
      case Colouring::kOpType:
      case Colouring::kName:
        colours.push_back(colours_of(trace, NameColours(trace, colouring == Colouring::kOpType)));
        break;
      case Colouring::kMember:
        colours.push_back(colours_of(trace, ArgColours(trace, {"members", "member"})));
        break;
      case Colouring::kIteration:
        colours.push_back(colours_of(trace, ArgColours(trace, {kIterationArg})));
        break;
      case Colouring::kPhase:
        colours.push_back(colours_of(trace, ArgColours(trace, {"phase"}, colour_of_phase)));
        break;
    }
  }
  return colours;
}

Argb colour_of_text(std::string_view text) { return kTexts[hash_of(text) % kTexts.size()]; }

Argb colour_of_nothing() { return kNothing; }

Argb text_colour_on(Argb background) {
  constexpr Argb kBlack = 0xff000000;
  constexpr Argb kWhite = 0xffffffff;
  const Colour behind = colour_from(background);
  return contrast(colour_from(kBlack), behind) >= contrast(colour_from(kWhite), behind) ? kBlack : kWhite;
}

Argb blend(Argb top, Argb below, double opacity) {
  const auto weight = static_cast<std::uint32_t>(std::clamp(opacity, 0.0, 1.0) * 256 + 0.5);
  const auto channel = [&](std::uint32_t shift) {
    const std::uint32_t a = (top >> shift) & 0xffU;
    const std::uint32_t b = (below >> shift) & 0xffU;
    return ((a * weight + b * (256 - weight) + 128) >> 8U) << shift;
  };
  return 0xff000000U | channel(16) | channel(8) | channel(0);
}

std::string_view op_type(const Trace& trace, const Slice& slice) {
  if (const auto type = type_of_kind(SliceKinds(trace.strings)(slice))) return *type;
  const auto signature = trace.text_arg(slice, "signature");
  return type_of_name(signature ? signature->substr(0, signature->find(' ')) : trace.name(slice));
}

}  // namespace cohort
