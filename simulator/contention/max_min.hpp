#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace cohort {

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
/// queue in proportion to what each asks for. Complexity: O(used-up resources x uses). Deterministic.
/// Source: progressive filling; Bertsekas, Gallager, "Data Networks", 1992, section 6.5.2.
class MaxMin {
 public:
  void clear(std::size_t resources);
  /// Consumers count up from 0.
  std::size_t add_consumer();
  /// Of the consumer added last; `amount` >= 0, what it takes at speed 1.
  void use(std::size_t resource, double amount) {
    if (amount <= 0) return;
    uses_.push_back({static_cast<std::uint32_t>(resource), amount});
    rising_[resource] += amount;
  }
  /// Fills in all speeds.
  void solve();
  [[nodiscard]] double speed(std::size_t consumer) const { return speed_[consumer]; }

 private:
  struct Use {
    std::uint32_t resource;
    double amount;
  };

  [[nodiscard]] bool all_fit() const;
  /// Stops the consumers that use `resource` at `level`.
  void freeze(std::size_t resource, double level);

  std::vector<Use> uses_;
  std::vector<std::uint32_t> first_use_;  ///< by consumer
  std::vector<double> speed_;
  std::vector<char> frozen_;
  std::vector<double> rising_;  ///< by resource: amount of consumers that still rise
  std::vector<double> held_;    ///< by resource: what the stopped ones take
};

}  // namespace cohort
