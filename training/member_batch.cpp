#include "training/member_batch.hpp"

#include <algorithm>
#include <bit>

#include "executor/input_values.hpp"
#include "simulator/plan/lower.hpp"
#include "training/evaluation_plan.hpp"

namespace cohort {
namespace {

/// Whether this is the model's input `name`: "m1/x" or "x", which may have slashes of its own.
bool is_called(const ProgramInput& input, std::string_view name) {
  const std::string_view whole = input.name;
  return whole.ends_with(name) && (whole.size() == name.size() || whole[whole.size() - name.size() - 1] == '/');
}

bool is_row_major(const Shape& shape, const Shape& strides) {
  std::int64_t step = 1;
  for (std::size_t d = shape.size(); d-- > 0;) {
    if (shape[d] != 1 && strides[d] != step) return false;
    step *= shape[d];
  }
  return true;
}

}  // namespace

Result<std::unique_ptr<MemberBatch>> MemberBatch::train(Backend& backend, const TrainedNetwork& network,
                                                        const Plan& plan, std::vector<SweepMember*> members) {
  std::unique_ptr<MemberBatch> batch(new MemberBatch(network, plan, std::move(members)));
  const auto& training = plan.members.front().source.training;
  const bool recomputes = training && training->recompute;
  COHORT_CHECK(batch->open(backend, recomputes ? network.recomputing : network.training.loaded));
  return batch;
}

Result<std::unique_ptr<MemberBatch>> MemberBatch::evaluation(Backend& backend, const TrainedNetwork& network,
                                                             const Plan& plan, std::vector<SweepMember*> members) {
  const LoadedModel& model = network.evaluation;
  std::unique_ptr<MemberBatch> batch(new MemberBatch(network, evaluation_plan(plan, model.model), members));
  if (batch->open(backend, model)) return batch;
  // A strategy may need what a forward pass alone does not have.
  batch.reset(new MemberBatch(network, plain_evaluation_plan(plan), std::move(members)));
  COHORT_CHECK(batch->open(backend, model));
  return batch;
}

Result<void> MemberBatch::open(Backend& backend, const LoadedModel& loaded) {
  const std::vector<const Model*> models(members_.size(), &loaded.model);
  const std::vector<const Weights*> weights(members_.size(), &loaded.weights);
  COHORT_TRY(program_, lower(plan_, models, backend.catalog()));
  COHORT_TRY(runner_, Runner::create(backend, program_, weights));
  samples_name_ = loaded.model.tensor(loaded.model.inputs.front()).name;  // labels follow
  const std::string& first = loaded.model.tensor(loaded.model.outputs.front()).name;
  first_outputs_.resize(members_.size());
  for (std::size_t i = 0; i < program_.outputs.size(); ++i) {
    const ProgramOutput& output = program_.outputs[i];
    if (output.name == first) first_outputs_[to_index(output.member)] = i;
  }
  return write_states();
}

std::vector<float>& MemberBatch::state_of(const ProgramState& state) const {
  SweepMember& member = *members_[to_index(state.member)];
  return state.name.ends_with("statistics") ? member.state.statistics : member.state.parameters;
}

Result<void> MemberBatch::read_states() {
  for (std::size_t i = 0; i < program_.states.size(); ++i) {
    COHORT_TRY(state_of(program_.states[i]), runner_->session().read_state(i));
  }
  return {};
}

Result<void> MemberBatch::write_states() {
  for (std::size_t i = 0; i < program_.states.size(); ++i)
    COHORT_CHECK(runner_->session().write_state(i, state_of(program_.states[i])));
  return {};
}

void MemberBatch::write_settings(std::size_t input, std::int64_t step, const StepCounts& counts) {
  const std::span<float> memory = runner_->session().input(input, slot_);
  const ProgramInput& rows = program_.inputs[input];
  const std::size_t width = memory.size() / rows.members.size();
  for (std::size_t i = 0; i < rows.members.size(); ++i) {
    const Hyperparameters& member = members_[to_index(rows.members[i])]->hyperparameters;
    const auto row = memory.subspan(i * width, width);
    if (rows.element == ElementType::kFloat32) {
      const auto settings = settings_at(member, step, counts);
      std::copy(settings.begin(), settings.end(), row.begin());
      continue;
    }
    const std::array<std::uint32_t, 4> key = {static_cast<std::uint32_t>(member.seed),
                                              static_cast<std::uint32_t>(member.seed >> 32),
                                              static_cast<std::uint32_t>(step), 0};
    for (std::size_t k = 0; k < key.size(); ++k) row[k] = std::bit_cast<float>(key[k]);
  }
}

Result<void> MemberBatch::write_samples(const Minibatch& minibatch, std::span<const std::size_t> streams) {
  for (std::size_t i = 0; i < program_.inputs.size(); ++i) {
    const ProgramInput& input = program_.inputs[i];
    if (input.role == TensorRole::kSetting) continue;
    const bool labels = !is_called(input, samples_name_);
    const std::size_t stream = streams.empty() ? 0 : streams[to_index(input.members.front())];
    const std::vector<float>& values = labels ? minibatch.labels : minibatch.samples[stream];
    const std::span<float> memory = runner_->session().input(i, slot_);
    if (values.size() == memory.size() && is_row_major(input.shape, dense_strides(input.shape, program_.layout))) {
      std::copy(values.begin(), values.end(), memory.begin());
    } else {
      COHORT_CHECK(write_input(*runner_, i, slot_, values));
    }
  }
  return {};
}

Result<void> MemberBatch::write_inputs(const Minibatch& minibatch, std::span<const std::size_t> streams,
                                       std::int64_t step, const StepCounts& counts) {
  slot_ = (slot_ + 1) % program_.input_buffers;
  COHORT_CHECK(write_samples(minibatch, streams));
  for (std::size_t i = 0; i < program_.inputs.size(); ++i) {
    if (program_.inputs[i].role == TensorRole::kSetting) write_settings(i, step, counts);
  }
  return {};
}

Result<void> MemberBatch::launch(const Minibatch& minibatch, std::span<const std::size_t> streams, std::int64_t step,
                                 const StepCounts& counts) {
  COHORT_CHECK(write_inputs(minibatch, streams, step, counts));
  runner_->upload(slot_);
  runner_->launch(slot_);
  return {};
}

Result<std::vector<float>> MemberBatch::losses() {
  COHORT_CHECK(runner_->wait());
  return read_losses();
}

Result<std::vector<float>> MemberBatch::read_losses() {
  std::vector<float> losses;
  for (const std::size_t output : first_outputs_) {
    COHORT_TRY(const std::vector<float> loss, runner_->session().read_output(output));
    losses.push_back(loss.front());
  }
  return losses;
}

Result<std::vector<std::vector<float>>> MemberBatch::outputs(const Minibatch& minibatch) {
  slot_ = (slot_ + 1) % program_.input_buffers;
  COHORT_CHECK(write_samples(minibatch, {}));
  runner_->upload(slot_);
  COHORT_CHECK(runner_->step(slot_));
  std::vector<std::vector<float>> outputs;
  for (const std::size_t output : first_outputs_) {
    COHORT_TRY(outputs.emplace_back(), runner_->session().read_output(output));
  }
  return outputs;
}

}  // namespace cohort
