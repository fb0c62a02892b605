#include "models/training_spec.hpp"

#include <array>
#include <utility>

namespace cohort {
namespace {

const std::array<std::pair<std::string_view, Update>, 5>& optimizers() {
  static const std::array<std::pair<std::string_view, Update>, 5> known{{{"sgd", {UpdateRule::kSgd, false, false}},
                                                                         {"momentum", {UpdateRule::kSgd, true, false}},
                                                                         {"nesterov", {UpdateRule::kSgd, true, true}},
                                                                         {"adam", {UpdateRule::kAdam}},
                                                                         {"adamw", {UpdateRule::kAdamW}}}};
  return known;
}

constexpr std::array<std::pair<std::string_view, LossKind>, 3> kLosses{
    {{"cross_entropy", LossKind::kCrossEntropy},
     {"mean_squared_error", LossKind::kMeanSquaredError},
     {"model_output", LossKind::kModelOutput}}};

}  // namespace

std::int64_t state_rows(const Update& update) {
  if (update.rule != UpdateRule::kSgd) return 3;
  return update.momentum ? 2 : 1;
}

std::string_view optimizer_name(const Update& update) {
  for (const auto& [name, known] : optimizers()) {
    const bool same = known.rule == update.rule && known.momentum == update.momentum;
    if (same && known.nesterov == update.nesterov) return name;
  }
  return "sgd";
}

Result<Update> optimizer_from(std::string_view name) {
  for (const auto& [known, update] : optimizers()) {
    if (known == name) return update;
  }
  return fail(ErrorCode::kInvalidInput, "no optimizer is called \"{}\"; known: sgd, momentum, nesterov, adam, adamw",
              name);
}

std::string_view to_string(LossKind loss) {
  for (const auto& [name, known] : kLosses) {
    if (known == loss) return name;
  }
  return "";
}

Result<LossKind> loss_from(std::string_view text) {
  for (const auto& [name, known] : kLosses) {
    if (name == text) return known;
  }
  return fail(ErrorCode::kInvalidInput,
              "no loss is called \"{}\"; known: cross_entropy, mean_squared_error, model_output", text);
}

}  // namespace cohort
