// Optimizer steps and running averages: one pass over what lives across steps.

#include <algorithm>
#include <cmath>
#include <utility>

#include "executor/onednn/loops/own_way.hpp"
#include "executor/onednn/loops/parallel.hpp"
#include "executor/onednn/loops/vector.hpp"

namespace cohort::onednn {
namespace {

/// One member's rows, where the next ones go, which may be the same memory, and what is the same for all elements.
struct Rows {
  const float *w, *first, *second, *gradient;
  float *next_w, *next_first, *next_second;
};

struct Factors {
  float rate, momentum, decay, beta1, beta2, epsilon, correction1, root_of_correction2;
  float clip = 1;
};

float setting(const float* settings, Setting which) { return settings[static_cast<std::size_t>(which)]; }

Factors factors_of(const Update& op, const float* settings, const float* norm) {
  Factors f{};
  f.rate = setting(settings, Setting::kLearningRate);
  f.momentum = setting(settings, Setting::kMomentum);
  f.decay = setting(settings, Setting::kWeightDecay);
  f.beta1 = setting(settings, Setting::kBeta1);
  f.beta2 = setting(settings, Setting::kBeta2);
  f.epsilon = setting(settings, Setting::kEpsilon);
  f.correction1 = setting(settings, Setting::kCorrection1);
  f.root_of_correction2 = std::sqrt(setting(settings, Setting::kCorrection2));
  if (op.clip) f.clip = std::min(1.0F, setting(settings, Setting::kClipNorm) / (*norm + 1e-6F));
  return f;
}

COHORT_VECTORS void plain_sgd(const Rows& r, const Factors& f, std::int64_t begin, std::int64_t end) {
#pragma omp simd
  for (std::int64_t i = begin; i < end; ++i) {
    const float w = r.w[i];
    r.next_w[i] = w - f.rate * (r.gradient[i] * f.clip + f.decay * w);
  }
}

template <bool nesterov>
COHORT_INLINE void momentum_sgd(const Rows& r, const Factors& f, std::int64_t begin, std::int64_t end) {
#pragma omp simd
  for (std::int64_t i = begin; i < end; ++i) {
    const float w = r.w[i];
    const float gradient = r.gradient[i] * f.clip + f.decay * w;
    const float velocity = f.momentum * r.first[i] + gradient;
    r.next_first[i] = velocity;
    r.next_w[i] = w - f.rate * (nesterov ? gradient + f.momentum * velocity : velocity);
  }
}
COHORT_VECTORS void heavy_ball(const Rows& r, const Factors& f, std::int64_t begin, std::int64_t end) {
  momentum_sgd<false>(r, f, begin, end);
}
COHORT_VECTORS void nesterov(const Rows& r, const Factors& f, std::int64_t begin, std::int64_t end) {
  momentum_sgd<true>(r, f, begin, end);
}

template <bool apart>
COHORT_INLINE void moments(const Rows& r, const Factors& f, std::int64_t begin, std::int64_t end) {
  const float step = f.rate / f.correction1;
#pragma omp simd
  for (std::int64_t i = begin; i < end; ++i) {
    const float w = apart ? r.w[i] * (1.0F - f.rate * f.decay) : r.w[i];
    const float gradient = apart ? r.gradient[i] * f.clip : r.gradient[i] * f.clip + f.decay * w;
    const float first = f.beta1 * r.first[i] + (1.0F - f.beta1) * gradient;
    const float second = f.beta2 * r.second[i] + (1.0F - f.beta2) * gradient * gradient;
    r.next_first[i] = first;
    r.next_second[i] = second;
    r.next_w[i] = w - step * first / (std::sqrt(second) / f.root_of_correction2 + f.epsilon);
  }
}
COHORT_VECTORS void adam(const Rows& r, const Factors& f, std::int64_t begin, std::int64_t end) {
  moments<false>(r, f, begin, end);
}
COHORT_VECTORS void adam_w(const Rows& r, const Factors& f, std::int64_t begin, std::int64_t end) {
  moments<true>(r, f, begin, end);
}

using Step = void (*)(const Rows&, const Factors&, std::int64_t begin, std::int64_t end);
Step step_of(const Update& op) {
  switch (op.rule) {
    case UpdateRule::kAdam:
      return [](const Rows& r, const Factors& f, std::int64_t begin, std::int64_t end) { adam(r, f, begin, end); };
    case UpdateRule::kAdamW:
      return [](const Rows& r, const Factors& f, std::int64_t begin, std::int64_t end) { adam_w(r, f, begin, end); };
    case UpdateRule::kSgd:
      break;
  }
  if (!op.momentum)
    return [](const Rows& r, const Factors& f, std::int64_t begin, std::int64_t end) { plain_sgd(r, f, begin, end); };
  if (op.nesterov)
    return [](const Rows& r, const Factors& f, std::int64_t begin, std::int64_t end) { nesterov(r, f, begin, end); };
  return [](const Rows& r, const Factors& f, std::int64_t begin, std::int64_t end) { heavy_ball(r, f, begin, end); };
}

COHORT_VECTORS void follow(const float* state, const float* value, float momentum, std::int64_t count, float* next) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) next[i] = state[i] + momentum * (value[i] - state[i]);
}

/// Distance between members' parts of an operand.
std::int64_t member_step(const View& view, bool stacked) { return stacked && view.shape[0] > 1 ? view.strides[0] : 0; }

bool ends_adjoin(const View& view) { return view.shape.back() == 1 || view.strides.back() == 1; }

}  // namespace

OwnWays own_ways(const Update& op, const OpCall& call, int threads) {
  const View &state = std::get<View>(call.inputs[0]), &next = call.outputs[0];
  const View gradient = view_of(call, 1), settings = view_of(call, 2);
  const View norm = op.clip ? view_of(call, 3) : settings;
  if (!call.post_ops.empty() || !ends_adjoin(state) || !ends_adjoin(next) || !ends_adjoin(gradient) ||
      !ends_adjoin(settings))
    return {};
  const std::size_t lead = op.stacked ? 1 : 0;
  const std::int64_t members = op.stacked ? state.shape[0] : 1, rows = state.shape[lead], count = state.shape[lead + 1];
  const std::int64_t row = rows > 1 ? state.strides[lead] : 0, next_row = rows > 1 ? next.strides[lead] : 0;
  const std::int64_t state_step = member_step(state, op.stacked), next_step = member_step(next, op.stacked);
  const std::int64_t gradient_step = member_step(gradient, op.stacked);
  const std::int64_t settings_step = member_step(settings, op.stacked), norm_step = member_step(norm, op.stacked);
  return {{[=, step = step_of(op)](const HostArguments& arguments) {
    const float *const w = arguments.inputs[0], *const dw = arguments.inputs[1];
    float* const to = arguments.outputs[0];
    in_parallel(threads, members * count, 1, [&](std::int64_t begin, std::int64_t end) {
      while (begin < end) {
        const std::int64_t m = begin / count, from = begin - m * count, until = std::min(count, end - m * count);
        const float* const own = w + m * state_step;
        float* const own_next = to + m * next_step;
        const Rows r{own,      own + row,           own + 2 * row,          dw + m * gradient_step,
                     own_next, own_next + next_row, own_next + 2 * next_row};
        const float* const clip = op.clip ? arguments.inputs[3] + m * norm_step : nullptr;
        step(r, factors_of(op, arguments.inputs[2] + m * settings_step, clip), from, until);
        begin = m * count + until;
      }
    });
  }}};
}

OwnWays own_ways(const RunningAverage& op, const OpCall& call, int threads) {
  const View state = view_of(call, 0), value = view_of(call, 1), &next = call.outputs[0];
  if (!call.post_ops.empty() || !ends_adjoin(state) || !ends_adjoin(value) || !ends_adjoin(next)) return {};
  const std::int64_t members = op.stacked ? state.shape[0] : 1, count = state.shape.back();
  const std::int64_t from = member_step(state, op.stacked), by = member_step(value, op.stacked);
  const std::int64_t to = member_step(next, op.stacked);
  return {{[=, momentum = op.momentum](const HostArguments& arguments) {
    in_parallel(threads, members, count, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t m = begin; m < end; ++m)
        follow(arguments.inputs[0] + m * from, arguments.inputs[1] + m * by, momentum, count,
               arguments.outputs[0] + m * to);
    });
  }}};
}

}  // namespace cohort::onednn
