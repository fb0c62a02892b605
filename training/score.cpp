#include "training/score.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace cohort {

void Score::add_class(std::span<const float> scores, std::size_t label) {
  const auto highest = static_cast<std::size_t>(std::max_element(scores.begin(), scores.end()) - scores.begin());
  // What is no number compares as nothing, so that the first would win.
  if (highest == label && std::isfinite(scores[label])) ++right_;
  ++count_;
  if (gives_probabilities_) {
    constexpr double kLeast = 1e-30;
    sum_ -= std::log(std::max(static_cast<double>(scores[label]), kLeast));  // what is no number stays so
    return;
  }
  double exponentials = 0;
  for (const float score : scores)
    exponentials += std::exp(static_cast<double>(score) - static_cast<double>(scores[highest]));
  sum_ += std::log(exponentials) - (static_cast<double>(scores[label]) - static_cast<double>(scores[highest]));
}

void Score::add(std::span<const float> outputs, const Minibatch& minibatch) {
  const std::size_t size = outputs.size() / (minibatch.size * minibatch.rows);
  for (std::size_t row = 0; row < minibatch.rows; ++row) {
    const std::size_t first = row * minibatch.size;
    for (std::size_t i = first; i < first + minibatch.count; ++i) {
      const auto of_it = outputs.subspan(i * size, size);
      if (loss_ == LossKind::kCrossEntropy) {
        add_class(of_it, static_cast<std::size_t>(std::bit_cast<std::int32_t>(minibatch.labels[i])));
      } else {
        add_targets(of_it, std::span(minibatch.labels).subspan(i * size, size));
      }
    }
  }
}

void Score::add_targets(std::span<const float> outputs, std::span<const float> targets) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const double off = static_cast<double>(outputs[i]) - static_cast<double>(targets[i]);
    sum_ += off * off;
    ++count_;
  }
}

double Score::loss() const { return count_ == 0 ? 0 : sum_ / static_cast<double>(count_); }

std::optional<double> Score::accuracy() const {
  if (loss_ != LossKind::kCrossEntropy || count_ == 0) return std::nullopt;
  return static_cast<double>(right_) / static_cast<double>(count_);
}

}  // namespace cohort
