#include "executor/profile/case_timer.hpp"

#include <algorithm>
#include <iterator>
#include <set>

namespace cohort {
namespace {

/// A case that took this long has met the machine in more than one mood, and needs no more passes than samples ask for.
constexpr std::chrono::milliseconds kSpread{100};

/// What is loaded stays so between passes while all of it takes no more.
constexpr Bytes kMostKept{512 << 20};

/// What is too large to stay is loaded for each pass where its first load took no more; else it is timed in one go.
constexpr std::chrono::milliseconds kQuickLoad{20};

}  // namespace

CaseTimer::CaseTimer(Backend& backend, const ProfileOptions& options, const CancelToken& cancel, WorkWatch& watch)
    : backend_(backend), options_(options), cancel_(cancel), in_pass_(options.limits), watch_(watch) {
  const int passes = std::max(options.passes, 1);
  in_pass_.least_samples = (options.limits.least_samples + passes - 1) / passes;
  in_pass_.most_samples = (options.limits.most_samples + passes - 1) / passes;
  in_pass_.least_time = options.limits.least_time / passes;
  in_pass_.most_time = options.limits.most_time / passes;
}

void CaseTimer::choose_ops(const Model& model) {
  std::map<std::string, std::size_t> seen;
  std::set<Shape> split;
  for (const Op& op : model.ops) {
    std::string signature = signature_of(model, op);
    const auto [place, is_new] = seen.try_emplace(signature, ops_.size());
    if (is_new) {
      OpCases& added = ops_.emplace_back();
      added.op = profiled_op(model, op, options_.layout);
      added.op.times_split = has_stacked_channels(added.op) && split.insert(model.tensor(op.outputs[0]).shape).second;
      added.signature = std::move(signature);
    }
    ++ops_[place->second].times_in_model;
  }
}

Result<void> CaseTimer::choose_warm() {
  for (OpCases& each : ops_) {
    auto cases = warm_cases(backend_, options_, each.op);
    if (!cases) return in_context(fmt::format("profiling {}", each.op.op->name), cases.error());
    each.warm = std::move(*cases);
  }
  return {};
}

Result<void> CaseTimer::time_warm(const std::function<Result<void>()>& after_pass) {
  for (int i = 0; i < passes(); ++i) {
    for (std::size_t op = 0; op < ops_.size(); ++op) COHORT_CHECK(pass(op, ops_[op].warm, i, "warm"));
    COHORT_CHECK(after_pass());
  }
  return {};
}

Result<void> CaseTimer::time_colder() {
  for (OpCases& op : ops_) op.colder = colder_cases(backend_, options_, op.op, op.warm);
  for (int i = 0; i < passes(); ++i) {
    for (std::size_t op = 0; op < ops_.size(); ++op)
      COHORT_CHECK(pass(op, ops_[op].colder, i, "colder and beside itself"));
  }
  return {};
}

Error CaseTimer::explained(Error error) const {
  if (first_left_out_ && error.code != ErrorCode::kInterrupted)
    error.message += fmt::format("; what failed first: {}", *first_left_out_);
  return error;
}

std::vector<KernelCase> CaseTimer::kernel_cases() const {
  std::vector<KernelCase> cases;
  for (const OpCases& op : ops_) {
    for (const TimedCase& timed : op.warm) {
      if (!timed.failed && !timed.copies_only && timed.op_case.flush.value == 0)
        cases.push_back({op.op.op, timed.op_case});
    }
  }
  return cases;
}

int CaseTimer::passes() const { return std::max(options_.passes, 1); }

/// Each of an op's cases once more, for a part of the time that it is given in all.
Result<void> CaseTimer::pass(std::size_t op, std::vector<TimedCase>& cases, int number, std::string_view what) {
  const std::string& name = ops_[op].op.op->name;
  if (options_.progress)
    options_.progress(fmt::format("{} ({} of {} distinct ops), {}, pass {} of {}", name, op + 1, ops_.size(), what,
                                  number + 1, passes()));
  for (TimedCase& timed : cases) {
    if (timed.done) continue;
    const auto outcome = time_once_more(ops_[op].op.single, timed, number + 1 == passes());
    if (!outcome) COHORT_CHECK(leave_out(ops_[op], timed, outcome.error()));
  }
  ops_[op].op.single.weights = {};
  return {};
}

/// A way that the device lists and then does not run; nothing of it is kept.
/// Errors: kInterrupted, and the last way's where the op runs in none.
Result<void> CaseTimer::leave_out(const OpCases& op, TimedCase& timed, const Error& error) {
  const std::string& name = op.op.op->name;
  const OpCase& way = timed.op_case;
  if (timed.runner != nullptr) kept_ = Bytes{kept_.value - timed.runner->memory().value};
  timed.runner.reset();
  timed.done = true;
  // Loaded for another pass: what it took in those before holds.
  if (!timed.timing.calls.empty() && error.code != ErrorCode::kInterrupted) return {};
  timed.failed = true;
  const bool runs =
      op.is_known_to_run || std::any_of(op.warm.begin(), op.warm.end(), [](const TimedCase& other) {
        return !other.failed && other.op_case.strategy == Strategy::kSerial && other.op_case.flush.value == 0;
      });
  if (error.code == ErrorCode::kInterrupted || !runs) return in_context(fmt::format("profiling {}", name), error);
  const std::string_view by = way.algorithm.empty() ? to_string(way.strategy) : std::string_view(way.algorithm);
  std::string text = fmt::format("{} by {}: {}", name, by, error.message);
  if (!first_left_out_) first_left_out_ = text;
  ++left_out_[std::move(text)];
  return {};
}

bool CaseTimer::is_done(const TimedCase& timed) const {
  const auto samples = static_cast<int>(timed.timing.calls.size());
  return timed.spent >= options_.limits.most_time ||
         (timed.spent >= kSpread && samples >= options_.limits.least_samples);
}

Result<void> CaseTimer::time_once_more(LoadedModel& single, TimedCase& timed, bool is_last) {
  const bool is_first = timed.timing.calls.empty();
  const Nanoseconds begin = steady_now();
  if (timed.runner == nullptr) {
    // All ops' together would take much memory: an op that views a parameter holds the state of all parameters.
    if (single.weights.by_tensor.empty()) single.weights = random_weights(single.model, 0);
    COHORT_TRY(timed.runner, CaseRunner::create(backend_, single, timed.op_case));
    kept_ = kept_ + timed.runner->memory();
  }
  const bool stays = kept_.value <= kMostKept.value;
  if (is_first) timed.in_passes = is_last || stays || steady_now() - begin <= kQuickLoad;
  COHORT_TRY(CaseTiming timing, timed.runner->time(timed.in_passes ? in_pass_ : options_.limits, cancel_));
  const Probed probed = watch_.next();
  timed.probed.insert(timed.probed.end(), timing.calls.size(), probed);
  timed.copies_probed.insert(timed.copies_probed.end(), timing.stack_copies.size(), probed);
  for (const ProfileRecord& call : timing.calls) timed.spent += call.time;
  if (is_first) timed.timing.first = std::move(timing.first);
  std::move(timing.calls.begin(), timing.calls.end(), std::back_inserter(timed.timing.calls));
  std::move(timing.stack_copies.begin(), timing.stack_copies.end(), std::back_inserter(timed.timing.stack_copies));
  timed.done = is_last || !timed.in_passes || is_done(timed);
  if (timed.done || !stays) {
    kept_ = Bytes{kept_.value - timed.runner->memory().value};
    timed.runner.reset();
  }
  return {};
}

/// A case that is timed now and once.
Result<void> CaseTimer::time_once(OpCases& op, TimedCase timed) {
  TimingLimits limits;
  limits.least_samples = 3;
  limits.least_time = std::chrono::milliseconds(2);
  limits.most_time = std::chrono::milliseconds(25);
  limits.warm_up = std::chrono::milliseconds(6);
  in_pass_ = limits;
  if (const auto outcome = time_once_more(op.op.single, timed, true); !outcome)
    COHORT_CHECK(leave_out(op, timed, outcome.error()));
  const bool is_warm = timed.op_case.copies == 1 && timed.op_case.streams == 1;
  (is_warm ? op.warm : op.colder).push_back(std::move(timed));
  return {};
}

std::optional<KnownWays> CaseTimer::known_ways(const OpCases& op, const InModelTimer& in_model) const {
  KnownWays known;
  const int cores = backend_.catalog().cores();
  for (const int threads : {1, cores}) {
    const ChosenWays ways = in_model.best_on(threads);
    const auto found = ways.find(op.signature);
    if (found == ways.end()) continue;
    const auto time = in_model.time_of(op.signature, found->second);
    if (time) known.push_back({found->second, *time});
    if (cores == 1) break;
  }
  return known.empty() ? std::nullopt : std::optional(std::move(known));
}

std::vector<std::size_t> CaseTimer::most_time_first(const InModelTimer& in_model) const {
  const ChosenWays best = in_model.best();
  std::vector<std::pair<Nanoseconds, std::size_t>> order;
  for (std::size_t i = 0; i < ops_.size(); ++i) {
    const auto way = best.find(ops_[i].signature);
    const auto time = way == best.end() ? std::nullopt : in_model.time_of(ops_[i].signature, way->second);
    order.emplace_back(time.value_or(Nanoseconds(0)) * ops_[i].times_in_model, i);
  }
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<std::size_t> places;
  for (const auto& [time, place] : order) places.push_back(place);
  return places;
}

Result<std::string> CaseTimer::time_within(const TimeBudget& budget, FusedStage stage, const InModelTimer& in_model) {
  const bool is_narrow = stage == FusedStage::kNarrow;
  const std::string_view what = is_narrow ? "fused forms" : "wider fused forms";
  const std::vector<std::size_t> order = most_time_first(in_model);
  const std::vector<TimedCase> none;
  std::size_t without = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    OpCases& each = ops_[order[i]];
    const auto known = known_ways(each, in_model);
    if (!known) continue;  // nothing runs: a Reshape in place
    if (!is_narrow && each.warm.empty()) continue;
    std::vector<TimedCase> cases = fused_cases(options_, each.op, *known, is_narrow ? none : each.warm);
    if (!cases.empty() && budget.spent()) ++without;
    if (budget.spent()) continue;
    if (options_.progress)
      options_.progress(fmt::format("{}, {} ({} of {} ops); {:.0f} s left at most", what, each.op.op->name, i + 1,
                                    order.size(), seconds(budget.left())));
    for (TimedCase& timed : cases) COHORT_CHECK(time_once(each, std::move(timed)));
    each.op.single.weights = {};
  }
  return without == 0 ? std::string() : fmt::format("{} of {} ops", what, without);
}

Result<std::size_t> CaseTimer::time_wanted(const TimeBudget& budget, std::span<const WantedCase> wanted) {
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const WantedCase& each = wanted[i];
    const auto op =
        std::find_if(ops_.begin(), ops_.end(), [&](const OpCases& other) { return other.signature == each.signature; });
    if (op == ops_.end()) return fail(ErrorCode::kInvalidInput, "the model has no op {}", each.signature);
    if (budget.spent()) return i;
    if (options_.progress)
      options_.progress(fmt::format("{} of {} members ({} of {}); {:.0f} s left at most", op->op.op->name,
                                    each.op_case.width, i + 1, wanted.size(), seconds(budget.left())));
    op->is_known_to_run = true;
    OpCase op_case = each.op_case;
    op_case.precision = options_.precision;
    op_case.layout = op->op.layout;
    if (op_case.strategy == Strategy::kStridedBatch && !op->op.reads_model_input) op_case.shared_input = false;
    COHORT_CHECK(time_once(*op, TimedCase(std::move(op_case))));
    op->op.single.weights = {};
  }
  return wanted.size();
}

std::vector<std::string> CaseTimer::left_out() const {
  std::vector<std::string> texts;
  for (const auto& [text, count] : left_out_) texts.push_back(text);
  return texts;
}

void CaseTimer::write(Trace& trace) {
  for (const auto& [reason, count] : left_out_) trace.info.dropped[reason] += count;
  for (OpCases& op : ops_) {
    const std::string& name = op.op.op->name;
    for (auto* const cases : {&op.warm, &op.colder}) {
      for (TimedCase& timed : *cases) {
        if (timed.failed) continue;
        const bool flushed = timed.op_case.flush.value > 0;
        if (cases == &op.warm && !flushed && !timed.copies_only)
          add_profile_records(trace, "first executions", name, {timed.timing.first});
        if (!timed.copies_only)
          add_profile_records(trace, flushed ? "ops alone, caches flushed" : "ops alone", name,
                              thinned(watch_.trusted(std::move(timed.timing.calls), timed.probed), kKeptSamples));
        if (!flushed && !timed.timing.stack_copies.empty())
          add_profile_records(
              trace, "copies", "copy",
              thinned(watch_.trusted(std::move(timed.timing.stack_copies), timed.copies_probed), kKeptSamples));
      }
    }
  }
}

}  // namespace cohort
