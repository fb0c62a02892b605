#include "devices/cupti_tracer.hpp"

#include <mutex>
#include <utility>

#include "base/cuda_libraries.hpp"

namespace cohort {

/// Told by the threads that launch, each of which has a stack of its own in CUPTI. Remembers what was given in memory
/// of its own; labels are told at the end, so that a launch costs no more than a push and a pop.
class CuptiTracer::Sink final : public TaskSink {
 public:
  Sink(CuptiSession& session, const Program& program, std::string prefix, std::uint64_t& next_id)
      : session_(session), program_(program), prefix_(std::move(prefix)), next_id_(next_id) {
    constexpr std::size_t kSteps = 64;
    given_.reserve(kSteps * program.steps.size());
  }

  void begin(StepId /*step*/, StreamId /*stream*/) noexcept override {}
  void end(StepId /*step*/, StreamId /*stream*/) noexcept override {}
  [[nodiscard]] bool needs_times() const noexcept override { return false; }
  void giving(StepId step, StreamId /*stream*/) noexcept override { session_.push(id_of(step)); }
  void given(StepId /*step*/, StreamId /*stream*/) noexcept override { session_.pop(); }

  void tell_labels() {
    for (const auto& [id, step_id] : given_) {
      const Step& step = program_.step(step_id);
      session_.label(id, prefix_ + step.task, step.op, member_ranges(step.members));
    }
  }

 private:
  std::uint64_t id_of(StepId step) noexcept {
    const std::lock_guard lock(mutex_);
    given_.emplace_back(next_id_, step);
    return next_id_++;
  }

  CuptiSession& session_;
  const Program& program_;
  std::string prefix_;
  std::mutex mutex_;
  std::uint64_t& next_id_;
  std::vector<std::pair<std::uint64_t, StepId>> given_;
};

CuptiTracer::CuptiTracer() = default;
CuptiTracer::CuptiTracer(const CuptiPlugin& plugin) : plugin_(&plugin) {}
CuptiTracer::~CuptiTracer() = default;

Result<void> CuptiTracer::start() {
  if (plugin_ == nullptr) {
    COHORT_CHECK(probe_cuda_driver());
    COHORT_TRY(const SharedLibrary module, open_plugin("cupti"));
    COHORT_TRY(const auto entry, module.function<CuptiPluginEntry>(kCuptiPluginEntry));
    plugin_ = entry();
  }
  sinks_.clear();
  next_id_ = 1;
  CuptiOptions options;
  options.ranges = false;  // the executor marks the same steps by NVTX, for other tools
  COHORT_TRY(session_, plugin_->start(options));
  return {};
}

TaskSink& CuptiTracer::watch(const Program& program, std::string_view prefix) {
  return *sinks_.emplace_back(std::make_unique<Sink>(*session_, program, std::string(prefix), next_id_));
}

Result<Trace> CuptiTracer::stop() {
  for (const auto& sink : sinks_) sink->tell_labels();
  auto trace = session_->stop();
  sinks_.clear();
  session_.reset();
  return trace;
}

std::unique_ptr<DeviceTracer> tracer_of(std::string_view device) {
  if (device.starts_with("cuda")) return std::make_unique<CuptiTracer>();
  return nullptr;
}

}  // namespace cohort
