#pragma once

#include <cstddef>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "base/cancel.hpp"
#include "simulator/plan/op_catalog.hpp"

namespace cohort {

/// A catalog that is asked once for calls that differ in nothing but the buffers that their operands lie in: those of
/// equal members, and of plan after plan of one search. It answers no more once it is cancelled, so that the lowering
/// of a large plan ends soon. Several threads may ask it; it asks the other catalog from one at a time.
class RememberedCatalog final : public OpCatalog {
 public:
  /// `catalog` must answer the same whenever it is asked; `cancel` may be null. Both must outlive this.
  explicit RememberedCatalog(const OpCatalog& catalog, const CancelToken* cancel = nullptr)
      : catalog_(catalog), cancel_(cancel) {}

  void set_cancel(const CancelToken* cancel) { cancel_ = cancel; }

  Result<std::vector<Alternative>> alternatives(const OpCall& call, int threads) const override;
  [[nodiscard]] bool accepts_strides(const OpCall& call) const override;
  [[nodiscard]] std::vector<Precision> precisions() const override { return catalog_.precisions(); }
  [[nodiscard]] int multiprocessors() const override { return catalog_.multiprocessors(); }
  [[nodiscard]] int cores() const override { return catalog_.cores(); }
  [[nodiscard]] std::optional<int> most_streams() const override { return catalog_.most_streams(); }

 private:
  struct Answer {
    OpCall call;
    int threads = 1;
    std::vector<Alternative> alternatives;
  };

  const OpCatalog& catalog_;
  const CancelToken* cancel_;
  mutable std::mutex guard_;
  mutable std::unordered_multimap<std::size_t, Answer> answers_;  ///< by a hash of the call
};

}  // namespace cohort
