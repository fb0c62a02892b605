#include "executor/input/sample_order.hpp"

#include <numeric>

#include "base/random.hpp"

namespace cohort {

Sample SampleOrder::at(std::uint64_t position) {
  const std::uint64_t epoch = position / images_;
  const std::uint64_t place = position % images_;
  const std::uint32_t image = shuffle_ ? (*epoch_order(epoch))[place] : static_cast<std::uint32_t>(place);
  // The shuffle of an epoch takes derive_seed(seed, epoch) itself; one step further keeps the two apart.
  return {image, derive_seed(derive_seed(derive_seed(seed_, epoch), 1), image)};
}

std::shared_ptr<const SampleOrder::Epoch> SampleOrder::epoch_order(std::uint64_t epoch) {
  constexpr std::size_t kMostRecent = 8;
  const std::lock_guard lock(mutex_);
  const auto known = recent_.find(epoch);
  if (known != recent_.end()) return known->second;
  Epoch order(images_);
  std::iota(order.begin(), order.end(), 0U);
  Random random(derive_seed(seed_, epoch));
  random.shuffle(order);
  if (recent_.size() == kMostRecent) recent_.erase(recent_.begin());
  return recent_.emplace(epoch, std::make_shared<const Epoch>(std::move(order))).first->second;
}

}  // namespace cohort
