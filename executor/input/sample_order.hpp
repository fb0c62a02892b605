#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace cohort {

/// Which image stands at a position of the endless sequence of epochs, and the seed of its variations.
struct Sample {
  std::uint32_t image = 0;  ///< position in ImageFolder::images
  std::uint64_t seed = 0;   ///< derived from (seed, epoch, image)
};

/// Epoch after epoch, each a shuffle of all images of its own (or their plain order). A pure function
/// of (seed, position), whoever asks and in whatever order; it may be asked from several threads.
class SampleOrder {
 public:
  /// images > 0.
  SampleOrder(std::uint32_t images, std::uint64_t seed, bool shuffle)
      : images_(images), seed_(seed), shuffle_(shuffle) {}

  /// O(1), and O(images) where an epoch is met first; recent epochs are kept.
  [[nodiscard]] Sample at(std::uint64_t position);

 private:
  using Epoch = std::vector<std::uint32_t>;
  std::shared_ptr<const Epoch> epoch_order(std::uint64_t epoch);

  std::uint32_t images_;
  std::uint64_t seed_;
  bool shuffle_;
  std::mutex mutex_;
  std::map<std::uint64_t, std::shared_ptr<const Epoch>> recent_;
};

}  // namespace cohort
