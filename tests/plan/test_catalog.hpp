#pragma once

#include <string>
#include <vector>

#include "simulator/plan/op_catalog.hpp"

namespace cohort::testing {

/// A device that takes every call in two ways: "fast" with workspace, "small" without.
class TestCatalog : public OpCatalog {
 public:
  TestCatalog(int cores, bool strides) : cores_(cores), strides_(strides) {}

  Result<std::vector<Alternative>> alternatives(const OpCall& call, int threads) const override {
    Bytes weights;
    for (const Operand& operand : call.inputs) {
      if (const auto* view = std::get_if<WeightView>(&operand)) weights += Bytes{element_count(view->shape) * 4};
    }
    return std::vector<Alternative>{{"fast", threads, Bytes{1024}, weights}, {"small", threads, Bytes{0}, weights}};
  }
  bool accepts_strides(const OpCall& call) const override {
    return strides_ || std::holds_alternative<Reshape>(call.attributes);
  }
  int cores() const override { return cores_; }

 private:
  int cores_;
  bool strides_;
};

}  // namespace cohort::testing
