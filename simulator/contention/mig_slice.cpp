#include "simulator/contention/mig_slice.hpp"

#include <charconv>

#include "base/text.hpp"

namespace cohort {
namespace {

/// Takes a number and the word behind it from the front of the text; absent where they do not stand there.
std::optional<int> take(std::string_view& text, std::string_view word) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number < 1) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (!text.starts_with(word)) return std::nullopt;
  text.remove_prefix(word.size());
  return number;
}

}  // namespace

std::optional<MigSlice> mig_slice_of(std::string_view device) {
  constexpr std::string_view kMark = " mig ";
  const std::string lower = to_lower(device);
  const std::size_t mark = lower.find(kMark);
  if (mark == std::string::npos) return std::nullopt;
  std::string_view size = std::string_view(lower).substr(mark + kMark.size());
  const auto compute = take(size, "g.");
  const auto gigabytes = compute ? take(size, "gb") : std::nullopt;
  // "+me" has the media engines, too.
  if (!gigabytes || !(size.empty() || size == "+me") || *compute > 7) return std::nullopt;
  return MigSlice{device.substr(0, mark), *compute, *gigabytes};
}

}  // namespace cohort
