#include "calibrate/probes.hpp"

#include <map>
#include <optional>

#include "calibrate/benchmarks.hpp"
#include "executor/device_error.hpp"

namespace cohort::calibrate {
namespace {

constexpr double kShare = 0.5;  // of every SM's threads: what they are held against finds room beside them

class Probes final : public ProbeKernels {
 public:
  explicit Probes(int device) : facts_(facts_of(device)), buffers_(facts_) {}

  [[nodiscard]] std::vector<std::string> names() const override {
    std::vector<std::string> names;
    for (const std::string_view probe : kProbes) {
      if (can_run(facts_, probe)) names.emplace_back(probe);
    }
    return names;
  }

  Result<void> start(const std::string& name, Nanoseconds length) override {
    return guarded([&]() -> Result<void> {
      const auto [place, is_new] = scaled_.try_emplace({name, length});
      if (is_new) {
        place->second = probe_workload(facts_, buffers_, name, kShare);
        scale_to(place->second, length);
      }
      running_ = &place->second;
      begin_.record(stream_);
      running_->start(running_->amount, 0, stream_);
      end_.record(stream_);
      return {};
    });
  }

  Result<MicrobenchmarkRecord> finish() override {
    return guarded([&]() -> Result<MicrobenchmarkRecord> {
      stream_.synchronize();
      MicrobenchmarkRecord record;
      record.benchmark = Microbenchmark::kReplicas;
      record.kernel = running_->kernel;
      record.launch = running_->launch;
      record.work = running_->work(running_->amount);
      record.time = end_.since(begin_);
      return record;
    });
  }

 private:
  template <class Function>
  auto guarded(Function function) -> decltype(function()) {
    try {
      // Another library may have made another device that of this thread.
      check(cudaSetDevice(facts_.index), "cudaSetDevice");
      return function();
    } catch (const DeviceError& error) {
      return fail(ErrorCode::kDeviceMissing, "probe: {}", error.what());
    }
  }

  DeviceFacts facts_;
  Buffers buffers_;
  Stream stream_;
  Event begin_;
  Event end_;
  std::map<std::pair<std::string, Nanoseconds>, Workload> scaled_;
  const Workload* running_ = nullptr;
};

}  // namespace

std::unique_ptr<ProbeKernels> make_probes(int device) { return std::make_unique<Probes>(device); }

}  // namespace cohort::calibrate
