// What candidates are called.

#include <fmt/ranges.h>

#include <map>

#include "simulator/planner/variants.hpp"

namespace cohort {
namespace {

std::string words(const Variant& variant) {
  switch (variant.rest) {
    case RestKind::kSerialBest:
      return "serial";
    case RestKind::kSerialOneThread:
      return "serial on one thread";
    case RestKind::kSerialAllCores:
      return "serial on all cores";
    case RestKind::kConcurrent:
      return fmt::format("concurrent x{}", variant.streams);
    case RestKind::kBranches:
      return fmt::format("branches x{}{} ({})", variant.streams,
                         variant.branch_sets > 1 ? fmt::format(" in {} sets", variant.branch_sets) : "",
                         to_string(variant.branches));
  }
  return "";
}

std::string first_to_last(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 3;
  return names.size() > kMost ? fmt::format("{} ... {}", names.front(), names.back())
                              : fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

std::string_view words(Strategy strategy) {
  switch (strategy) {
    case Strategy::kDenseConvolution:
      return "dense convolution";
    case Strategy::kGroupedConvolution:
      return "grouped convolution";
    case Strategy::kStridedBatch:
      return "strided batch";
    case Strategy::kGroupedGemm:
      return "grouped products";
    case Strategy::kSerial:
    case Strategy::kConcurrent:
      return to_string(strategy);
  }
  return "";
}

std::string VariantMaker::name_of(const Variant& variant) const {
  const bool on_streams = variant.rest == RestKind::kConcurrent || variant.rest == RestKind::kBranches;
  const bool says_nothing = covers_all(variant.fused) && !on_streams;
  std::string name = says_nothing ? "" : words(variant);
  const auto add = [&](std::string_view what) { name += fmt::format("{}{}", name.empty() ? "" : " + ", what); };
  std::map<Strategy, std::vector<const FusedRun*>> by_strategy;
  for (const FusedRun& run : variant.fused) by_strategy[run.strategy].push_back(&run);
  const auto names_of = [&](const FusedRun& run) {
    std::vector<std::string> names;
    for (const std::size_t op : run.ops) names.push_back(classes_[run.member_class].model->ops[op].name);
    return names;
  };
  constexpr std::size_t kMostRuns = 3;
  for (const FusedRun& run : variant.fused) {
    const std::vector<const FusedRun*>& like = by_strategy[run.strategy];
    if (like.size() <= kMostRuns) {
      add(fmt::format("{} ({})", words(run.strategy), first_to_last(names_of(run))));
    } else if (&run == like.front()) {
      add(fmt::format("{} ({} runs, {} ... {})", words(run.strategy), like.size(), names_of(run).front(),
                      names_of(*like.back()).back()));
    }
  }
  if (!variant.grouped.empty()) add(fmt::format("grouped products ({})", first_to_last(variant.grouped)));
  if (variant.sharing != case_.base->input.sharing) name += ", separate input";
  const auto count = [&](int number, int base, std::string_view what) {
    if (number != base) name += fmt::format(", {} {}{}", number, what, number == 1 ? "" : "s");
  };
  count(variant.input.decode_workers, case_.base->input.decode_workers, "decode worker");
  count(variant.input.buffers, case_.base->input.buffers, "buffer");
  count(variant.launch_threads, case_.base->launch_threads, "launch thread");
  if (variant.multiprocessors > 0) name += fmt::format(", products for {} multiprocessors", variant.multiprocessors);
  if (variant.launch != case_.base->launch) {
    name += variant.launch == LaunchMode::kGraph ? ", captured as a graph" : ", launched one by one";
  }
  return name;
}

}  // namespace cohort
