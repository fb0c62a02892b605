#include "training/space_file.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/spelling.hpp"

namespace cohort {
namespace {

constexpr std::array<std::string_view, 12> kParameters = {"learning_rate", "momentum", "weight_decay", "beta1",
                                                          "beta2",         "epsilon",  "clip",         "dropout",
                                                          "warmup",        "seed",     "schedule",     "arguments"};

/// Where a value stands, for messages: of a list's entries each line.
struct Place {
  const TomlTable& table;
  std::string_view key;  ///< in its table
  std::string name;      ///< of the hyperparameter
};

tl::unexpected<Error> wrong(const Place& place, std::string_view expected, const TomlValue& value) {
  return fail(ErrorCode::kInvalidInput, "{} must be {}, not {}", place.table.place_of(place.key), expected,
              value.description());
}

Result<RateSchedule> schedule_of(const Place& place, const TomlValue& value) {
  constexpr std::string_view kExpected = R"("constant", "cosine" or { every = EPOCHS, factor = NUMBER })";
  if (const auto* text = std::get_if<std::string>(&value.value)) {
    if (*text == "constant") return RateSchedule{};
    if (*text == "cosine") return RateSchedule{RateSchedule::Kind::kCosine};
    return wrong(place, kExpected, value);
  }
  const auto* const entries = std::get_if<TomlEntries>(&value.value);
  if (entries == nullptr) return wrong(place, kExpected, value);
  RateSchedule schedule{RateSchedule::Kind::kStep};
  bool has_every = false;
  for (const auto& [key, entry] : *entries) {
    const auto* const whole = std::get_if<std::int64_t>(&entry.value);
    const auto* const real = std::get_if<double>(&entry.value);
    if (key == "every" && whole != nullptr && *whole >= 1) {
      schedule.every = *whole;
      has_every = true;
    } else if (key == "factor" && real != nullptr && *real > 0 && *real <= 1) {
      schedule.factor = *real;
    } else {
      return fail(
          ErrorCode::kInvalidInput,
          "{}: {} must be part of {{ every = EPOCHS, factor = NUMBER }}, a whole number from 1 and a number above 0, "
          "at most 1; it is {}",
          place.table.place_of(place.key), key, entry.description());
    }
  }
  if (!has_every) return wrong(place, kExpected, value);
  return schedule;
}

Result<double> number_in(const Place& place, const ParameterRange& range, const TomlValue& value) {
  const auto* const whole = std::get_if<std::int64_t>(&value.value);
  const auto* const real = std::get_if<double>(&value.value);
  const std::string expected = fmt::format("{}{}", range.whole ? "" : "a number ", range.allowed);
  if (whole == nullptr && (real == nullptr || range.whole)) return wrong(place, expected, value);
  const double number = whole != nullptr ? static_cast<double>(*whole) : *real;
  const bool fits = number >= range.least && number <= range.most && !(range.open_below && number == range.least) &&
                    !(range.open_above && static_cast<float>(number) == static_cast<float>(range.most));
  if (!fits) return wrong(place, expected, value);
  return number;
}

/// A single value of a hyperparameter.
Result<ParameterValue> value_of(const Place& place, const TomlValue& value) {
  if (place.name == "schedule") return schedule_of(place, value);
  if (const ParameterRange* const range = parameter_range(place.name)) {
    COHORT_TRY(const double number, number_in(place, *range, value));
    if (range->whole) return static_cast<std::int64_t>(number);
    return number;
  }
  if (const auto* whole = std::get_if<std::int64_t>(&value.value)) return *whole;
  if (const auto* text = std::get_if<std::string>(&value.value)) return *text;
  if (const auto* real = std::get_if<double>(&value.value); real != nullptr && std::isfinite(*real)) return *real;
  return wrong(place, "a number or text, as the network's argument is", value);
}

/// { log_uniform = [1e-4, 1e-1] } or { uniform = [0, 0.5] }.
Result<Interval> interval_of(const Place& place, const TomlValue& value) {
  constexpr std::string_view kExpected = "{ log_uniform = [LOW, HIGH] } or { uniform = [LOW, HIGH] }";
  const auto& entries = std::get<TomlEntries>(value.value);
  if (place.name == "schedule" || entries.size() != 1) return wrong(place, kExpected, value);
  const auto& [kind, bounds] = entries.front();
  const auto* const list = std::get_if<std::vector<TomlValue>>(&bounds.value);
  if ((kind != "log_uniform" && kind != "uniform") || list == nullptr || list->size() != 2)
    return fail(ErrorCode::kInvalidInput, "{} must be a value, a list, {}; it has {} = {}",
                place.table.place_of(place.key), kExpected, kind, bounds.description());
  Interval interval;
  interval.logarithmic = kind == "log_uniform";
  std::array<double, 2> ends{};
  interval.whole = true;
  const ParameterRange* const range = parameter_range(place.name);
  for (std::size_t i = 0; i < 2; ++i) {
    COHORT_TRY(const ParameterValue end, value_of(place, (*list)[i]));
    if (std::holds_alternative<std::string>(end)) return wrong(place, "between two numbers", (*list)[i]);
    const auto* const whole = std::get_if<std::int64_t>(&end);
    ends[i] = whole != nullptr ? static_cast<double>(*whole) : std::get<double>(end);
    interval.whole = interval.whole && whole != nullptr;
  }
  if (range != nullptr && !range->whole) interval.whole = false;
  interval.low = ends[0];
  interval.high = ends[1];
  if (!(interval.low < interval.high) || (interval.logarithmic && interval.low <= 0))
    return fail(ErrorCode::kInvalidInput, "{}: {} needs two numbers, the lower one first{}; it has {} and {}",
                place.table.place_of(place.key), kind, interval.logarithmic ? ", both above 0" : "", ends[0], ends[1]);
  return interval;
}

Result<Dimension> dimension_of(const Place& place, const TomlValue& value) {
  Dimension dimension{place.name, {}};
  if (std::holds_alternative<TomlEntries>(value.value) && place.name != "schedule") {
    COHORT_TRY(dimension.values, interval_of(place, value));
    return dimension;
  }
  std::vector<ParameterValue> values;
  if (const auto* list = std::get_if<std::vector<TomlValue>>(&value.value)) {
    if (list->empty()) return wrong(place, "a value or a list with at least one", value);
    for (const TomlValue& each : *list) {
      COHORT_TRY(ParameterValue one, value_of(place, each));
      values.push_back(std::move(one));
    }
  } else {
    COHORT_TRY(ParameterValue one, value_of(place, value));
    values.push_back(std::move(one));
  }
  dimension.values = std::move(values);
  return dimension;
}

/// Calls visit(place, value) for each hyperparameter of a table, those of the network's arguments one by one.
template <class Visit>
Result<void> each_parameter(const TomlTable& table, Visit visit) {
  for (const auto& [key, value] : table.entries()) {
    if (key == "search" || key == "samples") continue;
    if (key != "arguments") {
      COHORT_CHECK(visit(Place{table, key, key}, value));
      continue;
    }
    COHORT_TRY(const TomlTable arguments, table.table(key));
    for (const auto& [name, argument] : arguments.entries())
      COHORT_CHECK(visit(Place{arguments, name, std::string(kArgumentPrefix) + name}, argument));
  }
  return {};
}

Result<void> read_search(const TomlTable& table, Sweep& sweep) {
  std::string search = sweep.members.empty() ? "grid" : "list";
  if (table.has("search")) {
    COHORT_TRY(search, table.string("search"));
  }
  if (search == "grid") {
    sweep.search = SearchKind::kGrid;
  } else if (search == "random") {
    sweep.search = SearchKind::kRandom;
  } else if (search == "list") {
    sweep.search = SearchKind::kList;
  } else {
    constexpr std::array<std::string_view, 3> kKnown = {"grid", "random", "list"};
    return fail(ErrorCode::kInvalidInput, "{}: no search \"{}\"; {}", table.place_of("search"), search,
                known_words(search, kKnown));
  }
  if (sweep.search == SearchKind::kRandom) {
    COHORT_TRY(sweep.samples, table.integer("samples", 1, static_cast<std::int64_t>(kMostSweepMembers)));
  } else if (table.has("samples")) {
    return fail(ErrorCode::kInvalidInput, "{}: only search = \"random\" has a number of samples",
                table.place_of("samples"));
  }
  return {};
}

}  // namespace

Result<void> read_space(const TomlTable& table, Sweep& sweep) {
  std::vector<std::string_view> known(kParameters.begin(), kParameters.end());
  known.insert(known.end(), {"search", "samples"});
  for (const auto& [key, value] : table.entries()) {
    if (std::find(known.begin(), known.end(), key) == known.end())
      return fail(ErrorCode::kInvalidInput, "{} is not known; {}", table.place_of(key), known_words(key, known));
  }
  COHORT_CHECK(read_search(table, sweep));
  return each_parameter(table, [&](const Place& place, const TomlValue& value) -> Result<void> {
    COHORT_TRY(Dimension dimension, dimension_of(place, value));
    const bool interval = std::holds_alternative<Interval>(dimension.values);
    if (interval && sweep.search != SearchKind::kRandom)
      return fail(ErrorCode::kInvalidInput, "{}: only search = \"random\" draws between two numbers; give a list",
                  place.table.place_of(place.key));
    if (sweep.search == SearchKind::kList && std::get<std::vector<ParameterValue>>(dimension.values).size() > 1)
      return fail(ErrorCode::kInvalidInput,
                  "{}: with [[member]] tables [space] holds what they have in common, one value each",
                  place.table.place_of(place.key));
    sweep.space.push_back(std::move(dimension));
    return {};
  });
}

Result<std::vector<Point>> read_members(const std::vector<TomlTable>& tables) {
  std::vector<Point> members;
  for (const TomlTable& table : tables) {
    COHORT_CHECK(table.check_keys(kParameters));
    Point point;
    COHORT_CHECK(each_parameter(table, [&](const Place& place, const TomlValue& value) -> Result<void> {
      COHORT_TRY(ParameterValue one, value_of(place, value));
      point.emplace_back(place.name, std::move(one));
      return {};
    }));
    members.push_back(std::move(point));
  }
  return members;
}

}  // namespace cohort
