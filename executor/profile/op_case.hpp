#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/cancel.hpp"
#include "executor/backend.hpp"
#include "executor/clock.hpp"
#include "models/model.hpp"
#include "simulator/plan/plan.hpp"
#include "tracer/profile_record.hpp"

namespace cohort {

class Runner;

/// One way of running one op alone, to be timed.
struct OpCase {
  Strategy strategy = Strategy::kSerial;  ///< serial, or a fused one
  int width = 1;                          ///< members computed by one call
  int threads = 1;
  std::string algorithm;     ///< empty: the library's first choice
  int copies = 1;            ///< calls one after another, each with weights of its own: sets the footprint
  bool shared_input = true;  ///< else each copy reads its own, and a fused form stacks copies of its members'
  int streams = 1;           ///< cores that do the same at the same time
  Precision precision = Precision::kFloat32;
  Bytes flush =
      Bytes{};  ///< so much is read, and so much written, before each round of calls: drives them out of caches
  Layout layout = Layout::kNhwc;  ///< layout_alone() of the op in its model
  int multiprocessors = 0;        ///< of a GPU, that the op is made for; 0: all
  /// A cheap op of each member alone reads what a fused form wrote, so that each member's part is copied out of the
  /// stack where the device needs it dense.
  bool splits = false;

  friend bool operator==(const OpCase&, const OpCase&) = default;
};

/// How long to time a case.
struct TimingLimits {
  int least_samples = 7;
  int most_samples = 400;
  Nanoseconds least_time = std::chrono::milliseconds(15);
  Nanoseconds most_time = std::chrono::milliseconds(400);
  Nanoseconds warm_up = std::chrono::milliseconds(20);  ///< each time; no round is begun once it has passed
};

/// A model of `op` alone: what it reads becomes input, what it writes output, so that copies of it write
/// memory of their own, as the ops of a whole model do. Parameters that it reads as views of a state it still does, of
/// a state that holds no others.
Model single_op_model(const Model& model, const Op& op);

/// A case's records, one per sample; `stack_copies` are those of the calls that copied a stack together.
struct CaseTiming {
  ProfileRecord first;  ///< the very first execution, with all that comes with it: of the launch until its end
  std::vector<ProfileRecord> calls;
  std::vector<ProfileRecord> stack_copies;
  bool by_device = false;  ///< times are the device's own, between events
};

/// A case as a Program of its own. Errors: those of lower().
Result<Program> case_program(const Backend& backend, const Model& single, const OpCase& op_case);

/// A case lowered and loaded, to be timed as often as wanted. `single` is a model made by single_op_model with its
/// weights; the model and the backend must outlive this.
class CaseRunner {
 public:
  /// Errors: those of lower() and Backend::load().
  static Result<std::unique_ptr<CaseRunner>> create(Backend& backend, const LoadedModel& single, const OpCase& op_case);
  CaseRunner(const CaseRunner&) = delete;
  CaseRunner& operator=(const CaseRunner&) = delete;
  ~CaseRunner();

  /// After some runs that warm up. Errors: those of the steps; kInterrupted.
  Result<CaseTiming> time(const TimingLimits& limits, const CancelToken& cancel);
  /// Weights, activations and workspace.
  [[nodiscard]] Bytes memory() const { return program_.memory.total(); }

 private:
  CaseRunner(const OpCase& op_case, const Weights& weights);

  OpCase op_case_;
  Weights weights_;
  Program program_;
  std::unique_ptr<Runner> runner_;
};

/// Lowers, loads and times a case once. `single` is a model made by single_op_model with its weights.
/// Errors: those of lower() and Backend::load(); kInterrupted.
Result<CaseTiming> time_case(Backend& backend, const LoadedModel& single, const OpCase& op_case,
                             const TimingLimits& limits, const CancelToken& cancel);

/// Bytes one call touches: operands once, weights as in the model.
Bytes call_bytes(const Model& single);

}  // namespace cohort
