#include "executor/recording/recording_backend.hpp"

#include <algorithm>

#include "executor/program_check.hpp"

namespace cohort {

Result<std::vector<Alternative>> RecordingCatalog::alternatives(const OpCall& call, int threads) const {
  Bytes weights;
  for (const Operand& operand : call.inputs) {
    const WeightView* view = std::get_if<WeightView>(&operand);
    if (view != nullptr) weights += Bytes{element_count(view->shape) * element_bytes(view->type)};
  }
  std::vector<Alternative> listed = options_.alternatives;
  for (Alternative& alternative : listed) {
    alternative.threads = threads;
    if (alternative.packed_weights == Bytes{}) alternative.packed_weights = weights;
  }
  if (listed.empty()) {
    return fail(ErrorCode::kInvalidInput, "the fake device cannot run {}", op_type(call.attributes));
  }
  return listed;
}

std::vector<std::string> Recording::tasks() const {
  std::vector<std::string> tasks;
  for (const RecordedCommand& command : commands_) {
    if (command.kind == RecordedCommand::Kind::kLaunch) tasks.push_back(program_->step(*command.step).task);
  }
  return tasks;
}

std::size_t Recording::count(RecordedCommand::Kind kind) const {
  return static_cast<std::size_t>(std::count_if(commands_.begin(), commands_.end(),
                                                [&](const RecordedCommand& command) { return command.kind == kind; }));
}

RecordingBackend::RecordingBackend(const RecordingOptions& options) : catalog_(options) {
  info_.id = "recording:0";
  info_.kind = "recording";
  info_.name = "recording fake";
  info_.cores = options.cores;
  info_.memory = options.memory;
}

Result<std::unique_ptr<Session>> RecordingBackend::load(const Program& program,
                                                        std::span<const Weights* const> weights) {
  COHORT_CHECK(check_program(program));
  COHORT_CHECK(check_fits(program, info_.memory));
  if (weights.size() != program.member_count) {
    return fail(ErrorCode::kInvalidInput, "the program has {} members, but weights are given for {}",
                program.member_count, weights.size());
  }
  recording_ = std::make_shared<Recording>(program);
  return std::make_unique<RecordingSession>(program, recording_);
}

RecordingSession::RecordingSession(const Program& program, std::shared_ptr<Recording> recording)
    : program_(&program), recording_(std::move(recording)) {}

RecordingSession::~RecordingSession() {
  if (capture_) recording_->checker_.report("the session ends while a capture is open");
}

void RecordingSession::launch(StepId step, StreamId stream, int slot) {
  RecordedCommand command{RecordedCommand::Kind::kLaunch, stream, {}, {}, {}, slot};
  command.step = step;
  give(command);
}

EventId RecordingSession::record(StreamId stream) {
  const auto event = static_cast<EventId>(next_event_++);
  RecordedCommand command{RecordedCommand::Kind::kRecord, stream, {}, {}, {}, 0};
  command.event = event;
  if (capture_) captured_in_[event] = graphs_.size();
  give(command);
  return event;
}

void RecordingSession::wait(StreamId stream, EventId event) {
  HazardChecker& checker = recording_->checker_;
  const auto captured = captured_in_.find(event);
  if (static_cast<std::uint32_t>(event) >= next_event_) {
    checker.report(fmt::format("stream {} waits for event {}, which was never recorded", to_index(stream),
                               static_cast<std::uint32_t>(event)));
    return;
  }
  const bool same_capture =
      capture_ ? captured != captured_in_.end() && captured->second == graphs_.size() : captured == captured_in_.end();
  if (!same_capture) {
    checker.report(fmt::format("stream {} waits for event {}, which belongs to another capture", to_index(stream),
                               static_cast<std::uint32_t>(event)));
    return;
  }
  RecordedCommand command{RecordedCommand::Kind::kWait, stream, {}, {}, {}, 0};
  command.event = event;
  give(command);
}

void RecordingSession::upload(std::size_t input_index, int slot, StreamId stream) {
  RecordedCommand command{RecordedCommand::Kind::kUpload, stream, {}, {}, {}, slot};
  command.input = input_index;
  give(command);
}

void RecordingSession::begin_capture() {
  if (capture_) recording_->checker_.report("a capture is begun while another is open");
  capture_.emplace();
}

GraphId RecordingSession::end_capture() {
  if (!capture_) recording_->checker_.report("a capture is ended, but none is open");
  graphs_.push_back(capture_ ? std::move(*capture_) : std::vector<RecordedCommand>{});
  capture_.reset();
  return static_cast<GraphId>(static_cast<std::uint32_t>(graphs_.size() - 1));
}

void RecordingSession::launch(GraphId graph) {
  HazardChecker& checker = recording_->checker_;
  if (capture_) {
    checker.report(fmt::format("graph {} is launched while a capture is open", to_index(graph)));
  } else if (to_index(graph) >= graphs_.size()) {
    checker.report(fmt::format("graph {} is launched, but {} were captured", to_index(graph), graphs_.size()));
  } else {
    for (const RecordedCommand& command : graphs_[to_index(graph)]) execute(command);
  }
}

bool RecordingSession::is_valid(const RecordedCommand& command) {
  HazardChecker& checker = recording_->checker_;
  const bool computes = command.kind == RecordedCommand::Kind::kLaunch;
  const std::size_t streams = to_index(upload_stream(*program_)) + (computes ? 0 : 1);
  if (to_index(command.stream) >= streams) {
    checker.report(fmt::format("work is given to stream {}, the last is {}", to_index(command.stream), streams - 1));
    return false;
  }
  if (command.slot < 0 || command.slot >= program_->input_buffers) {
    checker.report(fmt::format("work is given for slot {} of {}", command.slot, program_->input_buffers));
    return false;
  }
  if (command.step && to_index(*command.step) >= program_->steps.size()) {
    checker.report(fmt::format("step {} of {} is launched", to_index(*command.step), program_->steps.size()));
    return false;
  }
  if (command.input && *command.input >= program_->inputs.size()) {
    checker.report(fmt::format("input {} of {} is uploaded", *command.input, program_->inputs.size()));
    return false;
  }
  return true;
}

void RecordingSession::give(const RecordedCommand& command) {
  if (!is_valid(command)) return;
  if (capture_) {
    capture_->push_back(command);
  } else {
    execute(command);
  }
}

void RecordingSession::execute(const RecordedCommand& command) {
  HazardChecker& checker = recording_->checker_;
  switch (command.kind) {
    case RecordedCommand::Kind::kLaunch:
      execute_launch(command);
      return;
    case RecordedCommand::Kind::kRecord:
      events_[*command.event] = checker.clock(command.stream);
      break;
    case RecordedCommand::Kind::kWait:
      checker.wait(command.stream, events_[*command.event]);
      break;
    case RecordedCommand::Kind::kUpload:
      checker.upload(*command.input, command.slot, command.stream);
      host_reads_.begin(
          fmt::format("the upload of input \"{}\" from slot {}", program_->inputs[*command.input].name, command.slot),
          command.stream, std::as_bytes(input(*command.input, command.slot)));
      break;
    case RecordedCommand::Kind::kSynchronize:
      break;
  }
  recording_->commands_.push_back(command);
}

void RecordingSession::execute_launch(const RecordedCommand& command) {
  if (error_) return;
  const StepId step = *command.step;
  recording_->commands_.push_back(command);
  recording_->checker_.run(step, command.stream, command.slot);
  if (sink_ != nullptr) sink_->begin(step, command.stream);
  if (recording_->fail_at_ == step) {
    error_ = Error{ErrorCode::kDeviceMissing, fmt::format("{}: injected failure", program_->step(step).task)};
  }
  if (sink_ != nullptr) sink_->end(step, command.stream);
}

Result<void> RecordingSession::synchronize() {
  if (capture_) recording_->checker_.report("the host synchronizes while a capture is open");
  recording_->checker_.synchronize();
  for (std::string& violation : host_reads_.end()) recording_->checker_.report(std::move(violation));
  recording_->commands_.push_back({RecordedCommand::Kind::kSynchronize, {}, {}, {}, {}, 0});
  if (const std::optional<Error> error = std::exchange(error_, std::nullopt)) return tl::unexpected<Error>(*error);
  return {};
}

std::span<float> RecordingSession::input(std::size_t input_index, int slot) {
  std::vector<float>& values = inputs_[{input_index, slot}];
  values.resize(static_cast<std::size_t>(element_count(program_->inputs[input_index].shape)));
  return values;
}

Result<std::vector<float>> RecordingSession::read_state(std::size_t state_index) {
  std::vector<float>& values = states_[state_index];
  values.resize(static_cast<std::size_t>(element_count(program_->states[state_index].view.shape)));
  return values;
}

Result<void> RecordingSession::write_state(std::size_t state_index, std::span<const float> values) {
  COHORT_CHECK(check_state_values(program_->states[state_index], values.size()));
  states_[state_index].assign(values.begin(), values.end());
  return {};
}

Result<std::vector<float>> RecordingSession::read_output(std::size_t output_index) {
  const Shape& shape = program_->outputs[output_index].view.shape;
  return std::vector<float>(static_cast<std::size_t>(element_count(shape)));
}

}  // namespace cohort
