#include "tracer/steps/repetition.hpp"

#include <algorithm>
#include <vector>

namespace cohort {
namespace {

/// Polynomial hashes of all prefixes modulo the Mersenne prime 2^61 - 1, with a fixed base, so that
/// results are the same on every run. What is found is checked value by value.
class PrefixHashes {
 public:
  explicit PrefixHashes(std::span<const std::uint32_t> values) : sums_(values.size() + 1), powers_(values.size() + 1) {
    powers_[0] = 1;
    for (std::size_t i = 0; i < values.size(); ++i) {
      sums_[i + 1] = reduce(multiply(sums_[i], kBase) + values[i] + 1);
      powers_[i + 1] = multiply(powers_[i], kBase);
    }
  }

  [[nodiscard]] bool equal(std::size_t a, std::size_t b, std::size_t length) const {
    return hash(a, length) == hash(b, length);
  }

 private:
  static constexpr std::uint64_t kPrime = (std::uint64_t{1} << 61U) - 1;
  static constexpr std::uint64_t kBase = 0x1d8af066b25f3e97U % kPrime;

  static std::uint64_t reduce(std::uint64_t value) { return value >= kPrime ? value - kPrime : value; }
  /// Product of two residues, from halves of 31 and 30 bits.
  static std::uint64_t multiply(std::uint64_t a, std::uint64_t b) {
    const std::uint64_t a_high = a >> 31U;
    const std::uint64_t a_low = a & 0x7fffffffU;
    const std::uint64_t b_high = b >> 31U;
    const std::uint64_t b_low = b & 0x7fffffffU;
    const std::uint64_t middle = a_low * b_high + a_high * b_low;
    const std::uint64_t sum = a_high * b_high * 2 + (middle >> 30U) + ((middle & 0x3fffffffU) << 31U) + a_low * b_low;
    return reduce((sum >> 61U) + (sum & kPrime));
  }
  [[nodiscard]] std::uint64_t hash(std::size_t from, std::size_t length) const {
    return reduce(sums_[from + length] + kPrime - multiply(sums_[from], powers_[length]));
  }

  std::vector<std::uint64_t> sums_;
  std::vector<std::uint64_t> powers_;
};

class RepetitionSearch {
 public:
  explicit RepetitionSearch(std::span<const std::uint32_t> values) : values_(values), hashes_(values) {}

  std::optional<Repetition> longest() {
    for (const bool inverted : {false, true}) scan(inverted);
    if (best_.period == 0) return std::nullopt;
    return best_;
  }

 private:
  /// Walks from the end; the stack's top is where the longest Lyndon word that starts at i ends.
  void scan(bool inverted) {
    std::vector<std::size_t> starts;
    for (std::size_t i = values_.size(); i-- > 0;) {
      while (!starts.empty() && precedes(i, starts.back(), inverted)) starts.pop_back();
      consider(i, starts.empty() ? values_.size() : starts.back());
      starts.push_back(i);
    }
  }

  /// Whether the suffix at `a` comes before the one at `b` > a; an ended suffix comes first.
  [[nodiscard]] bool precedes(std::size_t a, std::size_t b, bool inverted) const {
    const std::size_t same = common_forward(a, b);
    if (b + same == values_.size()) return false;
    const std::uint32_t x = values_[a + same];
    const std::uint32_t y = values_[b + same];
    return inverted ? y < x : x < y;
  }

  /// Extends the period b - a both ways.
  void consider(std::size_t a, std::size_t b) {
    const std::size_t period = b - a;
    const Repetition found{a - common_backward(a, b), b + common_forward(a, b), period};
    const std::size_t length = found.end - found.begin;
    if (length < 2 * period) return;
    const std::size_t best = best_.end - best_.begin;
    const bool better = best_.period == 0 || length > best || (length == best && period < best_.period) ||
                        (length == best && period == best_.period && found.begin < best_.begin);
    if (better && holds(found)) best_ = found;
  }

  [[nodiscard]] bool holds(const Repetition& it) const {
    return std::equal(values_.begin() + static_cast<std::ptrdiff_t>(it.begin),
                      values_.begin() + static_cast<std::ptrdiff_t>(it.end - it.period),
                      values_.begin() + static_cast<std::ptrdiff_t>(it.begin + it.period));
  }

  /// Number of equal values from a and b > a on. Doubling first: most are short.
  [[nodiscard]] std::size_t common_forward(std::size_t a, std::size_t b) const {
    const std::size_t most = values_.size() - b;
    return longest_equal(most, [&](std::size_t length) { return hashes_.equal(a, b, length); });
  }
  /// Number of equal values before a and b > a.
  [[nodiscard]] std::size_t common_backward(std::size_t a, std::size_t b) const {
    return longest_equal(a, [&](std::size_t length) { return hashes_.equal(a - length, b - length, length); });
  }

  template <class Equal>
  static std::size_t longest_equal(std::size_t most, const Equal& equal) {
    std::size_t known = 0;
    std::size_t step = 1;
    while (known + step <= most && equal(known + step)) {
      known += step;
      step *= 2;
    }
    while (step > 0) {
      if (known + step <= most && equal(known + step)) known += step;
      step /= 2;
    }
    return known;
  }

  std::span<const std::uint32_t> values_;
  PrefixHashes hashes_;
  Repetition best_;
};

}  // namespace

std::optional<Repetition> longest_repetition(std::span<const std::uint32_t> values) {
  return RepetitionSearch(values).longest();
}

}  // namespace cohort
