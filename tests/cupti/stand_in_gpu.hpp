#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "base/plugin.hpp"
#include "executor/recording/fake_gpu.hpp"
#include "tracer/cupti_plugin.hpp"

// A GPU that is none: the stand-in for libcupti records what a test says that it did, a fake runs the steps.

namespace cohort::testing {

/// A function of the stand-in.
template <class Function>
Function* stand_in(const char* name) {
  const auto library = SharedLibrary::open(FAKE_CUPTI, SharedLibrary::Scope::kLocal);
  EXPECT_TRUE(library);
  const auto function = library->function<Function>(name);
  EXPECT_TRUE(function);
  return *function;
}

/// CUPTI's clock of now.
inline Nanoseconds device_time() {
  std::uint64_t time = 0;
  stand_in<int(std::uint64_t*)>("cuptiGetTimestamp")(&time);
  return Nanoseconds(static_cast<std::int64_t>(time));
}
inline void kernel(Nanoseconds start, Nanoseconds duration, std::uint32_t correlation, std::uint64_t node = 0) {
  stand_in<void(std::uint64_t, std::uint64_t, std::uint32_t, std::uint64_t)>("fake_kernel")(
      static_cast<std::uint64_t>(start.count()), static_cast<std::uint64_t>((start + duration).count()), correlation,
      node);
}
/// A record of the host's, by the stand-in's function for it.
template <class... More>
void host_record(const char* function, Nanoseconds start, Nanoseconds end, More... more) {
  stand_in<void(std::uint64_t, std::uint64_t, More...)>(function)(static_cast<std::uint64_t>(start.count()),
                                                                  static_cast<std::uint64_t>(end.count()), more...);
}
inline void graph_node(std::uint64_t node, std::uint64_t original) {
  stand_in<void(std::uint64_t, std::uint64_t)>("fake_graph_node")(node, original);
}

/// A fake GPU of its own for each session: a fake follows one Program. `given` is told the number of the one that is
/// given something.
class FakeGpus final : public Backend {
 public:
  explicit FakeGpus(std::function<void(std::size_t)> given = {}) : given_(std::move(given)) {}

  [[nodiscard]] const DeviceInfo& info() const override { return first_.info(); }
  [[nodiscard]] const OpCatalog& catalog() const override { return first_.catalog(); }
  Result<std::unique_ptr<Session>> load(const Program& program, std::span<const Weights* const> weights) override {
    FakeGpuBackend& device = *devices_.emplace_back(std::make_unique<FakeGpuBackend>());
    if (given_) device.gpu().before_each_call([this, number = devices_.size()](StreamId) { given_(number); });
    return device.load(program, weights);
  }

 private:
  FakeGpuBackend first_;
  std::function<void(std::size_t)> given_;
  std::vector<std::unique_ptr<FakeGpuBackend>> devices_;
};

/// Where libcupti is looked for the stand-in is.
class DeviceTrace : public ::testing::Test {
 protected:
  DeviceTrace() { ::setenv(kCuptiLibraryVariable, FAKE_CUPTI, 1); }
  ~DeviceTrace() override {
    for (const char* name : {kCuptiLibraryVariable, "FAKE_CUPTI_HELD"}) ::unsetenv(name);
  }
  DeviceTrace(const DeviceTrace&) = delete;
  DeviceTrace& operator=(const DeviceTrace&) = delete;
};

}  // namespace cohort::testing
