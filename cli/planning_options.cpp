#include "cli/planning_options.hpp"

#include <CLI/CLI.hpp>
#include <charconv>
#include <cmath>
#include <optional>

#include "cli/list_option.hpp"
#include "cli/precision_option.hpp"
#include "cli/text_checks.hpp"

namespace cohort {
namespace {

/// "8GiB", "2.5MiB", "1000".
std::optional<Bytes> bytes_from(std::string_view text) {
  double value = 0;
  const auto number = std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  if (number.ec != std::errc() || !(value >= 0)) return std::nullopt;
  const std::string_view unit(number.ptr, static_cast<std::size_t>(text.data() + text.size() - number.ptr));
  int shift = 0;
  if (unit == "KiB")
    shift = 10;
  else if (unit == "MiB")
    shift = 20;
  else if (unit == "GiB")
    shift = 30;
  else if (!unit.empty() && unit != "B")
    return std::nullopt;
  const double bytes = std::ldexp(value, shift);
  if (bytes >= 0x1p63 || (shift == 0 && bytes != std::floor(bytes))) return std::nullopt;
  return Bytes{static_cast<std::int64_t>(bytes)};
}

}  // namespace

Result<Limits> parse_limits(const std::vector<std::string>& texts) {
  Limits limits;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    const std::string name = text.substr(0, equals);
    const auto bytes =
        equals == std::string::npos ? std::nullopt : bytes_from(std::string_view(text).substr(equals + 1));
    if (!bytes || (name != "memory" && name != "workspace"))
      return fail(ErrorCode::kUsage, "--limit must be like memory=8GiB or workspace=64MiB, not \"{}\"", text);
    (name == "memory" ? limits.memory : limits.workspace) = *bytes;
  }
  return limits;
}

Result<Bytes> parse_bytes(std::string_view option, std::string_view text) {
  const auto bytes = bytes_from(text);
  if (bytes) return *bytes;
  return fail(ErrorCode::kUsage, "{} '{}': write it as 64MiB, 1GiB or a number of bytes", option, text);
}

void add_planning_options(CLI::App& app, PlanningFlags& flags) {
  PlanningOptions& values = flags.values;
  app.add_option("PROFILE", values.profiles, "Profiles of the members' models, from cohort profile")->required();
  auto* count =
      add_list_option(app, "-n,--models", values.members.counts, parse_count,
                      "Members of each file's model, seeded from 0; one number for all files, or one per file")
          ->type_name("N[,...]")
          ->default_str("1");
  app.add_option("--members", values.members.file, "JSON file that lists members individually, in the form of a plan")
      ->type_name("FILE")
      ->excludes(count);
  app.add_option("--data", flags.data, "Folder of labelled JPEGs to decode; default: synthetic input")
      ->type_name("FOLDER");
  add_image_options(app, flags.images);
  app.add_option("--input", flags.input, "One input for all members, or one per member")
      ->check(CLI::IsMember({"shared", "separate"}))
      ->capture_default_str();
  app.add_option("--bad-images", flags.bad_images,
                 "Images that are broken, or neither RGB nor grey: skip them and list them at the end, or fail")
      ->check(CLI::IsMember({"skip", "fatal"}))
      ->capture_default_str();
  app.add_option("--decode-workers", values.input.decode_workers, "Decoding threads; default: one per core");
  app.add_option("--buffers", values.input.buffers, "Minibatches in flight per input")->capture_default_str();
  app.add_option("--input-seed", values.input.seed, "Seed for the order of images and for synthetic input")
      ->check(is_whole_number)
      ->capture_default_str();
  app.add_option("--device-profile", values.gpu_profile,
                 "GPU profile from cohort calibrate --fit, or the name of a known GPU; default: published figures")
      ->type_name("FILE|NAME");
  app.add_option("--limit", flags.limits, "memory=8GiB or workspace=64MiB; repeatable")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
  add_precision_option(app, flags.precision, "Precision that ops compute in; default: that of the profiles");
}

Result<void> check_usage(const PlanningFlags& flags) {
  COHORT_CHECK(check_usage(flags.values));
  return check_utf8("--data", flags.data);
}

Result<PlanningOptions> planning_options(const PlanningFlags& flags) {
  COHORT_CHECK(check_usage(flags));
  PlanningOptions options = flags.values;
  options.input.source = flags.data.empty() ? InputSource::kGenerated : InputSource::kFolder;
  options.input.path = flags.data;
  COHORT_TRY(options.input.images, images_of(flags.images));
  options.input.sharing = flags.input == "shared" ? InputSharing::kShared : InputSharing::kSeparate;
  options.input.bad_images = flags.bad_images == "fatal" ? BadImages::kFatal : BadImages::kSkip;
  if (!flags.precision.empty()) {
    COHORT_TRY(options.precision, precision_from(flags.precision));
  }
  COHORT_TRY(options.limits, parse_limits(flags.limits));
  return options;
}

}  // namespace cohort
