#include "models/networks/networks.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "models/networks/makers.hpp"

namespace cohort {

namespace {

constexpr std::int64_t kMostMinibatch = 65536;
/// 4 GiB of weights: above any network meant here, below what would exhaust a machine unasked.
constexpr std::int64_t kMostParameters = std::int64_t{1} << 30;

/// The whole of `text` as a whole number in [least, most].
Result<std::int64_t> parse_integer(std::string_view text, std::int64_t least, std::int64_t most) {
  std::int64_t value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size() || value < least || value > most)
    return fail(ErrorCode::kInvalidInput, "must be a whole number from {} to {}, not \"{}\"", least, most, text);
  return value;
}

/// The arguments given, and the defaults of those that are not.
Result<NetworkArguments> complete(const Network& network, const NetworkArguments& given) {
  NetworkArguments all;
  std::vector<std::string_view> known;
  for (const NetworkArgument& argument : network.arguments) {
    all.emplace(argument.name, argument.default_value);
    known.push_back(argument.name);
  }
  for (const auto& [name, value] : given) {
    const auto found = all.find(name);
    if (found == all.end() && known.empty())
      return fail(ErrorCode::kInvalidInput, "no argument \"{}\"; it takes none", name);
    if (found == all.end())
      return fail(ErrorCode::kInvalidInput, "no argument \"{}\"; known are {}", name, fmt::join(known, ", "));
    found->second = value;
  }
  return all;
}

}  // namespace

Result<std::int64_t> integer_argument(const NetworkArguments& arguments, std::string_view name, std::int64_t least,
                                      std::int64_t most) {
  const auto found = arguments.find(std::string(name));
  if (found == arguments.end()) return fail(ErrorCode::kInvalidInput, "argument {} is missing", name);
  Result<std::int64_t> value = parse_integer(found->second, least, most);
  if (!value) return in_context(fmt::format("argument {}", name), value.error());
  return value;
}

Result<std::int64_t> classes_argument(const NetworkArguments& arguments) {
  return integer_argument(arguments, "classes", 1, 1'000'000);
}

std::span<const Network> networks() {
  static const std::array kNetworks = {alexnet(),      alexnet5(), densenet121(), encoder(),  gru(),
                                       inception_v3(), lenet5(),   lstm(),        mlp(),      mobilenet_v2(),
                                       randwire(),     resnet18(), resnet50(),    smallcnn(), squeezenet1_1()};
  return kNetworks;
}

Result<Model> make_network(std::string_view name, std::int64_t minibatch, const NetworkArguments& arguments) {
  const auto all = networks();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Network& network) { return network.name == name; });
  if (found == all.end()) {
    std::vector<std::string_view> known;
    for (const Network& network : all) known.push_back(network.name);
    return fail(ErrorCode::kInvalidInput, "no built-in network \"{}\"; known are {}", name, fmt::join(known, ", "));
  }
  const std::string place = fmt::format("network {}", name);
  if (minibatch < 1 || minibatch > kMostMinibatch)
    return fail(ErrorCode::kInvalidInput, "{}: the minibatch must be from 1 to {}, not {}", place, kMostMinibatch,
                minibatch);
  Result<NetworkArguments> complete_arguments = complete(*found, arguments);
  if (!complete_arguments) return in_context(place, complete_arguments.error());
  Result<Model> model = found->make(minibatch, *complete_arguments);
  if (!model) return in_context(place, model.error());
  if (parameter_count(*model) > kMostParameters)
    return fail(ErrorCode::kInvalidInput, "{}: {} parameters are more than {}; choose smaller arguments", place,
                parameter_count(*model), kMostParameters);
  return model;
}

}  // namespace cohort
