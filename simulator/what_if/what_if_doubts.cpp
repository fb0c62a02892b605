#include "simulator/what_if/what_if_doubts.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "simulator/colocation/colocate.hpp"
#include "simulator/what_if/recording_doubts.hpp"

namespace cohort {
namespace {

class Doubts {
 public:
  Doubts(const WhatIfBasis& basis, WhatIfPrediction& result)
      : case_(basis.what_if_case),
        what_if_(basis.what_if),
        graphs_(basis.graphs),
        alone_(basis.alone),
        streams_(basis.streams),
        result_(result) {}

  void add_all() {
    std::vector<Doubt>& doubts = result_.doubts;
    const auto say = [&](bool holds, bool grave, std::string text) {
      if (holds) doubts.push_back({grave, std::move(text)});
    };
    const bool together = result_.members > 1;
    const bool on_host = graphs_.on_host();
    const bool one_process = what_if_.processes == Processes::kOne;
    say(together && on_host, true, "tasks share cores; what they share of caches and memory is not known from a trace");
    result_.doubt_contention(graphs_.unknown_devices().empty()
                                 ? "what kernels use of pipes and memory is taken by their kind"
                                 : "kernels share the device by the blocks they fill");
    if (const auto& gpu = graphs_.gpu(); gpu && graphs_.unknown_devices().empty()) {
      say(together && one_process && !what_if_.graphs && streams_ > static_cast<std::size_t>(gpu->connections), false,
          fmt::format("{} streams share {} hardware connections (CUDA_DEVICE_MAX_CONNECTIONS): kernels of one wait for "
                      "those launched before them",
                      streams_, gpu->connections));
    }
    say(together && what_if_.launch_threads > 1 && !graphs_.lock_part(), false,
        "launches of several threads hold one lock for their whole length");
    if (together && !one_process) doubt_processes();
    say(case_.graphs.size() > 1 && one_process && !on_host &&
            static_cast<std::size_t>(what_if_.launch_threads) < result_.members,
        false, "members of different traces are taken to take turns in launching on the threads that they share");
    say(what_if_.fuse != FuseChoice::kNone && !result_.unfused, true, "fused times are analytic, none was profiled");
    say(what_if_.graphs && !what_if_.gpu, false, "costs of graph launches are published figures, not this machine's");
    if (what_if_.graphs) doubt_host_time();
    say(what_if_.mixed_precision, true,
        "mixed precision is taken to make matrix products 3 and all else 2 times faster, but for kernels whose names "
        "tell 16 bits already");
    say(what_if_.interconnect_speed != 1, false,
        "copies between GPUs and collectives are taken to be bound by the interconnect for all of their time");
    for (const std::string& device : graphs_.foreign_devices()) {
      say(true, true,
          fmt::format(
              "the figures are of \"{}\", the recording is of \"{}\": kernels keep the times that they took there",
              what_if_.gpu->device, device));
    }
    for (const std::string& device : graphs_.unknown_devices()) {
      say(!on_host && (together || what_if_.graphs), true, fmt::format("no figures of device \"{}\"", device));
    }
    for (const std::string& why : graphs_.minibatch_doubts()) say(true, !case_.second, why);
    doubt_counts();
    doubt_recording();
    result_.doubt_memory();
    result_.sort_doubts();
  }

 private:
  void doubt_processes() {
    std::vector<Doubt>& doubts = result_.doubts;
    if (what_if_.processes == Processes::kTimeSlicing)
      doubts.push_back({true,
                        "what the GPU takes to switch from one process to another is not known and not counted: "
                        "steps take at least as long as predicted"});
    doubts.push_back({false, fmt::format("hosts of {} processes are taken to be {:.1f}% slower than that of one, as "
                                         "measured under MPS on an A100",
                                         result_.members, 100 * (host_slowdown(result_.members) - 1))});
    doubts.push_back({false, fmt::format("each of {} processes has a CUDA context, whose memory (some hundreds of MiB) "
                                         "is not counted",
                                         result_.members)});
  }

  /// What building the steps' graphs had to leave out or to take as it was.
  void doubt_counts() {
    const auto say = [&](bool holds, std::string text) {
      if (holds) result_.doubts.push_back({false, std::move(text)});
    };
    std::size_t left_out = 0;
    std::size_t unresolved = 0;
    std::size_t ops = 0;
    std::size_t orphans = 0;
    for (const TraceGraph& graph : case_.graphs) {
      ops += graph.counts.ops;
      orphans += graph.counts.calls > 0 ? graph.counts.without_launch_record : 0;
      left_out += graph.counts.left_out;
      unresolved += graph.counts.unresolved_waits;
    }
    say(left_out > 0, fmt::format("{} ops in flight before the step are left out", left_out));
    constexpr std::size_t kFew = 100;  // one in so many
    say(orphans * kFew > ops,
        fmt::format("{} of {} ops have no call and follow what is ahead of them on their streams", orphans, ops));
    say(unresolved > 0, fmt::format("{} waiting calls keep their recorded length", unresolved));
  }

  void doubt_recording() {
    PathDoubts of_path = path_doubts(result_.facts);
    RecordingUse use;
    use.side_by_side = result_.members > 1;
    use.collectives = !of_path.collectives;
    use.overlap = graphs_.times_alone_of_kernels().empty();
    if (const auto unexplained = case_.unexplained()) {
      result_.doubts.push_back(
          {true, fmt::format("{}: a replay of the step as it was is {:+.0f}% off: what held it up is not understood",
                             case_.name_of(*unexplained), 100 * case_.replay_errors[*unexplained])});
    }
    doubt_times_alone();
    for (std::optional<Doubt>* doubt : {&of_path.memory, &of_path.collectives, &of_path.gaps}) {
      if (*doubt) result_.doubts.push_back(std::move(**doubt));
    }
    for (std::size_t i = 0; i < case_.traces.size(); ++i) {
      for (Doubt& doubt : recording_doubts(*case_.traces[i], case_.window_of(i), use)) {
        if (case_.traces.size() > 1) doubt.why = fmt::format("{}: {}", case_.name_of(i), doubt.why);
        const auto same = [&](const Doubt& other) { return other.why == doubt.why; };  // a file may be given twice
        if (std::none_of(result_.doubts.begin(), result_.doubts.end(), same))
          result_.doubts.push_back(std::move(doubt));
      }
    }
  }

  void doubt_times_alone() {
    constexpr double kNoMatter = 0.05;
    constexpr double kMuch = 0.1;
    const std::vector<TimesAlone>& times = graphs_.times_alone_of_kernels();
    for (std::size_t i = 0; i < times.size(); ++i) {
      if (times[i].share < kNoMatter) continue;
      result_.doubts.push_back(
          {times[i].unexplained > kMuch,
           fmt::format("{}kernels ran beside others for {:.0f}% of their time; what they take alone is worked out with "
                       "the model of contention, and so played back they are {:.1f}% off",
                       times.size() > 1 ? case_.name_of(i) + ": " : "", 100 * times[i].share,
                       100 * times[i].unexplained)});
    }
  }

  /// No trace says whether the host's time between launches is theirs.
  void doubt_host_time() {
    constexpr double kNoMatter = 0.05;  // of the members' steps one after another
    constexpr double kMuch = 0.25;
    WhatIfGraphs::HostTime one;  // of a step of each trace
    WhatIfGraphs::HostTime all;  // of all members' steps
    Nanoseconds steps{};
    for (std::size_t i = 0; i < case_.graphs.size(); ++i) {
      const auto& [removed, kept] = graphs_.host_times_beside_graphs()[i];
      const int members = what_if_.models_of(i);
      one.removed += removed;
      one.kept += kept;
      all.removed += removed * members;
      all.kept += kept * members;
      steps += alone_[i] * members;
    }
    if (steps <= Nanoseconds(0)) return;
    if (const double part = seconds(all.kept) / seconds(steps); part >= kNoMatter) {
      result_.doubts.push_back(
          {part >= kMuch,
           fmt::format(
               "{} of the host's time a step is not for launches (pauses over {}, memory that is allocated, freed or "
               "copied pageable) and stays; steps without set-up may do without it",
               format_time(one.kept), format_time(GraphLaunchCosts{}.most_work))});
    }
    if (seconds(all.removed) / seconds(steps) >= kNoMatter) {
      result_.doubts.push_back(
          {false, fmt::format("{} of the host's work between launches a step is taken to go with them",
                              format_time(one.removed))});
    }
  }

  const WhatIfCase& case_;
  const WhatIf& what_if_;
  const WhatIfGraphs& graphs_;
  std::span<const Nanoseconds> alone_;
  std::size_t streams_;
  WhatIfPrediction& result_;
};

}  // namespace

void add_doubts(const WhatIfBasis& basis, WhatIfPrediction& result) { Doubts(basis, result).add_all(); }

}  // namespace cohort
