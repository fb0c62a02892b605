#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace cohort {

/// SplitMix64: a small generator whose sequence is the same on every platform and library, which
/// std::uniform_real_distribution does not promise.
/// Source: Steele, Lea, Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    state_ += 0x9e3779b97f4a7c15ULL;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }

  /// Uniform in [0, 1).
  float uniform() { return static_cast<float>(next() >> 40) * 0x1.0p-24F; }
  /// Uniform in [low, high).
  float uniform(float low, float high) { return low + (high - low) * uniform(); }
  /// Uniform in [0, count); count > 0.
  std::uint64_t below(std::uint64_t count) { return next() % count; }

  /// Fisher-Yates shuffle.
  template <class T>
  void shuffle(std::vector<T>& items) {
    for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[below(i)]);
  }

 private:
  std::uint64_t state_;
};

/// A seed for the `index`-th independent stream derived from `seed`.
inline std::uint64_t derive_seed(std::uint64_t seed, std::uint64_t index) {
  return Random(seed ^ (index * 0xd1342543de82ef95ULL)).next();
}

}  // namespace cohort
