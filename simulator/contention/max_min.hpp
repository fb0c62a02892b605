#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace cohort {

/// Loads that add up to this little above 1 still fit: sums of rounded numbers.
inline constexpr double kFullLoad = 1 + 1e-12;

/// Shares resources among consumers so that the slowest is as fast as it can be, then the next slowest, and so on.
///
/// Every consumer has a speed from 0 to 1 (of what it would do alone) and takes `amount` x speed of each resource it
/// uses; every resource has 1 to give. All speeds rise together until a resource is used up; its users keep that
/// speed, the others rise on:
///
///     DRAM    a 0.9, b 0.6             both stop at 1 / (0.9 + 0.6) = 0.67
///     tensor  b 0.5, c 0.5             b holds 0.33 of it, c rises on to 1
///
/// So all users of one used-up resource lose the same part of their speed, as blocks do whose requests wait in one
/// queue in proportion to what each asks for. Complexity: O(uses + resources), with a logarithm of the resources that
/// more is asked of than there is. Deterministic.
/// Source: progressive filling; Bertsekas, Gallager, "Data Networks", 1992, section 6.5.2.
class MaxMin {
 public:
  void clear(std::size_t resources);
  /// Consumers count up from 0.
  std::size_t add_consumer();
  /// Of the consumer added last; `amount` >= 0, what it takes at speed 1.
  void use(std::size_t resource, double amount) {
    if (amount <= 0) return;
    const auto consumer = static_cast<std::uint32_t>(first_use_.size() - 1);
    const auto here = static_cast<std::uint32_t>(uses_.size());
    uses_.push_back({static_cast<std::uint32_t>(resource), consumer, std::exchange(last_use_[resource], here), amount});
    rising_[resource] += amount;
  }
  /// Fills in all speeds.
  void solve();
  [[nodiscard]] double speed(std::size_t consumer) const { return speed_[consumer]; }

 private:
  struct Use {
    std::uint32_t resource;
    std::uint32_t consumer;
    std::uint32_t before;  ///< of the same resource
    double amount;
  };
  /// When a resource was, or would have been, used up.
  struct Reach {
    double level;
    std::uint32_t resource;
    friend bool operator>(const Reach& a, const Reach& b) {
      return a.level != b.level ? a.level > b.level : a.resource > b.resource;
    }
  };

  void queue(std::uint32_t resource);
  /// Stops the consumers that use `resource` at `level`.
  void freeze(std::uint32_t resource, double level);

  std::vector<Use> uses_;
  std::vector<std::uint32_t> first_use_;  ///< by consumer
  std::vector<std::uint32_t> last_use_;   ///< by resource
  std::vector<double> speed_;
  std::vector<char> frozen_;
  std::vector<double> rising_;  ///< by resource: amount of consumers that still rise
  std::vector<double> held_;    ///< by resource: what the stopped ones take
  std::vector<Reach> queue_;    ///< a heap, lowest level first
};

}  // namespace cohort
