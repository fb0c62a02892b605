#include "executor/profile/model_timer.hpp"

#include <algorithm>

#include "base/statistics.hpp"
#include "executor/input_values.hpp"
#include "executor/runner.hpp"
#include "executor/trace_sink.hpp"

namespace cohort {

Result<void> ModelTimer::pass(const ChooseAlternative& choose, const std::optional<TimeBudget>& budget) {
  constexpr int kKept = 15;  // over all passes
  Plan plan = uniform_plan({{loaded_.model.name, {}, 0}}, Strategy::kSerial, 1);
  plan.input.buffers = 1;
  plan.precision = options_.precision;
  plan.layout = options_.layout;
  const std::vector<const Model*> models{&loaded_.model};
  COHORT_TRY(const Program program, lower(plan, models, backend_.catalog(), choose));
  const std::vector<const Weights*> weights{&loaded_.weights};
  COHORT_TRY(const auto runner, Runner::create(backend_, program, weights));
  COHORT_CHECK(fill_inputs_to_time(*runner));
  COHORT_TRY(const Nanoseconds once, runner->timed_steps(1, steady_now));
  const auto steps =
      static_cast<int>(std::clamp<std::int64_t>(5'000'000 / std::max<std::int64_t>(1, once.count()), 1, 1000));
  const int passes = std::max(options_.passes, 1);
  for (int i = 0; i < (kKept + passes - 1) / passes; ++i) {
    COHORT_CHECK(cancel_.check());
    COHORT_TRY(const Nanoseconds plain, runner->timed_steps(steps, steady_now));
    TraceSink sink(program, {}, steps, steady_now);  // takes its memory here
    runner->session().set_sink(&sink);
    COHORT_TRY(const Nanoseconds watched, runner->timed_steps(steps, steady_now));
    runner->session().set_sink(nullptr);
    untraced_.samples.push_back(plain / steps);
    traced_.samples.push_back(watched / steps);
    if (budget && is_enough(*budget)) break;
  }
  return {};
}

bool ModelTimer::is_enough(const TimeBudget& budget) const {
  constexpr std::chrono::milliseconds kLong{100};
  return budget.spent() && count() > 0 && untraced_.samples.back() >= kLong;
}

void ModelTimer::forget(std::size_t kept) {
  untraced_.samples.resize(kept);
  traced_.samples.resize(kept);
}

double ModelTimer::perturbation() const {
  if (untraced_.samples.empty()) return 0;
  return seconds(median(traced_.samples)) / seconds(median(untraced_.samples)) - 1;
}

void ModelTimer::write(Trace& trace) && {
  trace.info.wall_times.push_back(std::move(untraced_));
  trace.info.wall_times.push_back(std::move(traced_));
}

}  // namespace cohort
