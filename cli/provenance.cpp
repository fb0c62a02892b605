#include "cli/provenance.hpp"

#include <fmt/chrono.h>

#include <charconv>
#include <ctime>

namespace cohort {
namespace {

constexpr std::string_view kArgument = "model.";

}  // namespace

std::map<std::string, std::string> provenance() {
  return {{"cohort", COHORT_VERSION}, {"date", fmt::format("{:%Y-%m-%d %H:%M} UTC", fmt::gmtime(std::time(nullptr)))}};
}

void write_source(const ModelSource& source, std::map<std::string, std::string>& settings) {
  settings["model"] = source.model;
  settings["minibatch"] = std::to_string(source.minibatch);
  for (const auto& [name, value] : source.arguments) settings[fmt::format("{}{}", kArgument, name)] = value;
}

Result<ModelSource> read_source(const std::map<std::string, std::string>& settings) {
  ModelSource source;
  const auto model = settings.find("model");
  const auto minibatch = settings.find("minibatch");
  if (model == settings.end() || minibatch == settings.end())
    return fail(ErrorCode::kInvalidInput, "the trace does not say which model it is of; make it with cohort profile");
  source.model = model->second;
  const std::string& text = minibatch->second;
  const auto number = std::from_chars(text.data(), text.data() + text.size(), source.minibatch);
  if (number.ec != std::errc() || source.minibatch < 1)
    return fail(ErrorCode::kInvalidInput, "setting minibatch must be a whole number from 1, not \"{}\"", text);
  for (const auto& [name, value] : settings) {
    if (name.starts_with(kArgument)) source.arguments[name.substr(kArgument.size())] = value;
  }
  return source;
}

}  // namespace cohort
