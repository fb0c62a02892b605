#include "executor/profile/beside.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "base/statistics.hpp"
#include "executor/input_values.hpp"
#include "executor/profile/op_case.hpp"
#include "executor/runner.hpp"
#include "simulator/plan/lower.hpp"
#include "simulator/plan/tensor_layout.hpp"

namespace cohort {
namespace {

/// Spans of a Program's streams: from the first step's begin to the last one's end.
class SpanSink final : public TaskSink {
 public:
  explicit SpanSink(int streams) : spans_(static_cast<std::size_t>(streams)) {}

  void begin(StepId /*step*/, StreamId stream) noexcept override { add(stream, steady_now()); }
  void end(StepId /*step*/, StreamId stream) noexcept override { add(stream, steady_now()); }
  void ran(StepId /*step*/, StreamId stream, Nanoseconds begun, Nanoseconds ended) noexcept override {
    add(stream, begun);
    add(stream, ended);
  }
  void clear() { std::fill(spans_.begin(), spans_.end(), Span{}); }
  [[nodiscard]] Nanoseconds length(std::size_t stream) const {
    return std::max(Nanoseconds(1), spans_[stream].last - spans_[stream].first);
  }

 private:
  struct Span {
    Nanoseconds first = Nanoseconds::max();
    Nanoseconds last = Nanoseconds::min();
  };
  void add(StreamId stream, Nanoseconds time) noexcept {
    Span& span = spans_[to_index(stream)];
    span.first = std::min(span.first, time);
    span.last = std::max(span.last, time);
  }
  std::vector<Span> spans_;
};

/// What one stream repeats.
struct Side {
  const LoadedModel* op = nullptr;
  int copies = 1;
};

/// A Program with each side on a stream of its own, as one graph, ready to run.
struct SideBySide {
  Program program;
  std::unique_ptr<Runner> runner;
};

Result<std::unique_ptr<SideBySide>> load(Backend& backend, const std::vector<Side>& sides,
                                         const BesideOptions& options) {
  Plan plan;
  plan.precision = options.precision;
  plan.layout = options.layout;
  plan.streams = static_cast<int>(sides.size());
  plan.launch = LaunchMode::kGraph;
  plan.input.buffers = 1;
  plan.input.sharing = InputSharing::kSeparate;
  std::vector<const Model*> models;
  std::vector<const Weights*> weights;
  for (std::size_t s = 0; s < sides.size(); ++s) {
    for (int i = 0; i < sides[s].copies; ++i) {
      const auto member = static_cast<std::uint32_t>(models.size());
      plan.members.push_back({fmt::format("{}", member), {}, 0});
      plan.groups.push_back(
          {fmt::format("g{}", member), {member}, {}, Strategy::kConcurrent, 1, {static_cast<std::uint32_t>(s)}, {}});
      models.push_back(&sides[s].op->model);
      weights.push_back(&sides[s].op->weights);
    }
  }
  auto loaded = std::make_unique<SideBySide>();
  COHORT_TRY(loaded->program, lower(plan, models, backend.catalog()));
  COHORT_TRY(loaded->runner, Runner::create(backend, loaded->program, weights));
  COHORT_CHECK(fill_inputs_to_time(*loaded->runner));
  return loaded;
}

/// An op worth measuring.
struct Candidate {
  std::string signature;
  std::unique_ptr<LoadedModel> single;
  Nanoseconds once{};  ///< alone
  Nanoseconds all{};   ///< of every op of the model with this signature
};

class BesideMeasurement {
 public:
  BesideMeasurement(Backend& backend, const BesideOptions& options, ProbeKernels* probes, const CancelToken& cancel,
                    Trace& trace)
      : backend_(backend), options_(options), probes_(probes), cancel_(cancel), trace_(trace) {
    track_ = trace_.add_track("profile", "ops beside others");
  }

  Result<void> run(const LoadedModel& loaded) {
    COHORT_TRY(const auto chosen, choose(loaded));
    for (const Candidate& op : chosen) {
      for (const int instances : {1, 2, 4}) {
        if (runs_at_a_time(instances)) COHORT_CHECK(beside_itself(op, instances));
      }
    }
    bool held_out = false;
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      for (std::size_t j = i + 1; runs_at_a_time(2) && j < chosen.size(); ++j) {
        COHORT_CHECK(beside_another(chosen[i], chosen[j], held_out));
        held_out = !held_out;
      }
      if (probes_ != nullptr) COHORT_CHECK(beside_probes(chosen[i]));
    }
    return {};
  }

 private:
  [[nodiscard]] bool runs_at_a_time(int streams) const {
    return streams <= backend_.catalog().most_streams().value_or(streams);
  }
  Result<std::vector<Candidate>> choose(const LoadedModel& loaded);
  [[nodiscard]] std::optional<std::array<Side, 2>> alike(const Candidate& a, const Candidate& b) const;
  Result<void> beside_itself(const Candidate& op, int instances);
  Result<void> beside_another(const Candidate& a, const Candidate& b, bool held_out);
  Result<void> beside_probes(const Candidate& op);

  [[nodiscard]] Side side(const Candidate& op) const {
    const std::int64_t bytes = std::max<std::int64_t>(1, call_bytes(op.single->model).value);
    const std::int64_t most = std::min<std::int64_t>(options_.most_copies, options_.most_bytes.value / bytes);
    const auto wanted = static_cast<std::int64_t>(copies_for(options_.length, op));
    return {op.single.get(), static_cast<int>(std::clamp<std::int64_t>(wanted, 1, std::max<std::int64_t>(1, most)))};
  }
  static int copies_for(Nanoseconds length, const Candidate& op) {
    constexpr std::int64_t kMost = std::numeric_limits<int>::max();
    return static_cast<int>(std::min(kMost, length / std::max(op.once, Nanoseconds(1)) + 1));
  }
  static MicrobenchmarkRecord record_of(Microbenchmark benchmark, const Candidate& op, int instances,
                                        const Side& side) {
    MicrobenchmarkRecord record;
    record.benchmark = benchmark;
    record.kernel = op.signature;
    record.instances = instances;
    record.launches = instances * side.copies;
    return record;
  }
  void add(const MicrobenchmarkRecord& record, bool held_out = false) {
    const SliceId id = add_microbenchmark_record(trace_, track_, next_, record);
    next_ += record.time;
    if (held_out)
      trace_.args[to_index(*trace_.slice(id).args)].emplace_back(trace_.strings.intern("held out"), std::int64_t{1});
  }
  /// Once to warm up, then each repetition: `keep` runs it and keeps what the sink was told.
  template <class Keep>
  Result<void> repeat(SideBySide& sides, Keep keep) {
    SpanSink sink(sides.program.streams);
    sides.runner->session().set_sink(&sink);
    Result<void> outcome;
    for (int i = -1; i < options_.repetitions && outcome; ++i) {
      sink.clear();
      outcome = cancel_.check().and_then([&] { return keep(sink, i >= 0); });
    }
    sides.runner->session().set_sink(nullptr);
    return outcome;
  }

  Backend& backend_;
  const BesideOptions& options_;
  ProbeKernels* probes_;
  const CancelToken& cancel_;
  Trace& trace_;
  TrackId track_{};
  Nanoseconds next_{};
};

/// Whether the op's output is a part of its state, which no call makes.
bool is_view_of_state(const Model& model, const Op& op) {
  return std::holds_alternative<Unpack>(op.attributes) && model.tensor(op.inputs[0]).role == TensorRole::kState;
}

/// The fewest ops that make up the share of the model's time, the longest first.
Result<std::vector<Candidate>> BesideMeasurement::choose(const LoadedModel& loaded) {
  std::vector<Candidate> candidates;
  std::map<std::string, std::size_t> places;
  Nanoseconds whole{};
  for (const Op& op : loaded.model.ops) {
    if (is_view_of_state(loaded.model, op)) continue;
    const std::string signature = signature_in(options_.precision, signature_of(loaded.model, op));
    const auto [place, is_new] = places.try_emplace(signature, candidates.size());
    if (is_new) {
      Candidate candidate{
          signature, std::make_unique<LoadedModel>(LoadedModel{single_op_model(loaded.model, op), {}}), {}, {}};
      candidate.single->weights = random_weights(candidate.single->model, 0);
      OpCase alone;
      alone.precision = options_.precision;
      alone.layout = layout_alone(loaded.model, op, options_.layout);
      TimingLimits limits;
      limits.most_time = limits.least_time;
      COHORT_TRY(const CaseTiming timing, time_case(backend_, *candidate.single, alone, limits, cancel_));
      std::vector<Nanoseconds> times;
      for (const ProfileRecord& record : timing.calls) times.push_back(record.time);
      if (!times.empty()) candidate.once = median(std::move(times));
      candidate.single->weights = {};  // all ops' together would take much memory
      candidates.push_back(std::move(candidate));
    }
    candidates[place->second].all += candidates[place->second].once;
    whole += candidates[place->second].once;
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) { return a.all > b.all; });
  std::size_t kept = 0;
  Nanoseconds reached{};
  while (kept < candidates.size() && kept < static_cast<std::size_t>(options_.most_ops) &&
         seconds(reached) < options_.share * seconds(whole) && candidates[kept].all > Nanoseconds(0))
    reached += candidates[kept++].all;
  candidates.resize(kept);
  for (Candidate& each : candidates) each.single->weights = random_weights(each.single->model, 0);
  return candidates;
}

Result<void> BesideMeasurement::beside_itself(const Candidate& op, int instances) {
  const Side alike = side(op);
  COHORT_TRY(const auto sides, load(backend_, std::vector<Side>(static_cast<std::size_t>(instances), alike), options_));
  MicrobenchmarkRecord record = record_of(Microbenchmark::kReplicas, op, instances, alike);
  return repeat(*sides, [&](SpanSink& sink, bool counts) -> Result<void> {
    COHORT_CHECK(sides->runner->step(0));
    Nanoseconds longest{};
    for (int i = 0; i < instances; ++i) longest = std::max(longest, sink.length(static_cast<std::size_t>(i)));
    record.time = longest / alike.copies;
    if (counts) add(record);
    return {};
  });
}

/// Both for as long as the shorter side can go on, so that neither runs on alone; absent where one call of an op takes
/// longer than all copies of the other.
std::optional<std::array<Side, 2>> BesideMeasurement::alike(const Candidate& a, const Candidate& b) const {
  std::array<Side, 2> sides = {side(a), side(b)};
  const Nanoseconds length = std::min(a.once * sides[0].copies, b.once * sides[1].copies);
  if (length < std::max(a.once, b.once)) return std::nullopt;
  sides[0].copies = std::min(sides[0].copies, copies_for(length, a));
  sides[1].copies = std::min(sides[1].copies, copies_for(length, b));
  return sides;
}

Result<void> BesideMeasurement::beside_another(const Candidate& a, const Candidate& b, bool held_out) {
  const auto both = alike(a, b);
  if (!both) return {};
  const Side& first = both->front();
  const Side& second = both->back();
  COHORT_TRY(const auto sides, load(backend_, {first, second}, options_));
  MicrobenchmarkRecord record = record_of(Microbenchmark::kPair, a, 1, first);
  record.partner = b.signature;
  record.partner_instances = 1;
  return repeat(*sides, [&](SpanSink& sink, bool counts) -> Result<void> {
    COHORT_CHECK(sides->runner->step(0));
    record.time = sink.length(0) / first.copies;
    record.partner_time = sink.length(1) / second.copies;
    if (counts) add(record, held_out);
    return {};
  });
}

Result<void> BesideMeasurement::beside_probes(const Candidate& op) {
  const Side alone = side(op);
  COHORT_TRY(const auto sides, load(backend_, {alone}, options_));
  MicrobenchmarkRecord record = record_of(Microbenchmark::kPair, op, 1, alone);
  const Nanoseconds length = op.once * alone.copies;
  for (const std::string& name : probes_->names()) {
    for (int i = -1; i < options_.repetitions; ++i) {
      COHORT_CHECK(cancel_.check());
      COHORT_CHECK(probes_->start(name, length));
      COHORT_TRY(const MicrobenchmarkRecord probe, probes_->finish());
      if (i >= 0) add(probe);
    }
    record.partner = name;
    record.partner_instances = 1;
    const auto together = repeat(*sides, [&](SpanSink& sink, bool counts) -> Result<void> {
      COHORT_CHECK(probes_->start(name, length));
      const Result<void> ran = sides->runner->step(0);
      COHORT_TRY(const MicrobenchmarkRecord probe, probes_->finish());  // also where the step failed
      COHORT_CHECK(ran);
      record.time = sink.length(0) / alone.copies;
      record.partner_time = probe.time;
      if (counts) add(record);
      return {};
    });
    COHORT_CHECK(together);
  }
  return {};
}

}  // namespace

Result<void> measure_beside(Backend& backend, const LoadedModel& loaded, const BesideOptions& options,
                            ProbeKernels* probes, const CancelToken& cancel, Trace& trace) {
  return BesideMeasurement(backend, options, probes, cancel, trace).run(loaded);
}

}  // namespace cohort
