// What each way of scheduling the branches of one model is predicted to take.
//
//     build/release/bin/schedules PROFILE... [--streams K] [--plans FOLDER]
//
// Profiles are what `cohort profile NETWORK` records, of built-in networks. Prints for each the order's shape (ops,
// edges that no others imply, the width, Nimble's streams and syncs), then a line for each schedule: predicted step
// time, against the best serial plan, the schedule's own reckoning, and how long it took to find. With --plans each
// becomes FOLDER/NETWORK-N.plan.json, to be measured with `cohort run`.

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.hpp"
#include "models/networks/networks.hpp"
#include "simulator/costs/recorded_catalog.hpp"
#include "simulator/planner/branches.hpp"
#include "simulator/planner/planner.hpp"
#include "tracer/file/trace_file.hpp"

namespace {

using namespace cohort;

struct Settings {
  std::vector<std::string> profiles;
  int streams = 0;  ///< 0: as many as cores
  std::filesystem::path plans;
};

/// A profile and the network it is of.
struct Recorded {
  Trace trace;
  Model model;
  Member member;
};

Result<Recorded> open(const std::string& file) {
  COHORT_TRY(Trace trace, read_trace(file));
  const auto& settings = trace.info.settings;
  if (!settings.contains("model") || !settings.contains("minibatch"))
    return fail(ErrorCode::kInvalidInput, "{} is not a profile of a network", file);
  ModelSource source{settings.at("model"), {}, std::strtoll(settings.at("minibatch").c_str(), nullptr, 10)};
  for (const auto& [name, value] : settings) {
    if (name.starts_with("model.")) source.arguments[name.substr(6)] = value;
  }
  COHORT_TRY(Model model, make_network(source.model, source.minibatch, source.arguments));
  Weights weights = random_weights(model, 0);
  LoadedModel loaded = simplify({std::move(model), std::move(weights)});
  Member member{source.model, source, 0};
  return Recorded{std::move(trace), std::move(loaded.model), std::move(member)};
}

void print_shape(const Recorded& recorded) {
  const OpGraph graph = op_graph(recorded.model);
  const StreamAssignment syncs = assign_least_syncs(graph);
  fmt::print(
      "{}: {} ops, {} of them with nothing beside them, {} edges that no others imply; width {}; least syncs {} "
      "on {} streams; Opara {} syncs on {}\n",
      recorded.member.name, graph.size(), OpOrder(graph).cuts().size(), reduced_edges(graph).size(),
      assign_least_streams(graph).stream_count, syncs.syncs, syncs.stream_count, opara_streams(graph).syncs,
      opara_streams(graph).stream_count);
}

Result<void> save(const Plan& plan, const Settings& settings, const std::string& name) {
  if (settings.plans.empty()) return {};
  std::filesystem::create_directories(settings.plans);
  return write_file(settings.plans / (name + ".plan.json"), write_plan(plan), Overwrite::kNever);
}

Result<void> report(const Recorded& recorded, const Settings& settings) {
  const std::vector<const Trace*> profiles{&recorded.trace};
  COHORT_TRY(const CostTable costs, CostTable::from(profiles));
  COHORT_TRY(const DeviceProfile device, device_profile_of(profiles));
  const RecordedCatalog catalog(costs, device.cores);
  const Plan base = uniform_plan({recorded.member}, Strategy::kSerial, 1);
  const std::vector<const Model*> models{&recorded.model};
  const PlanningCase planning_case{&base, models, &costs, device, &catalog};
  print_shape(recorded);
  COHORT_TRY(const BaselinePrediction serial, predict_baseline(planning_case));
  fmt::print("  {:>10}  serial, the best of one and all cores an op\n", format_time(serial.step_time));
  const int streams = settings.streams > 0 ? settings.streams : device.cores;
  if (streams < 2) return {};
  CallTimes times(costs);
  const std::vector<MemberClass> classes = member_classes(models);
  OpWork work = work_of(recorded.model);
  BranchScheduler scheduler(classes, device, times, work.parameters, nullptr);
  int number = 0;
  for (const BranchSchedule kind : kBranchSchedules) {
    Plan plan = base;
    plan.streams = streams;
    const auto begin = std::chrono::steady_clock::now();
    plan.groups = scheduler.groups({kind, streams});
    const auto took = std::chrono::duration_cast<Nanoseconds>(std::chrono::steady_clock::now() - begin);
    COHORT_TRY(const PlanPrediction predicted, predict_plan(planning_case, plan, recorded.trace.info.device));
    fmt::print("  {:>10}  {:5.2f}x  x{} {}: reckons {}, found in {}\n", format_time(predicted.run.prediction.step_time),
               predicted.speedup, streams, to_string(kind),
               format_time(scheduler.schedule(0, {kind, streams}).expected), format_time(took));
    COHORT_CHECK(save(predicted.plan, settings, fmt::format("{}-{}", recorded.member.name, ++number)));
  }
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--streams" && i + 1 < argc) {
      settings.streams = std::atoi(argv[++i]);
    } else if (argument == "--plans" && i + 1 < argc) {
      settings.plans = argv[++i];
    } else {
      settings.profiles.emplace_back(argument);
    }
  }
  if (settings.profiles.empty()) {
    fmt::print(stderr, "usage: schedules PROFILE... [--streams K] [--plans FOLDER]\n");
    return 2;
  }
  for (const std::string& file : settings.profiles) {
    const Result<Recorded> recorded = open(file);
    if (!recorded) {
      fmt::print(stderr, "{}: {}\n", file, recorded.error().message);
      return 3;
    }
    if (const auto done = report(*recorded, settings); !done) {
      fmt::print(stderr, "{}: {}\n", file, done.error().message);
      return 3;
    }
  }
  return 0;
}
