// How long reading a trace takes, beside a floor: unpacking it and walking its JSON, nothing kept.
//
//   trace_load            a made-up trace of 1,000,000 events as PyTorch's profiler writes them
//   trace_load N          the same with N events
//   trace_load FILE       a trace (.json or .json.gz)

#include <fmt/format.h>
#include <simdjson.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <string>

#include "base/file.hpp"
#include "bench/made_up_trace.hpp"
#include "tracer/file/content.hpp"
#include "tracer/file/trace_file.hpp"

namespace cohort {
namespace {

double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// Best of several runs, in processor time: all of it runs on one thread, and others may be at work on
/// the machine. The first run warms memory up.
template <class Run>
double best_seconds(const Run& run) {
  constexpr int kRuns = 4;
  double best = 1e9;
  for (int i = 0; i < kRuns; ++i) {
    const double start = processor_seconds();
    run();
    best = std::min(best, processor_seconds() - start);
  }
  return best;
}

std::int64_t peak_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss * 1024;
}

/// Visits every value of a document; returns how many strings and numbers there are.
std::size_t walk(simdjson::ondemand::value value) {
  std::size_t values = 0;
  switch (value.type()) {
    case simdjson::ondemand::json_type::array:
      for (auto element : value.get_array()) values += walk(element.value());
      return values;
    case simdjson::ondemand::json_type::object:
      for (auto field : value.get_object()) values += walk(field.value());
      return values;
    default:
      return value.raw_json_token().empty() ? 0 : 1;
  }
}

int run(int argc, char** argv) {
  const std::string given = argc > 1 ? argv[1] : "1000000";
  std::string content;
  if (std::all_of(given.begin(), given.end(), [](char c) { return c >= '0' && c <= '9'; })) {
    content = gzipped(made_up_trace(std::strtoll(given.c_str(), nullptr, 10)));
  } else {
    auto read = read_file(given);
    if (!read) {
      fmt::print(stderr, "trace_load: {}\n", read.error().message);
      return 3;
    }
    content = std::move(*read);
  }
  constexpr std::size_t kMost = std::size_t{8} << 30;
  std::size_t inflated_bytes = 0;
  std::size_t values = 0;
  const double inflate = best_seconds([&] { inflated_bytes = inflated(content, kMost)->size(); });
  const double floor = best_seconds([&] {
    const auto bytes = inflated(content, kMost);
    simdjson::ondemand::parser parser;
    auto document = parser.iterate(bytes->view().data(), bytes->size(), bytes->capacity() + PaddedBytes::kPadding);
    values = walk(document.get_value().value());
  });
  const std::int64_t before = peak_bytes();
  std::size_t slices = 0;
  std::size_t flows = 0;
  const double load = best_seconds([&] {
    const auto trace = parse_trace(content);
    if (!trace) fmt::print(stderr, "trace_load: {}\n", trace.error().message);
    if (!trace) std::exit(3);
    slices = trace->slices.size();
    flows = trace->flows.size();
  });
  fmt::print("{} slices, {} flows, {} values; {:.1f} MB packed, {:.1f} MB unpacked; JSON parser: {}\n", slices, flows,
             values, static_cast<double>(content.size()) / 1e6, static_cast<double>(inflated_bytes) / 1e6,
             simdjson::get_active_implementation()->name());
  fmt::print("unpack              {:>7.1f} ms\n", 1e3 * inflate);
  fmt::print("unpack, walk JSON   {:>7.1f} ms   (floor)\n", 1e3 * floor);
  fmt::print("load                {:>7.1f} ms   {:.2f} x the floor\n", 1e3 * load, load / floor);
  fmt::print("peak memory         {:>7.1f} MB   {:.1f} x the unpacked size (floor: {:.1f} MB)\n",
             static_cast<double>(peak_bytes()) / 1e6,
             static_cast<double>(peak_bytes()) / static_cast<double>(inflated_bytes),
             static_cast<double>(before) / 1e6);
  return 0;
}

}  // namespace
}  // namespace cohort

int main(int argc, char** argv) { return cohort::run(argc, argv); }
