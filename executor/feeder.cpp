#include "executor/feeder.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <utility>

#include "executor/host/core_binding.hpp"
#include "executor/input_values.hpp"
#include "simulator/plan/image_inputs.hpp"

namespace cohort {
namespace {

auto no_image(const ProgramInput& input) {
  return fail(ErrorCode::kInvalidInput, "input \"{}\" of shape {} cannot be fed images; it would have to be {}",
              input.name, to_string(input.shape), "[N, C, H, W]");
}

Result<PipelineOptions> pipeline_of(Runner& runner, std::size_t input_index, ImageTarget target) {
  const Program& program = runner.program();
  const ProgramInput& input = program.inputs[input_index];
  if (input.shape.size() != 4) return no_image(input);
  PipelineOptions options;
  target.channels = static_cast<int>(input.shape[1]);
  target.height = static_cast<int>(input.shape[2]);
  target.width = static_cast<int>(input.shape[3]);
  target.layout = program.layout == Layout::kNhwc ? ImageLayout::kNhwc : ImageLayout::kNchw;
  options.target = target;
  options.minibatch = static_cast<int>(input.shape[0]);
  for (int slot = 0; slot < program.input_buffers; ++slot) {
    options.slots.push_back(runner.session().input(input_index, slot));
  }
  return options;
}

}  // namespace

std::vector<int> decode_cores(const Program& program, std::span<const int> usable) {
  if (program.launch_threads < 2) return {};
  return cores_beside(launch_cores(program.launch_threads, usable), usable);
}

ImageTarget image_target(const ImagePreparation& images) {
  ImageTarget target;
  target.resize = images.resize;
  target.random_crop = images.random_crop;
  target.random_flip = images.random_flip;
  for (std::size_t c = 0; c < target.mean.size(); ++c) {
    target.mean[c] = static_cast<float>(images.mean[c]);
    target.stddev[c] = static_cast<float>(images.std[c]);
  }
  return target;
}

Result<std::unique_ptr<Feeder>> Feeder::open(Runner& runner, ImageFolder folder, const InputOptions& options,
                                             const ImageTarget& target) {
  const Program& program = runner.program();
  std::vector<std::size_t> images;
  std::vector<PipelineOptions> pipelines;
  for (std::size_t i = 0; i < program.inputs.size(); ++i) {
    const ProgramInput& input = program.inputs[i];
    if (takes_images(input)) {
      images.push_back(i);
      COHORT_TRY(pipelines.emplace_back(), pipeline_of(runner, i, target));
    } else if (input.role == TensorRole::kSetting) {
      const std::vector<float> values = generated_values(input, options.seed, place_of(program, i));
      for (int slot = 0; slot < program.input_buffers; ++slot) COHORT_CHECK(write_input(runner, i, slot, values));
    }
  }
  COHORT_TRY(std::vector<Labels> labels, labels_of(program, images));
  InputOptions bound = options;
  if (bound.cores.empty()) bound.cores = decode_cores(program, cores_to_bind());
  COHORT_TRY(auto opened, InputPipelines::open(std::move(folder), bound, std::move(pipelines)));
  return std::unique_ptr<Feeder>(new Feeder(runner, std::move(opened), images.size(), std::move(labels)));
}

/// Of each input of labels the pipeline of the images that its first member reads.
Result<std::vector<Feeder::Labels>> Feeder::labels_of(const Program& program, std::span<const std::size_t> images) {
  std::vector<Labels> found;
  for (std::size_t i = 0; i < program.inputs.size(); ++i) {
    const ProgramInput& input = program.inputs[i];
    if (takes_images(input) || input.role == TensorRole::kSetting) continue;
    const auto its_images = std::find_if(images.begin(), images.end(), [&](std::size_t image) {
      const std::vector<MemberId>& readers = program.inputs[image].members;
      return std::find(readers.begin(), readers.end(), input.members.front()) != readers.end();
    });
    if (its_images == images.end() || input.shape != Shape{program.inputs[*its_images].shape[0]})
      return no_image(input);
    found.push_back({i, static_cast<std::size_t>(its_images - images.begin())});
  }
  return found;
}

Feeder::Feeder(Runner& runner, std::unique_ptr<InputPipelines> pipelines, std::size_t count, std::vector<Labels> labels)
    : runner_(&runner),
      pipelines_(std::move(pipelines)),
      count_(count),
      labels_(std::move(labels)),
      overlaps_(runner.program().input_buffers > 1 && runner.session().uploads_overlap_steps()) {}

Result<void> Feeder::take() {
  int slot = 0;
  for (std::size_t i = 0; i < count_; ++i) {
    COHORT_TRY(const ReadyMinibatch minibatch, pipelines_->next(static_cast<int>(i)));
    assert(i == 0 || minibatch.slot == slot);
    slot = minibatch.slot;
    for (const Labels& labels : labels_) {
      if (labels.pipeline != i) continue;
      std::transform(minibatch.labels.begin(), minibatch.labels.end(),
                     runner_->session().input(labels.input, slot).begin(),
                     [](std::uint32_t label) { return std::bit_cast<float>(label); });
    }
  }
  ready_.push_back(slot);
  return {};
}

Result<int> Feeder::upload_next() {
  if (ready_.empty()) COHORT_CHECK(take());
  const int slot = ready_.front();
  ready_.pop_front();
  runner_->upload(slot);
  uploaded_.push_back(slot);
  return slot;
}

Result<void> Feeder::step() {
  if (!next_) next_ = upload_next();
  COHORT_TRY(const int slot, *std::exchange(next_, std::nullopt));
  runner_->launch(slot);
  // What is wrong with the next minibatch is told by the step that is to run on it.
  if (overlaps_) next_ = upload_next();
  Result<void> done = runner_->wait();
  if (!done && next_ && *next_) {  // its copy may not have been made
    ready_.push_front(uploaded_.back());
    uploaded_.pop_back();
    next_.reset();
  }
  for (const int uploaded : uploaded_) {
    for (std::size_t i = 0; i < count_; ++i) pipelines_->release(static_cast<int>(i), uploaded);
  }
  uploaded_.clear();
  return done;
}

Result<void> Feeder::settle() {
  while (ready_.size() < static_cast<std::size_t>(runner_->program().input_buffers)) COHORT_CHECK(take());
  return {};
}

Result<Nanoseconds> Feeder::timed_steps(int steps, const TimeSource& now) {
  const int beforehand = runner_->program().input_buffers + (overlaps_ ? 1 : 0);  // decoded, and one copied
  for (int i = 0; i < beforehand; ++i) COHORT_CHECK(step());
  const Nanoseconds start = now();
  for (int i = 0; i < steps; ++i) COHORT_CHECK(step());
  const Nanoseconds time = now() - start;
  COHORT_CHECK(settle());
  return time;
}

}  // namespace cohort
