#include "simulator/what_if/rank_what_ifs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <set>
#include <thread>
#include <utility>

#include "base/parallel.hpp"
#include "simulator/colocation/colocate.hpp"

namespace cohort {
namespace {

constexpr std::size_t kMostTasks = 1'000'000;  // in one step of every member, of predictions at the same time
/// Above this, ways are ranked with as many members of the trace that has most.
constexpr std::size_t kMostSearchedTasks = 50'000;
constexpr int kFewMembers = 16;
constexpr std::size_t kRefined = 3;  // of the best ways without fusion and with one launching thread

std::string name_of(const WhatIf& what_if) {
  std::string name;
  if (what_if.processes != Processes::kOne) name += fmt::format(" --processes {}", to_string(what_if.processes));
  if (what_if.streams) name += fmt::format(" --streams {}", *what_if.streams);
  if (what_if.graphs) name += " --graphs";
  if (what_if.launch_threads > 1) name += fmt::format(" --launch-threads {}", what_if.launch_threads);
  if (what_if.fuse == FuseChoice::kAuto) name += " --fuse auto";
  return name.empty() ? "each on streams of its own" : name.substr(1);
}

/// 1, 2, 4, ... and as many as members.
std::set<int> powers_up_to(int members) {
  std::set<int> numbers{members};
  for (int number = 1; number < members; number *= 2) numbers.insert(number);
  return numbers;
}

bool has_device_work(const WhatIfCase& what_if_case) {
  return std::any_of(what_if_case.graphs.begin(), what_if_case.graphs.end(), [](const TraceGraph& of_trace) {
    const std::vector<Task>& tasks = of_trace.graph.tasks;
    return std::any_of(tasks.begin(), tasks.end(), [](const Task& task) { return is_device_work(task.kind); });
  });
}

class Ranking {
 public:
  Ranking(const WhatIfCase& what_if_case, const WhatIf& base, const RankOptions& options)
      : case_(what_if_case),
        base_(base),
        options_(options),
        cancel_(options.cancel),
        launches_(has_device_work(what_if_case)) {}

  Result<WhatIfRanking> run() {
    const bool is_large = tasks_of_all() > kMostSearchedTasks && base_.most_models() > kFewMembers;
    if (is_large && !options_.memory_limit) return run_with_few();  // what fits depends on all
    COHORT_TRY(const bool go_on, try_ways(simple()));
    if (!go_on) return finished();
    sort();
    const Result<bool> refined_too = try_ways(refined());
    if (!refined_too) return tl::unexpected<Error>(refined_too.error());
    return finished();
  }

 private:
  /// Looks for the best ways among fewer members, and predicts these with all, until as many as are refined can be.
  /// Once cancelled, the best so far alone.
  Result<WhatIfRanking> run_with_few() {
    WhatIf few = base_;
    few.models.clear();
    for (std::size_t i = 0; i < case_.graphs.size(); ++i)
      few.models.push_back(std::max(1, base_.models_of(i) * kFewMembers / base_.most_models()));
    COHORT_TRY(const WhatIfRanking of_few, Ranking(case_, few, options_).run());
    done_ = of_few.ranked.size() + of_few.refused.size();
    if (of_few.interrupted) cancel_ = nullptr;
    const auto wanted = static_cast<std::ptrdiff_t>(of_few.interrupted ? 1 : kRefined);
    const auto of_one_process = [](const RankedWhatIf& each) { return each.what_if.processes == Processes::kOne; };
    bool alone = of_few.interrupted;
    for (const RankedWhatIf& found : of_few.ranked) {
      if (std::ranges::count_if(result_.ranked, of_one_process) >= wanted) break;
      if (!of_one_process(found) && !tries_processes()) continue;  // of fewer members
      COHORT_TRY(const bool go_on, try_ways(with_all(found.what_if, alone)));
      if (!go_on) break;
      alone = alone || of_one_process(found);
    }
    result_.interrupted = result_.interrupted || of_few.interrupted;
    return finished();
  }

  /// A way of few members as one of all. What had a stream for each has one for each again, and unless `alone` also
  /// tries the numbers between.
  [[nodiscard]] std::vector<WhatIf> with_all(WhatIf way, bool alone) const {
    way.models = base_.models;
    if (base_.streams || way.streams != kFewMembers) return {way};
    std::vector<WhatIf> ways;
    for (const int streams : powers_up_to(base_.most_models())) {
      if (streams < base_.most_models() && (alone || streams < kFewMembers)) continue;
      ways.push_back(way);
      ways.back().streams = streams;
    }
    return ways;
  }

  [[nodiscard]] std::set<int> stream_counts() const {
    const int most = base_.most_models();
    if (!options_.streams) return {base_.streams.value_or(most)};
    return powers_up_to(most);
  }

  /// Sets of streams of all traces together.
  [[nodiscard]] int stream_sets(const WhatIf& way) const {
    int sets = 0;
    for (std::size_t i = 0; i < case_.graphs.size(); ++i) {
      sets += std::min(way.models_of(i), way.streams.value_or(way.models_of(i)));
    }
    return sets;
  }

  /// On so many streams, launched one by one and as graphs.
  [[nodiscard]] std::vector<WhatIf> simple() const {
    std::vector<WhatIf> ways;
    for (const int streams : stream_counts()) {
      for (const bool graphs : {false, true}) {
        if (graphs && !launches_) continue;
        ways.push_back(base_);
        ways.back().graphs = graphs;
        if (base_.most_models() > 1) ways.back().streams = streams;
      }
    }
    if (!tries_processes()) return ways;
    for (const bool graphs : {false, true}) {
      ways.push_back(base_);
      ways.back().graphs = graphs;
      ways.back().processes = Processes::kMps;
    }
    return ways;
  }

  /// Whether a process for each member is a way as well. Time slicing never beats MPS, and is not ranked.
  /// Nor is one that may break a limit, as nobody knows the memory of the processes' CUDA contexts.
  [[nodiscard]] bool tries_processes() const {
    const std::size_t members = base_.members(case_.graphs.size());
    const bool asked = base_.streams || base_.launch_threads > 1 || !options_.streams || !options_.launch_threads;
    const bool shares = base_.shared_input || base_.fuse != FuseChoice::kNone;
    return launches_ && options_.processes && !options_.memory_limit && base_.processes == Processes::kOne &&
           members > 1 && members <= kMostMpsClients && !asked && !shares;
  }

  /// The best so far with kernels fused, and with more threads that launch.
  [[nodiscard]] std::vector<WhatIf> refined() const {
    std::vector<WhatIf> ways;
    if (!launches_) return ways;
    std::size_t refined = 0;
    for (std::size_t i = 0; i < result_.ranked.size() && refined < kRefined; ++i) {
      const WhatIf& best = result_.ranked[i].what_if;
      if (best.processes != Processes::kOne) continue;
      ++refined;
      if (base_.most_models() > 1) {
        ways.push_back(best);
        ways.back().fuse = FuseChoice::kAuto;
      }
      if (best.graphs || !options_.launch_threads) continue;
      for (const int threads : {2, 4}) {
        if (threads > stream_sets(best)) continue;
        ways.push_back(best);
        ways.back().launch_threads = threads;
      }
    }
    return ways;
  }

  /// How many are predicted at the same time: as cores and memory allow.
  [[nodiscard]] std::size_t workers() const {
    const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
    return std::clamp<std::size_t>(kMostTasks / std::max<std::size_t>(1, tasks_of_all()), 1, cores);
  }

  /// In one step of every member.
  [[nodiscard]] std::size_t tasks_of_all() const {
    std::size_t tasks = 0;
    for (std::size_t i = 0; i < case_.graphs.size(); ++i)
      tasks += case_.graphs[i].graph.tasks.size() * static_cast<std::size_t>(base_.models_of(i));
    return tasks;
  }

  /// Several at a time, kept in their order. False once cancelled.
  Result<bool> try_ways(std::vector<WhatIf> ways) {
    const std::size_t at_a_time = workers();
    const std::size_t threads = at_a_time > 1 ? 1 : 2;  // of each
    for (std::size_t first = 0; first < ways.size(); first += at_a_time) {
      const std::size_t count = std::min(at_a_time, ways.size() - first);
      std::vector<std::optional<Result<WhatIfPrediction>>> found(count);
      parallel_for(count, at_a_time, [&](std::size_t, std::size_t i) {
        found[i] = predict_what_if(case_, ways[first + i], cancel_, threads);
      });
      std::optional<Error> interrupted;
      for (std::size_t i = 0; i < count; ++i) {
        Result<WhatIfPrediction>& prediction = *found[i];
        if (!prediction && prediction.error().code == ErrorCode::kInterrupted) {
          interrupted = std::move(prediction).error();
        } else {
          const Result<void> added = add(std::move(ways[first + i]), std::move(prediction));
          if (!added) return tl::unexpected<Error>(added.error());
        }
      }
      if (!interrupted) continue;
      result_.interrupted = true;
      if (result_.ranked.empty()) return tl::unexpected<Error>(*std::move(interrupted));
      return false;
    }
    return true;
  }

  Result<void> add(WhatIf way, Result<WhatIfPrediction> prediction) {
    std::string name = name_of(way);
    ++done_;
    if (options_.progress) options_.progress(done_);
    if (!prediction) {
      refuse(std::move(name), prediction.error());
      return {};
    }
    if (prediction->unfused) {  // the same way is there without it
      const Nanoseconds cost = *prediction->unfused;
      refuse(std::move(name), {ErrorCode::kNegativeAnswer,
                               cost > Nanoseconds(0) ? fmt::format("fusing would take {} longer", format_time(cost))
                                                     : "fusing would gain nothing"});
      return {};
    }
    if (options_.memory_limit) {
      const std::optional<Bytes> needed = prediction->memory.total();
      if (!needed)
        return fail(ErrorCode::kNegativeAnswer, "--limit memory: the members' memory is not known: {}",
                    prediction->memory.unknown);
      if (*needed > *options_.memory_limit) {
        refuse(std::move(name),
               {ErrorCode::kDoesNotFit, fmt::format("it needs {}, the limit is {}", format_bytes(*needed),
                                                    format_bytes(*options_.memory_limit))});
        return {};
      }
    }
    keep({std::move(name), std::move(way), std::move(*prediction)});
    return {};
  }

  void refuse(std::string name, Error error) {
    result_.refused.push_back({std::move(name), error.message});
    if (!first_refusal_) first_refusal_ = std::move(error);
  }

  /// Timelines of many members are large: only the best's is kept.
  void keep(RankedWhatIf found) {
    auto& ranked = result_.ranked;
    const auto faster = [&](const RankedWhatIf& other) {
      return other.prediction.step_time <= found.prediction.step_time;
    };
    if (std::any_of(ranked.begin(), ranked.end(), faster)) {
      found.prediction.trace = Trace();
    } else {
      for (RankedWhatIf& other : ranked) other.prediction.trace = Trace();
    }
    ranked.push_back(std::move(found));
  }

  /// Of equally long steps what was tried first stays ahead: it is the simpler one.
  void sort() {
    std::stable_sort(result_.ranked.begin(), result_.ranked.end(), [](const RankedWhatIf& a, const RankedWhatIf& b) {
      return a.prediction.step_time < b.prediction.step_time;
    });
  }

  Result<WhatIfRanking> finished() {
    if (result_.ranked.empty()) return tl::unexpected<Error>(*first_refusal_);
    sort();
    return std::move(result_);
  }

  const WhatIfCase& case_;
  const WhatIf& base_;
  const RankOptions& options_;
  const CancelToken* cancel_;
  bool launches_;  ///< there is a device that tasks are launched on: a GPU was traced, not a CPU
  WhatIfRanking result_;
  std::optional<Error> first_refusal_;
  std::size_t done_ = 0;
};

}  // namespace

Result<WhatIfRanking> rank_what_ifs(const WhatIfCase& what_if_case, const WhatIf& base, const RankOptions& options) {
  if (const auto unexplained = what_if_case.unexplained()) {
    return fail(ErrorCode::kNegativeAnswer,
                "{}: a replay of the step as it was is {:+.0f}% off, so that no gain predicted from it would be worth "
                "anything; choose another step (--step, --window)",
                what_if_case.name_of(*unexplained), 100 * what_if_case.replay_errors[*unexplained]);
  }
  return Ranking(what_if_case, base, options).run();
}

}  // namespace cohort
