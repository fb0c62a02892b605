#pragma once

#include <mutex>
#include <vector>

#include "base/cancel.hpp"
#include "simulator/plan/call_form.hpp"
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
  const OpCatalog& catalog_;
  const CancelToken* cancel_;
  mutable std::mutex guard_;
  mutable KnownByForm<int, std::vector<Alternative>> answers_;
};

}  // namespace cohort
