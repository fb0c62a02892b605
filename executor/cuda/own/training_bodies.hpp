#pragma once

#include "executor/cuda/own/bodies.hpp"
#include "executor/cuda/own/training_arguments.hpp"
#include "models/random_bits.hpp"

/// What one thread of the kernels of training steps computes, for device and host alike: element(), or where threads
/// share a lane lane(), which gets the team of these threads:
///
///     team.thread()      its number among team.threads()
///     team.sum(value)    over all threads of the team
///     team.largest(value)
///     team.meet()        what each has written before the others see behind it
namespace cohort::cuda::own {

/// A team of one, which is how the host runs lanes.
struct Alone {
  [[nodiscard]] std::int32_t thread() const { return 0; }
  [[nodiscard]] std::int32_t threads() const { return 1; }
  [[nodiscard]] float sum(float value) const { return value; }
  [[nodiscard]] float largest(float value) const { return value; }
  void meet() const {}
};

COHORT_BODY std::int32_t whole_at(const float* from, std::int64_t at) {
  return static_cast<std::int32_t>(bits_of(from[at]));
}

/// f'(x) from f(x), of those functions whose slope is found so.
COHORT_BODY float slope_at_result(PostKind kind, float alpha, float beta, float y) {
  switch (kind) {
    case PostKind::kRelu:
      return y > 0 ? 1.0F : 0.0F;
    case PostKind::kSigmoid:
      return y * (1 - y);
    case PostKind::kTanh:
      return 1 - y * y;
    case PostKind::kClip:
      return y > alpha && y < beta ? 1.0F : 0.0F;
    case PostKind::kHardSigmoid:
      return y > 0 && y < 1 ? alpha : 0.0F;
    case PostKind::kSoftsign:
      return (1 - fabsf(y)) * (1 - fabsf(y));
    case PostKind::kSqrt:
      return 0.5F / y;
    case PostKind::kNeg:
      return -1;
    case PostKind::kExp:
      return y;
    case PostKind::kReciprocal:
      return -y * y;
    default:
      return 0;  // steps
  }
}

COHORT_BODY float gelu_slope(float x) {
  return 0.5F * (1 + erff(x * 0.70710678F)) + x * 0.39894228F * expf(-0.5F * x * x);
}

COHORT_BODY float gelu_tanh_slope(float x) {
  const float t = tanhf(0.79788456F * (x + 0.044715F * x * x * x));
  return 0.5F * (1 + t) + 0.5F * x * (1 - t * t) * 0.79788456F * (1 + 3 * 0.044715F * x * x);
}

COHORT_BODY float mish_slope(float x) {
  const float t = tanhf(softplus(x));
  return t + x * (1 - t * t) * sigmoid(x);
}

/// f'(x), of the others from x.
COHORT_BODY float slope(PostKind kind, float alpha, float beta, float z) {
  switch (kind) {
    case PostKind::kLeakyRelu:
      return z > 0 ? 1 : alpha;
    case PostKind::kElu:
      return z > 0 ? 1 : alpha * expf(z);
    case PostKind::kSelu:
      return beta * (z > 0 ? 1 : alpha * expf(z));
    case PostKind::kHardSwish:
      return z <= -3 ? 0.0F : z >= 3 ? 1.0F : z / 3 + 0.5F;
    case PostKind::kSoftplus:
      return sigmoid(z);
    case PostKind::kGelu:
      return gelu_slope(z);
    case PostKind::kGeluTanh:
      return gelu_tanh_slope(z);
    case PostKind::kErf:
      return 1.12837917F * expf(-z * z);
    case PostKind::kMish:
      return mish_slope(z);
    case PostKind::kAbs:
      return static_cast<float>((z > 0) - (z < 0));
    case PostKind::kLog:
      return 1 / z;
    case PostKind::kThresholdedRelu:
      return z > alpha ? 1.0F : 0.0F;
    case PostKind::kCelu:
      return z > 0 ? 1 : expf(z / alpha);
    case PostKind::kSwish: {
      const float share = sigmoid(alpha * z);
      return share + alpha * z * share * (1 - share);
    }
    case PostKind::kSin:
      return cosf(z);
    case PostKind::kCos:
      return -sinf(z);
    case PostKind::kAsin:
      return 1 / sqrtf(1 - z * z);
    case PostKind::kAcos:
      return -1 / sqrtf(1 - z * z);
    case PostKind::kAtan:
      return 1 / (1 + z * z);
    case PostKind::kSinh:
      return coshf(z);
    case PostKind::kCosh:
      return sinhf(z);
    case PostKind::kAsinh:
      return 1 / sqrtf(z * z + 1);
    case PostKind::kAcosh:
      return 1 / sqrtf(z * z - 1);
    case PostKind::kAtanh:
      return 1 / (1 - z * z);
    default:
      return slope_at_result(kind, alpha, beta, z);
  }
}

COHORT_BODY std::int64_t elements_of(const SlopeArguments& k) { return k.shape.count; }
COHORT_BODY void element(const SlopeArguments& k, std::int64_t linear) {
  const Index at = split(k.shape, static_cast<std::int32_t>(linear));
  const int rank = k.shape.rank;
  const float factor = slope(k.kind, k.alpha, k.beta, k.z[offset(k.z_strides, at, rank)]);
  k.dx[offset(k.dx_strides, at, rank)] = factor * k.dy[offset(k.dy_strides, at, rank)];
}

COHORT_BODY std::int64_t lanes_of(const SoftmaxGradientArguments& k) { return k.lanes.count; }
template <class Team>
COHORT_BODY void lane(const SoftmaxGradientArguments& k, std::int64_t number, const Team& team) {
  const Index at = split(k.lanes, static_cast<std::int32_t>(number));
  const float* const y = k.y + offset(k.y_strides, at, k.lanes.rank);
  const float* const dy = k.dy + offset(k.dy_strides, at, k.lanes.rank);
  float* const dx = k.dx + offset(k.dx_strides, at, k.lanes.rank);
  float part = 0;
  for (std::int32_t i = team.thread(); i < k.length; i += team.threads())
    part += k.logarithm ? dy[i * k.dy_step] : y[i * k.y_step] * dy[i * k.dy_step];
  const float sum = team.sum(part);
  for (std::int32_t i = team.thread(); i < k.length; i += team.threads()) {
    const float value = y[i * k.y_step];
    const float delta = dy[i * k.dy_step];
    dx[i * k.dx_step] = k.logarithm ? delta - expf(value) * sum : value * (delta - sum);
  }
}

/// What is found out about a sample's scores.
struct SampleScores {
  const float* x = nullptr;
  std::int32_t label = 0;
  bool counts = false, is_class = false;
  float largest = 0, sum = 0;  ///< of the exponentials of x - largest
};

template <class Team>
COHORT_BODY SampleScores sample_scores(const LabelledScores& k, const Index& at, const Team& team) {
  SampleScores found;
  found.x = k.x + offset(k.x_strides, at, k.samples.rank);
  found.label = whole_at(k.labels, offset(k.label_strides, at, k.samples.rank));
  found.counts = !k.ignores || found.label != k.ignored;
  found.is_class = found.label >= 0 && found.label < k.classes;
  float part = -INFINITY;
  for (std::int32_t i = team.thread(); i < k.classes; i += team.threads())
    part = fmaxf(part, found.x[i * k.class_step]);
  found.largest = team.largest(part);
  part = 0;
  for (std::int32_t i = team.thread(); i < k.classes; i += team.threads())
    part += expf(found.x[i * k.class_step] - found.largest);
  found.sum = team.sum(part);
  return found;
}

/// Samples of a model that count.
template <class Team>
COHORT_BODY float counted(const LabelledScores& k, std::int32_t model, const Team& team) {
  const std::int32_t samples = k.samples.count / k.models;
  if (!k.ignores) return static_cast<float>(samples);
  float part = 0;
  for (std::int32_t i = team.thread(); i < samples; i += team.threads()) {
    const Index at = split(k.samples, model * samples + i);
    part += whole_at(k.labels, offset(k.label_strides, at, k.samples.rank)) != k.ignored ? 1.0F : 0.0F;
  }
  return team.sum(part);
}

COHORT_BODY std::int64_t lanes_of(const SampleLossArguments& k) { return k.scores.samples.count; }
template <class Team>
COHORT_BODY void lane(const SampleLossArguments& k, std::int64_t number, const Team& team) {
  const SampleScores found = sample_scores(k.scores, split(k.scores.samples, static_cast<std::int32_t>(number)), team);
  if (team.thread() != 0) return;
  float loss = 0;
  if (found.counts)
    loss = found.is_class ? found.largest + logf(found.sum) - found.x[found.label * k.scores.class_step] : NAN;
  k.losses[number] = loss;
}

COHORT_BODY std::int64_t lanes_of(const LossArguments& k) { return k.scores.models; }
template <class Team>
COHORT_BODY void lane(const LossArguments& k, std::int64_t model, const Team& team) {
  const std::int32_t samples = k.scores.samples.count / k.scores.models;
  float part = 0;
  for (std::int32_t i = team.thread(); i < samples; i += team.threads()) part += k.losses[model * samples + i];
  const float sum = team.sum(part);
  const float count = k.mean ? fmaxf(counted(k.scores, static_cast<std::int32_t>(model), team), 1) : 1;
  if (team.thread() == 0) k.y[model * k.y_step] = sum / count;
}

COHORT_BODY std::int64_t lanes_of(const LossGradientArguments& k) { return k.scores.samples.count; }
template <class Team>
COHORT_BODY void lane(const LossGradientArguments& k, std::int64_t number, const Team& team) {
  const auto sample = static_cast<std::int32_t>(number);
  const Index at = split(k.scores.samples, sample);
  const SampleScores found = sample_scores(k.scores, at, team);
  const std::int32_t model = sample / (k.scores.samples.count / k.scores.models);
  const float share = k.mean ? 1 / fmaxf(counted(k.scores, model, team), 1) : 1;
  float* const dx = k.dx + offset(k.dx_strides, at, k.scores.samples.rank);
  for (std::int32_t i = team.thread(); i < k.scores.classes; i += team.threads()) {
    const float likelihood = expf(found.x[i * k.scores.class_step] - found.largest) / found.sum;
    float value = found.is_class ? share * (likelihood - (i == found.label ? 1.0F : 0.0F)) : NAN;
    if (!found.counts) value = 0;
    dx[i * k.dx_step] = value;
  }
}

COHORT_BODY std::int64_t elements_of(const DropoutArguments& k) { return k.shape.count; }
COHORT_BODY void element(const DropoutArguments& k, std::int64_t linear) {
  const Index at = split(k.shape, static_cast<std::int32_t>(linear));
  const int rank = k.shape.rank;
  const float rate = k.rate[offset(k.rate_strides, at, rank)];
  const std::int64_t first = offset(k.key_strides, at, rank);
  const auto word = [&](std::int32_t i) { return static_cast<std::uint32_t>(whole_at(k.key, first + i * k.key_step)); };
  const RandomKey key{word(0), word(1), word(2), word(3)};
  const auto number = static_cast<std::uint64_t>(offset(k.number_strides, at, rank));
  float value = NAN;
  if (rate >= 0 && rate < 1)
    value = is_kept(random_bits(key, k.salt, number), rate) ? k.x[offset(k.x_strides, at, rank)] / (1 - rate) : 0.0F;
  k.y[offset(k.y_strides, at, rank)] = value;
}

/// Settings as Setting names them.
enum class SettingAt : std::int32_t {
  kLearningRate,
  kMomentum,
  kWeightDecay,
  kBeta1,
  kBeta2,
  kEpsilon,
  kCorrection1,
  kCorrection2,
  kClipNorm,
};

/// What one member's settings say.
struct MemberSettings {
  const float* values = nullptr;
  std::int64_t step = 1;

  COHORT_BODY float operator[](SettingAt at) const { return values[static_cast<std::int32_t>(at) * step]; }
};

COHORT_BODY void step_sgd(const UpdateArguments& k, const MemberSettings& settings, float gradient, float* rows) {
  gradient += settings[SettingAt::kWeightDecay] * rows[0];
  if (k.momentum) {
    const float momentum = settings[SettingAt::kMomentum];
    rows[1] = momentum * rows[1] + gradient;
    gradient = k.nesterov ? gradient + momentum * rows[1] : rows[1];
  }
  rows[0] -= settings[SettingAt::kLearningRate] * gradient;
}

COHORT_BODY void step_adam(const UpdateArguments& k, const MemberSettings& settings, float gradient, float* rows) {
  const float rate = settings[SettingAt::kLearningRate];
  const float decay = settings[SettingAt::kWeightDecay];
  const float beta1 = settings[SettingAt::kBeta1];
  const float beta2 = settings[SettingAt::kBeta2];
  if (k.rule == UpdateBy::kAdamW) {
    rows[0] *= 1 - rate * decay;
  } else {
    gradient += decay * rows[0];
  }
  rows[1] = beta1 * rows[1] + (1 - beta1) * gradient;
  rows[2] = beta2 * rows[2] + (1 - beta2) * gradient * gradient;
  const float root = sqrtf(rows[2]) / sqrtf(settings[SettingAt::kCorrection2]);
  rows[0] -= rate / settings[SettingAt::kCorrection1] * rows[1] / (root + settings[SettingAt::kEpsilon]);
}

COHORT_BODY std::int64_t elements_of(const UpdateArguments& k) { return std::int64_t{k.models} * k.parameters; }
/// A parameter's rows are read before they are written: `next` may be the state.
COHORT_BODY void element(const UpdateArguments& k, std::int64_t linear) {
  const std::int64_t model = linear / k.parameters;
  const std::int64_t p = linear % k.parameters;
  const MemberSettings settings{k.settings + model * k.settings_model, k.settings_step};
  float share = 1;
  if (k.norm != nullptr) share = fminf(1, settings[SettingAt::kClipNorm] / (k.norm[model * k.norm_model] + 1e-6F));
  float rows[3] = {};
  for (std::int32_t row = 0; row < k.rows; ++row)
    rows[row] = k.state[model * k.state_model + row * k.state_row + p * k.state_step];
  const float gradient = share * k.gradient[model * k.gradient_model + p * k.gradient_step];
  if (k.rule == UpdateBy::kSgd) {
    step_sgd(k, settings, gradient, rows);
  } else {
    step_adam(k, settings, gradient, rows);
  }
  for (std::int32_t row = 0; row < k.rows; ++row)
    k.next[model * k.next_model + row * k.next_row + p * k.next_step] = rows[row];
}

}  // namespace cohort::cuda::own
