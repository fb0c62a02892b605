#include "executor/host/host_session.hpp"

#include <algorithm>
#include <cassert>
#include <system_error>

#include "executor/device_error.hpp"
#include "executor/host/core_binding.hpp"
#include "executor/program_check.hpp"

namespace cohort {
namespace {

Result<std::vector<std::shared_ptr<HostKernel>>> prepare_kernels(const Program& program, const HostKernels& kernels,
                                                                 std::span<const Weights* const> weights) {
  std::vector<std::shared_ptr<HostKernel>> prepared;
  for (const Step& step : program.steps) {
    if (step.same_kernel_as) {
      prepared.push_back(prepared[to_index(*step.same_kernel_as)]);
      continue;
    }
    COHORT_TRY(const auto values, gather_weights(step, weights));
    auto kernel = kernels.prepare(step.call, step.cost.algorithm, step.cost.threads, values);
    if (!kernel) return in_context(step.task, kernel.error());
    prepared.push_back(std::move(*kernel));
  }
  return prepared;
}

HostArguments arguments_of(const Step& step, const HostMemory& memory, int slot) {
  HostArguments arguments;
  for (const Operand& operand : step.call.inputs) {
    const View* view = std::get_if<View>(&operand);
    arguments.inputs.push_back(view == nullptr ? nullptr : memory.first_element(*view, slot));
  }
  for (const View& view : step.call.outputs) arguments.outputs.push_back(memory.first_element(view, slot));
  if (step.workspace) arguments.workspace = memory.at(*step.workspace, slot);
  return arguments;
}

/// The cores of each stream, its thread's first; none where one thread does all the work and may roam.
std::vector<std::vector<int>> cores_of_streams(const Program& program) {
  std::vector<std::vector<int>> cores(static_cast<std::size_t>(program.streams));
  std::vector<int> threads(cores.size(), 1);
  for (const Step& step : program.steps) {
    int& most = threads[to_index(step.stream)];
    most = std::max(most, step.cost.threads);
  }
  const std::vector<int> usable = cores_to_bind();
  if (usable.empty() || (cores.size() == 1 && threads[0] == 1)) return cores;
  for (std::size_t i = 0; i < cores.size(); ++i) {
    for (std::size_t k = 0; k < static_cast<std::size_t>(threads[i]); ++k) {
      cores[i].push_back(usable[(i + k) % usable.size()]);
    }
  }
  return cores;
}

/// Appends the elements of dimension `axis` and all after it, in logical order.
void append_elements(const View& view, std::size_t axis, const float* from, std::vector<float>& to) {
  if (axis == view.shape.size()) {
    to.push_back(*from);
    return;
  }
  for (std::int64_t i = 0; i < view.shape[axis]; ++i) {
    append_elements(view, axis + 1, from + i * view.strides[axis], to);
  }
}

}  // namespace

Result<std::unique_ptr<Session>> HostBackend::load(const Program& program, std::span<const Weights* const> weights) {
  COHORT_CHECK(check_program(program));
  COHORT_CHECK(check_precision(program.precision, kernels_->precisions()));
  if (weights.size() != program.member_count) {
    return fail(ErrorCode::kInvalidInput, "the program has {} members, but weights are given for {}",
                program.member_count, weights.size());
  }
  if (program.launch_threads > 1)
    return fail(ErrorCode::kInvalidInput, "launch_threads is a GPU's; on a CPU every stream has a thread of its own");
  COHORT_TRY(HostMemory memory, HostMemory::allocate(program, info_.memory));
  try {
    COHORT_TRY(auto kernels, prepare_kernels(program, *kernels_, weights));
    auto session = std::make_unique<HostSession>(program, *kernels_,
                                                 HostSession::Parts{std::move(memory), std::move(kernels), &turns_});
    COHORT_CHECK(write_first_states(*session, program, weights));
    return session;
  } catch (const std::bad_alloc&) {
    return fail(ErrorCode::kDoesNotFit, "out of memory while packing weights ({} in all)",
                format_bytes(program.memory.weights));
  } catch (const std::system_error& error) {
    return fail(ErrorCode::kDoesNotFit, "no thread for each of {} streams: {}", program.streams, error.what());
  } catch (const DeviceError& error) {
    return fail(ErrorCode::kDeviceMissing, "{}", error.what());
  }
}

HostSession::HostSession(const Program& program, const HostKernels& kernels, Parts parts)
    : program_(&program), parts_(std::move(parts)) {
  const auto streams = static_cast<std::size_t>(program.streams);
  for (int slot = 0; slot < program.input_buffers; ++slot) {
    for (const Step& step : program.steps) arguments_.push_back(arguments_of(step, parts_.memory, slot));
  }
  context_.program = &program;
  context_.kernels = &kernels;
  context_.turns = parts_.turns;
  context_.events = std::vector<EventCounter>(streams);
  given_.resize(streams);
  busy_.resize(streams);
  auto cores = cores_of_streams(program);
  for (std::size_t i = 0; i < streams; ++i) {
    streams_.emplace_back(context_, static_cast<StreamId>(static_cast<std::uint32_t>(i)), std::move(cores[i]));
    if (i > 0) streams_.back().start_thread();
  }
}

HostSession::~HostSession() {
  // Nobody will see the results of work still under way, but its waits must be met before threads end.
  capture_.reset();
  context_.failure.remember({}, {ErrorCode::kInterrupted, "the session was closed"});
  (void)synchronize();
}

void HostSession::launch(StepId step, StreamId stream, int slot) {
  const std::size_t index = to_index(step);
  const HostArguments& arguments = arguments_[static_cast<std::size_t>(slot) * program_->steps.size() + index];
  give(stream, RunStep{step, program_->step(step).cost.threads, parts_.kernels[index].get(), &arguments});
}

EventId HostSession::record(StreamId stream) {
  const auto id = static_cast<EventId>(first_event_ + static_cast<std::uint32_t>(events_.size()));
  if (stream == upload_stream(*program_)) {
    events_.push_back({});
    return id;
  }
  std::vector<std::uint32_t>& counts = capture_ ? capture_->events : given_;
  const std::uint32_t ticket = ++counts[to_index(stream)];
  give(stream, RecordEvent{});
  events_.push_back({stream, ticket, capture_.has_value()});
  return id;
}

void HostSession::wait(StreamId stream, EventId id) {
  const std::uint32_t index = static_cast<std::uint32_t>(id) - first_event_;
  if (index >= events_.size() || stream == upload_stream(*program_)) return;
  const Event& event = events_[index];
  if (!event.source || *event.source == stream) return;
  assert(event.captured == capture_.has_value());
  if (capture_) capture_->waits = true;
  give(stream, WaitEvent{*event.source, event.ticket});
}

void HostSession::begin_capture() {
  assert(!capture_);
  const auto streams = static_cast<std::size_t>(program_->streams);
  capture_.emplace();
  capture_->work.resize(streams);
  capture_->events.resize(streams);
}

GraphId HostSession::end_capture() {
  assert(capture_);
  graphs_.push_back(std::move(*capture_));
  capture_.reset();
  return static_cast<GraphId>(static_cast<std::uint32_t>(graphs_.size() - 1));
}

void HostSession::launch(GraphId id) {
  assert(!capture_);
  const Graph& graph = graphs_[to_index(id)];
  std::shared_ptr<const std::vector<std::uint32_t>> first_tickets;
  if (graph.waits) first_tickets = std::make_shared<const std::vector<std::uint32_t>>(given_);
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    if (graph.work[i].empty()) continue;
    post(static_cast<StreamId>(static_cast<std::uint32_t>(i)), ReplayWork{&graph.work[i], first_tickets});
    given_[i] += graph.events[i];
  }
}

void HostSession::give(StreamId stream, StreamWork work) {
  if (capture_) {
    capture_->work[to_index(stream)].push_back(work);
  } else {
    post(stream, work);
  }
}

void HostSession::post(StreamId stream, StreamCommand command) {
  if (context_.turns != nullptr) context_.turns->take(&context_);
  busy_[to_index(stream)] = 1;
  streams_[to_index(stream)].post(std::move(command));
}

Result<void> HostSession::synchronize() {
  assert(!capture_);
  for (std::size_t i = 1; i < streams_.size(); ++i) {
    if (busy_[i] == 0) continue;
    ++given_[i];
    streams_[i].post(StreamWork{RecordEvent{}});
  }
  streams_[0].run_posted();
  for (std::size_t i = 1; i < streams_.size(); ++i) {
    if (busy_[i] != 0) context_.events[i].wait(given_[i]);
    busy_[i] = 0;
  }
  first_event_ += static_cast<std::uint32_t>(events_.size());
  events_.clear();
  if (context_.failure.failed()) return tl::unexpected<Error>(*context_.failure.take());
  return {};
}

std::span<float> HostSession::input(std::size_t input_index, int slot) {
  const ProgramInput& input = program_->inputs[input_index];
  const View whole{input.buffer, 0, {}, {}};
  return {parts_.memory.first_element(whole, slot), static_cast<std::size_t>(element_count(input.shape))};
}

void HostSession::upload(std::size_t /*input_index*/, int /*slot*/, StreamId /*stream*/) {}

Result<std::vector<float>> HostSession::read_state(std::size_t state_index) {
  const View& view = program_->states[state_index].view;
  const float* const from = parts_.memory.first_element(view, 0);
  return std::vector<float>(from, from + element_count(view.shape));
}

Result<void> HostSession::write_state(std::size_t state_index, std::span<const float> values) {
  const ProgramState& state = program_->states[state_index];
  COHORT_CHECK(check_state_values(state, values.size()));
  std::copy(values.begin(), values.end(), parts_.memory.first_element(state.view, 0));
  return {};
}

Result<std::vector<float>> HostSession::read_output(std::size_t output_index) {
  const View& view = program_->outputs[output_index].view;
  const float* const first = parts_.memory.first_element(view, 0);
  if (view.strides == dense_strides(view.shape, Layout::kNchw))
    return std::vector<float>(first, first + element_count(view.shape));
  std::vector<float> values;
  values.reserve(static_cast<std::size_t>(element_count(view.shape)));
  append_elements(view, 0, first, values);
  return values;
}

}  // namespace cohort
