#include "executor/profile/in_model.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/statistics.hpp"
#include "executor/clock.hpp"
#include "simulator/plan/plan.hpp"

namespace cohort {
namespace {

/// Rounds of each way while ways are compared, after one that warms up; and of the best ways.
constexpr int kRaceRounds = 3;
constexpr int kSettleRounds = 5;
/// Loading a program and timing it once take about as long as so many runs of it, at least.
constexpr int kLeastRuns = 4;
/// Of members in turn so many are recorded, spread over all: they are alike.
constexpr std::uint32_t kRecordedMembers = 16;
/// Members in turn beyond which a program is no longer looked at: with so many each is as cold as it gets. Of models so
/// small that a core's own cache holds as many, more are, until it no longer does.
constexpr int kMostTurns = 16;
constexpr int kMostTinyTurns = 256;
constexpr int kCoreCaches = 4;  ///< what all of them touch then, in caches of a core

}  // namespace

ChooseAlternative choose_ways(ChosenWays chosen) {
  return [chosen = std::move(chosen)](const CostKey& key, std::span<const Alternative> ways) {
    const auto wanted = chosen.find(key.signature);
    if (wanted == chosen.end()) return std::size_t{0};
    const auto found = std::find_if(ways.begin(), ways.end(), [&](const Alternative& way) {
      return OpWay{way.algorithm, way.threads} == wanted->second;
    });
    return found == ways.end() ? std::size_t{0} : static_cast<std::size_t>(found - ways.begin());
  };
}

InModelTimer::InModelTimer(Backend& backend, const LoadedModel& loaded, const ProfileOptions& options, WorkWatch& watch)
    : backend_(backend), loaded_(loaded), options_(options), thread_counts_{1}, watch_(watch) {
  if (const int cores = backend.catalog().cores(); cores > 1) thread_counts_ = {cores, 1};
}

InModelTimer::~InModelTimer() = default;

Result<std::unique_ptr<ProgramTimer>> InModelTimer::load(int copies, int streams, const ChooseAlternative& choose) {
  std::vector<Member> members;
  for (int i = 0; i < copies; ++i) members.push_back({fmt::format("{}", i), {}, 0});
  Plan plan = uniform_plan(std::move(members), streams > 1 ? Strategy::kConcurrent : Strategy::kSerial, streams);
  plan.input.buffers = 1;
  // As in the baseline, members in turn each read an input of their own, which is in no cache.
  if (streams == 1) plan.input.sharing = InputSharing::kSeparate;
  plan.precision = options_.precision;
  plan.layout = options_.layout;
  const std::vector<const Model*> models(static_cast<std::size_t>(copies), &loaded_.model);
  COHORT_TRY(Program program, lower(plan, models, backend_.catalog(), choose));
  for (const Step& step : program.steps) names_.try_emplace(step.cost.signature, step.op);
  const std::vector<const Weights*> weights(models.size(), &loaded_.weights);
  return ProgramTimer::load(backend_, std::move(program), ProfileState::kInModel, weights);
}

/// Returns what the ops of a round take together.
Result<InModelTimer::Watched<Nanoseconds>> InModelTimer::time(ProgramTimer& run, int rounds,
                                                              const CancelToken& cancel) {
  COHORT_TRY(ProgramTimer::Timed timed, run.time(rounds, watch_, cancel));
  const std::size_t steps = run.program().steps.size();
  const std::size_t rounds_timed = steps == 0 ? 0 : timed.records.size() / steps;
  Watched<Nanoseconds> sums{std::vector<Nanoseconds>(rounds_timed), std::vector<Probed>(rounds_timed, timed.probed)};
  const auto members = static_cast<std::uint32_t>(run.program().member_count);
  const std::uint32_t stride = ((members + kRecordedMembers - 1) / kRecordedMembers) | 1U;  // odd: of all streams
  for (std::size_t at = 0; at < timed.records.size(); ++at) {
    ProfileRecord& record = timed.records[at];
    sums.samples[at / steps] += record.time;
    if (to_index(run.program().steps[at % steps].members.front()) % stride != 0) continue;
    const OpWay way{record.algorithm, record.threads};
    auto& samples = samples_[{record.signature, way}][{record.neighbours, record.around, record.footprint}];
    samples.add(std::move(record), timed.probed);
  }
  return sums;
}

/// Each op's way of this rank on so many cores; of an op that has fewer, its best so far.
Result<void> InModelTimer::time_rank(std::size_t rank, int threads, const CancelToken& cancel) {
  const ChosenWays best = best_on(threads);
  const ChooseAlternative known = choose_ways(best);
  const ChooseAlternative choose = [&](const CostKey& key, std::span<const Alternative> ways) {
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < ways.size(); ++i) {
      if (ways[i].threads == threads) places.push_back(i);
    }
    std::size_t& listed = ranks_[{key.signature, threads}];
    listed = std::max(listed, places.size());
    if (rank < places.size()) return places[rank];
    return best.contains(key.signature) || places.empty() ? known(key, ways) : places.front();
  };
  COHORT_TRY(const auto run, load(1, 1, choose));
  COHORT_TRY(const Watched<Nanoseconds> sums, time(*run, kRaceRounds, cancel));
  if (rank > 0) return {};
  alone_ = run->program().memory.total();  // further ways may take much workspace
  if (!sums.samples.empty()) first_length_ = sums.samples.back();
  return {};
}

Result<void> InModelTimer::time_first(const CancelToken& cancel) {
  for (const int threads : thread_counts_) COHORT_CHECK(time_rank(0, threads, cancel));
  return {};
}

Result<bool> InModelTimer::race(const TimeBudget& budget, const CancelToken& cancel) {
  std::size_t most = 0;
  for (const auto& [op, listed] : ranks_) most = std::max(most, listed);
  for (std::size_t rank = 1; rank < most; ++rank) {
    for (const int threads : thread_counts_) {
      const bool any = std::any_of(ranks_.begin(), ranks_.end(), [&](const auto& entry) {
        return entry.first.second == threads && entry.second > rank;
      });
      if (!any) continue;
      if (budget.spent()) return false;
      COHORT_CHECK(time_rank(rank, threads, cancel));
    }
  }
  return true;
}

/// One; and as many as make the model's bytes four times as many as the cache that cores share keeps, with a quarter of
/// that between: twice as many are still kept in part.
std::vector<int> InModelTimer::copies_to_settle() const {
  const Bytes shared{number_setting(backend_.info(), kSharedCacheSetting).value_or(32 << 20)};
  const std::int64_t own = std::max<std::int64_t>(1, alone_.value);
  const std::int64_t core = number_setting(backend_.info(), kCoreCacheSetting).value_or(0);
  const auto most_turns = std::clamp<std::int64_t>(kCoreCaches * core / own, kMostTurns, kMostTinyTurns);
  const auto most = std::clamp<std::int64_t>((4 * shared.value + own - 1) / own, 2, most_turns);
  std::vector<int> copies{1, static_cast<int>((most + 2) / 4), static_cast<int>(most)};
  std::erase_if(copies, [](int count) { return count < 1; });
  copies.erase(std::unique(copies.begin(), copies.end()), copies.end());
  return copies;
}

void InModelTimer::choose_to_settle() {
  const int cores = backend_.catalog().cores();
  const ChosenWays single = best_on(1);
  const ChosenWays all = best();
  int beside = 0;  // members on all cores
  for (const int count : copies_to_settle()) {
    settled_.push_back({count, 1, all, true, {}, {}, nullptr});
    if (cores == 1) continue;
    if (single != all) settled_.push_back({count, 1, single, false, {}, {}, nullptr});
    const int on_each = (count + cores - 1) / cores * cores;
    if (on_each > std::exchange(beside, on_each)) settled_.push_back({on_each, cores, single, false, {}, {}, nullptr});
  }
}

Result<bool> InModelTimer::settle(const TimeBudget& budget, const CancelToken& cancel) {
  if (settled_.empty()) choose_to_settle();
  for (Settled& each : settled_) {
    if (!each.fits) continue;
    if (!is_needed(each) && (budget.spent() || expected_time(each) > budget.left())) continue;
    if (each.run == nullptr) {
      auto loaded = load(each.copies, each.streams, choose_ways(each.ways));
      each.fits = loaded || loaded.error().code != ErrorCode::kDoesNotFit;
      if (!each.fits) continue;  // one member did
      COHORT_TRY(each.run, std::move(loaded));
    }
    const Nanoseconds begin = steady_now();
    COHORT_TRY(const Watched<Nanoseconds> sums, time(*each.run, kSettleRounds, cancel));
    if (!sums.samples.empty()) each.length = sums.samples.back();
    if (each.is_best && each.copies > 1) COHORT_CHECK(time_in_turn(each, sums));
    each.took = steady_now() - begin;
  }
  return std::all_of(settled_.begin(), settled_.end(), [](const Settled& each) { return each.run != nullptr; });
}

/// How members slow each other side by side is no guess: it is timed once where that takes no large part of the budget,
/// even if all of it went into the rest.
bool InModelTimer::is_needed(const Settled& settled) const {
  constexpr int kParts = 4;
  const bool is_first = std::none_of(settled_.begin(), settled_.end(), [&](const Settled& each) {
    return each.streams > 1 && (each.run != nullptr || each.copies < settled.copies);
  });
  return settled.streams > 1 && is_first && expected_time(settled) <= options_.budget.value_or(Nanoseconds(0)) / kParts;
}

/// As long as the last time; of one that was not timed yet, by the time of one member in the same ways.
Nanoseconds InModelTimer::expected_time(const Settled& settled) const {
  if (settled.took > Nanoseconds(0)) return settled.took;
  const auto one = std::find_if(settled_.begin(), settled_.end(),
                                [&](const Settled& other) { return other.copies == 1 && other.ways == settled.ways; });
  const int in_a_row = (settled.copies + settled.streams - 1) / settled.streams;
  const bool is_known = one != settled_.end() && one->length > Nanoseconds(0);
  return (is_known ? one->length : first_length_) * in_a_row * kLeastRuns;
}

/// Of the most members that there is time for.
Result<void> InModelTimer::time_in_turn(const Settled& settled, const Watched<Nanoseconds>& ops) {
  if (settled.copies < turns_) return {};
  if (settled.copies > turns_) in_turn_ = ops_in_turn_ = {};
  turns_ = settled.copies;
  steps_ = static_cast<int>(settled.run->program().steps.size()) / settled.copies;
  for (std::size_t i = 0; i < ops.samples.size(); ++i) ops_in_turn_.add(ops.samples[i] / turns_, ops.probed[i]);
  COHORT_TRY(const std::vector<Nanoseconds> walls, settled.run->wall_times(kSettleRounds));
  const Probed probed = watch_.next();
  for (const Nanoseconds wall : walls) in_turn_.add(wall / turns_, probed);
  return {};
}

std::vector<Nanoseconds> InModelTimer::in_turn() const { return watch_.trusted(in_turn_.samples, in_turn_.probed); }

std::vector<Nanoseconds> InModelTimer::ops_in_turn() const {
  return watch_.trusted(ops_in_turn_.samples, ops_in_turn_.probed);
}

std::optional<Nanoseconds> InModelTimer::time_of(const std::string& signature, const OpWay& way) const {
  const auto found = samples_.find({signature, way});
  if (found == samples_.end()) return std::nullopt;
  std::vector<Nanoseconds> times;
  const auto& alone = found->second.begin()->second;
  for (const ProfileRecord& record : watch_.trusted(alone.samples, alone.probed)) times.push_back(record.time);
  return median(std::move(times));
}

ChosenWays InModelTimer::best_on(int threads) const {
  std::map<std::string, std::pair<Nanoseconds, OpWay>> fastest;
  for (const auto& [key, by_context] : samples_) {
    const auto& [signature, way] = key;
    if (threads > 0 && way.threads != threads) continue;
    const Nanoseconds time = *time_of(signature, way);
    const auto [place, is_new] = fastest.try_emplace(signature, time, way);
    if (!is_new && time < place->second.first) place->second = {time, way};
  }
  ChosenWays ways;
  for (auto& [signature, entry] : fastest) ways.emplace(signature, std::move(entry.second));
  return ways;
}

ChosenWays InModelTimer::best() const { return best_on(0); }

std::vector<std::pair<std::string, ProfileRecord>> InModelTimer::records(std::size_t most) const {
  std::vector<std::pair<std::string, ProfileRecord>> all;
  for (const auto& [key, by_context] : samples_) {
    for (const auto& [place, samples] : by_context) {
      for (ProfileRecord& record : thinned(watch_.trusted(samples.samples, samples.probed), most))
        all.emplace_back(names_.at(key.first), std::move(record));
    }
  }
  return all;
}

}  // namespace cohort
