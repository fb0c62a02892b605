#pragma once

#include <cstdint>

#include "models/op_dense.hpp"

namespace cohort::onednn {

/// x / step - from as uint8; what lies between two levels goes to the nearer, what lies outside of all to the last.
class Quantize {
 public:
  explicit Quantize(const EightBits& bits) : inverse_(1 / bits.step), shift_(-bits.from) {}

  void run(const float* x, std::int64_t count, std::uint8_t* levels) const;
  /// The level of 0.
  [[nodiscard]] std::uint8_t zero() const { return static_cast<std::uint8_t>(shift_); }

 private:
  float inverse_, shift_;
};

}  // namespace cohort::onednn
