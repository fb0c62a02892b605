#include "simulator/costs/fit_kernels.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include "simulator/contention/fit_sharing.hpp"
#include "simulator/costs/recorded_launches.hpp"

namespace cohort {
namespace {

constexpr int kRepetitions = 20;  // of the simulated pairs: enough that the ends do not count

double ns(Nanoseconds time) { return static_cast<double>(time.count()); }

/// Two sides that ran together.
struct Pair {
  std::string a, b;
  std::array<double, 2> time_ns{};
};

class KernelFitter {
 public:
  KernelFitter(const Trace& profile, const GpuProfile& gpu)
      : gpu_(gpu), launches_(std::array{&profile}), all_(measurements_of(profile)) {}

  Result<KernelFits> run() {
    gather();
    if (order_.empty()) {
      return fail(ErrorCode::kInvalidInput,
                  "the recording has no op beside anything; cohort profile --beside makes such records");
    }
    for (const std::string& signature : order_) COHORT_CHECK(fit(signature));
    COHORT_CHECK(test_pairs());
    return std::move(fits_);
  }

 private:
  struct Op {
    std::optional<Nanoseconds> alone;
    std::vector<CoRunObservation> observations;
    std::vector<std::string> beside;  ///< by observation
  };

  /// A probe right before a pair, alone, tells its demand.
  [[nodiscard]] std::optional<KernelDemand> probe_before(std::size_t place, const std::string& name) const {
    while (place-- > 0) {
      const MicrobenchmarkRecord& record = all_[place].record;
      if (record.benchmark != Microbenchmark::kReplicas || record.kernel != name || record.launch.blocks == 0) continue;
      SoloRun solo;
      solo.time = record.time;
      solo.utilisation = utilisation_of(record.work, record.time, gpu_);
      const auto demand = demand_of(record.launch, solo, gpu_);
      return demand ? std::optional(*demand) : std::nullopt;
    }
    return std::nullopt;
  }

  void gather() {
    for (std::size_t i = 0; i < all_.size(); ++i) {
      const MicrobenchmarkRecord& record = all_[i].record;
      const bool is_op = record.launch.blocks == 0;  // an op's launch stands with its kernels
      if (!is_op || record.time <= Nanoseconds(0)) continue;
      if (record.benchmark == Microbenchmark::kReplicas) {
        Op& op = op_of(record.kernel);
        if (record.instances == 1) {
          op.alone = record.time;
        } else {
          op.observations.push_back({record.instances, std::nullopt, ns(record.time), 0});
          op.beside.push_back(fmt::format("x{}", record.instances));
        }
      } else if (record.benchmark == Microbenchmark::kPair) {
        if (const auto probe = probe_before(i, record.partner)) {
          Op& op = op_of(record.kernel);
          op.observations.push_back({1, CoRunner{*probe, 1}, ns(record.time), ns(record.partner_time)});
          op.beside.push_back("beside " + record.partner);
        } else {
          pairs_.push_back({record.kernel, record.partner, {ns(record.time), ns(record.partner_time)}});
        }
      }
    }
  }

  Op& op_of(const std::string& signature) {
    const auto [place, is_new] = ops_.try_emplace(signature);
    if (is_new) order_.push_back(signature);
    return place->second;
  }

  Result<void> leave_out(const std::string& signature, std::string_view reason) {
    fits_.left_out.push_back(fmt::format("{}: {}", signature, reason));
    return {};
  }

  Result<void> fit(const std::string& signature) {
    const Op& op = ops_.at(signature);
    const auto launch = launches_.find({signature, Strategy::kSerial, 1, 1, ""});
    if (!op.alone) return leave_out(signature, "it was not timed alone");
    if (!launch) return leave_out(signature, "its kernels were not recorded");
    if (op.observations.empty()) return leave_out(signature, "it was timed beside nothing");
    const auto found = fit_demand(*launch, *op.alone, op.observations, gpu_);
    if (!found) return leave_out(signature, found.error().message);
    for (std::size_t i = 0; i < op.observations.size(); ++i) {
      const CoRunObservation& seen = op.observations[i];
      std::vector<CoRunner> runners{{found->kernel, seen.instances}};
      if (seen.probe) runners.push_back(*seen.probe);
      COHORT_TRY(const auto predicted, co_run_ns(runners, gpu_, kRepetitions));
      add_residual(fmt::format("{} {}", signature, op.beside[i]), seen.time_ns, predicted[0], false);
    }
    fits_.kernels.push_back({signature, *launch, *found, op.observations.size()});
    return {};
  }

  Result<void> test_pairs() {
    for (const Pair& pair : pairs_) {
      const KernelFit* const a = fitted(pair.a);
      const KernelFit* const b = fitted(pair.b);
      if (a == nullptr || b == nullptr) continue;
      const std::vector<CoRunner> runners{{a->fit.kernel, 1}, {b->fit.kernel, 1}};
      COHORT_TRY(const auto predicted, co_run_ns(runners, gpu_, kRepetitions));
      add_residual(fmt::format("{} beside {}", pair.a, pair.b), pair.time_ns[0], predicted[0], true);
      add_residual(fmt::format("{} beside {}", pair.b, pair.a), pair.time_ns[1], predicted[1], true);
    }
    return {};
  }

  [[nodiscard]] const KernelFit* fitted(const std::string& signature) const {
    const auto found = std::find_if(fits_.kernels.begin(), fits_.kernels.end(),
                                    [&](const KernelFit& kernel) { return kernel.signature == signature; });
    return found == fits_.kernels.end() ? nullptr : &*found;
  }

  void add_residual(std::string what, double measured, double predicted, bool held_out) {
    fits_.residuals.push_back(
        {std::move(what), Nanoseconds(std::llround(measured)), Nanoseconds(std::llround(predicted)), held_out});
  }

  const GpuProfile& gpu_;
  RecordedLaunches launches_;
  std::vector<Measurement> all_;
  std::map<std::string, Op> ops_;
  std::vector<std::string> order_;
  std::vector<Pair> pairs_;
  KernelFits fits_;
};

}  // namespace

Result<KernelFits> fit_kernels(const Trace& profile, const GpuProfile& gpu) { return KernelFitter(profile, gpu).run(); }

}  // namespace cohort
