#pragma once

#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "executor/device_error.hpp"
#include "simulator/plan/op_catalog.hpp"

namespace cohort::cuda {

/// The ways to run calls, kept by call_key(): members of a model batch ask for the same again and again. Any thread.
class CallLists {
 public:
  /// `make` is asked once for each key, for a list of Alternatives, and must not ask these lists itself. Where a
  /// library refuses (DeviceError) the list is empty: own kernels are left, and what is broken for good they tell.
  template <class Make>
  std::vector<Alternative> of(std::string key, const Make& make) {
    const std::scoped_lock lock(mutex_);
    const auto [found, is_new] = lists_.try_emplace(std::move(key));
    if (is_new) {
      try {
        found->second = make();
      } catch (const DeviceError&) {
        found->second.clear();
      }
    }
    return found->second;
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::vector<Alternative>> lists_;
};

}  // namespace cohort::cuda
