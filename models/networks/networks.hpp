#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/model.hpp"

namespace cohort {

/// One argument a network takes, with its default as text.
struct NetworkArgument {
  std::string_view name;
  std::string_view default_value;
  std::string_view help;
};

/// Argument values by name, all present once a network is made.
using NetworkArguments = std::map<std::string, std::string>;

struct Network {
  std::string_view name;
  std::string_view description;  ///< one line, with the paper it comes from
  std::vector<NetworkArgument> arguments;
  Result<Model> (*make)(std::int64_t minibatch, const NetworkArguments& arguments);
};

/// The built-in networks, by name.
std::span<const Network> networks();

/// Errors: kInvalidInput for an unknown network (the message lists those known), an argument the
/// network does not have, or a value out of range.
Result<Model> make_network(std::string_view name, std::int64_t minibatch, const NetworkArguments& arguments);

}  // namespace cohort
