#pragma once

#include <cstddef>
#include <unordered_map>
#include <utility>

#include "simulator/plan/program.hpp"

namespace cohort {

/// Whether two calls are one but for the buffers that their operands lie in: every device runs both in the same ways.
/// Neither may be of several parts.
bool same_form(const OpCall& a, const OpCall& b);

/// The same for calls of the same form.
std::size_t hash_of_form(const OpCall& call);

/// What is known of calls by their form and threads. Values stay where they are.
template <class Threads, class Value>
class KnownByForm {
 public:
  /// Null where nothing is known.
  [[nodiscard]] const Value* find(const OpCall& call, const Threads& threads) const {
    const auto [first, last] = known_.equal_range(hash_of_form(call));
    for (auto entry = first; entry != last; ++entry) {
      const Known& known = entry->second;
      if (known.threads == threads && same_form(known.call, call)) return &known.value;
    }
    return nullptr;
  }
  const Value& add(const OpCall& call, Threads threads, Value value) {
    return known_.emplace(hash_of_form(call), Known{call, std::move(threads), std::move(value)})->second.value;
  }

 private:
  struct Known {
    OpCall call;
    Threads threads;
    Value value;
  };
  std::unordered_multimap<std::size_t, Known> known_;  ///< by a hash of the form
};

}  // namespace cohort
