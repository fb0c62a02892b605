#include "view/timeline/search.hpp"

#include <algorithm>
#include <charconv>
#include <string>
#include <tuple>

#include "base/text.hpp"

namespace cohort {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

/// Whether `text` holds `part`, which is in lower case.
bool holds(std::string_view text, std::string_view part) {
  const auto found =
      std::search(text.begin(), text.end(), part.begin(), part.end(), [](char a, char b) { return lower(a) == b; });
  return found != text.end() || part.empty();
}

std::optional<double> number_from(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

/// Looks for one text in the slices of one trace.
class Matcher {
 public:
  Matcher(const Trace& trace, std::string_view text) : trace_(trace), holds_(trace.strings.size()) {
    const std::size_t equals = text.find('=');
    if (equals != std::string_view::npos) key_ = trace.strings.find(text.substr(0, equals));
    const std::string_view value = key_ ? text.substr(equals + 1) : text;
    number_ = number_from(value);
    truth_ = value == "true" ? std::optional(true) : value == "false" ? std::optional(false) : std::nullopt;
    const std::string part = to_lower(value);
    for (std::size_t s = 0; s < holds_.size(); ++s) holds_[s] = holds(trace.strings[static_cast<StringId>(s)], part);
  }

  bool operator()(const Slice& slice) const {
    if (!key_ && (holds_[to_index(slice.name)] || holds_[to_index(slice.category)])) return true;
    if (!slice.args) return false;
    const Args& args = trace_.args[to_index(*slice.args)];
    return std::any_of(args.begin(), args.end(),
                       [&](const auto& arg) { return (!key_ || arg.first == *key_) && has(arg.second); });
  }

 private:
  [[nodiscard]] bool has(const ArgValue& value) const {
    if (const auto* text = std::get_if<StringId>(&value)) return holds_[to_index(*text)];
    if (const auto* nested = std::get_if<NestedJson>(&value)) return holds_[to_index(nested->text)];
    if (const auto* truth = std::get_if<bool>(&value)) return key_ && truth_ == *truth;
    if (!number_) return false;
    if (const auto* integer = std::get_if<std::int64_t>(&value)) return static_cast<double>(*integer) == *number_;
    return std::get<double>(value) == *number_;
  }

  const Trace& trace_;
  std::vector<bool> holds_;  ///< by StringId
  std::optional<StringId> key_;
  std::optional<double> number_;
  std::optional<bool> truth_;
};

auto key_of(const Timeline& timeline, SliceRef ref) {
  return std::tuple(timeline.window(ref).start, ref.part, ref.slice);
}

}  // namespace

SearchResults::SearchResults(const Timeline& timeline, std::vector<SliceRef> found) : found_(std::move(found)) {
  const auto before = [&](SliceRef a, SliceRef b) { return key_of(timeline, a) < key_of(timeline, b); };
  if (!std::is_sorted(found_.begin(), found_.end(), before)) std::sort(found_.begin(), found_.end(), before);
}

std::optional<SliceRef> SearchResults::next(const Timeline& timeline, std::optional<SliceRef> current,
                                            Nanoseconds from) const {
  if (found_.empty()) return std::nullopt;
  const auto key = current ? key_of(timeline, *current) : std::tuple(from, std::uint32_t{0}, SliceId{});
  const auto after = std::partition_point(found_.begin(), found_.end(), [&](SliceRef ref) {
    return current ? key_of(timeline, ref) <= key : key_of(timeline, ref) < key;
  });
  return after == found_.end() ? found_.front() : *after;
}

std::optional<SliceRef> SearchResults::previous(const Timeline& timeline, std::optional<SliceRef> current,
                                                Nanoseconds from) const {
  if (found_.empty()) return std::nullopt;
  const auto key = current ? key_of(timeline, *current) : std::tuple(from, std::uint32_t{0}, SliceId{});
  const auto at =
      std::partition_point(found_.begin(), found_.end(), [&](SliceRef ref) { return key_of(timeline, ref) < key; });
  return at == found_.begin() ? found_.back() : *(at - 1);
}

std::optional<std::size_t> SearchResults::position(const Timeline& timeline, SliceRef ref) const {
  const auto at = std::partition_point(found_.begin(), found_.end(),
                                       [&](SliceRef other) { return key_of(timeline, other) < key_of(timeline, ref); });
  if (at == found_.end() || *at != ref) return std::nullopt;
  return static_cast<std::size_t>(at - found_.begin());
}

SearchResults search(const Timeline& timeline, std::string_view text, const CancelToken* cancel) {
  if (text.empty()) return {};
  constexpr std::uint32_t kAskEvery = 1U << 16U;
  std::vector<SliceRef> found;
  for (std::uint32_t p = 0; p < timeline.parts().size(); ++p) {
    const Trace& trace = *timeline.parts()[p].trace;
    const Matcher matches(trace, text);
    for (std::uint32_t i = 0; i < trace.slices.size(); ++i) {
      if (i % kAskEvery == 0 && cancel != nullptr && cancel->cancelled()) break;
      if (matches(trace.slices[i])) found.push_back({p, static_cast<SliceId>(i)});
    }
  }
  return {timeline, std::move(found)};
}

std::vector<RowId> find_rows(const Timeline& timeline, std::string_view text) {
  const std::string part = to_lower(text);
  std::vector<RowId> begin;
  std::vector<RowId> hold;
  for (std::size_t r = 0; r < timeline.rows().size(); ++r) {
    const auto id = static_cast<RowId>(r);
    if (to_lower(timeline.row(id).title).starts_with(part)) {
      begin.push_back(id);
    } else if (holds(timeline.full_title(id), part)) {
      hold.push_back(id);
    }
  }
  begin.insert(begin.end(), hold.begin(), hold.end());
  return begin;
}

}  // namespace cohort
