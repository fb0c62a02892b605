#include <string>
#include <utility>

#include "base/cuda_libraries.hpp"
#include "tracer/cupti/collector.hpp"
#include "tracer/cupti/decoder.hpp"

namespace cohort::cupti {
namespace {

/// Spools into memory and decodes at the end.
class Session final : public CuptiSession {
 public:
  Session() = default;

  Result<void> start(const CuptiOptions& options) {
    COHORT_CHECK(probe_cuda_driver());
    spool_ = SpoolWriter::header(0);
    COHORT_TRY(collector_, Collector::start(options, [this](std::string_view chunks) { spool_.append(chunks); }));
    return {};
  }

  void label(std::uint64_t id, const std::string& task, const std::string& op, const std::string& members) override {
    collector_->label(id, {task, op, members});
  }
  void push(std::uint64_t id) noexcept override { collector_->push(id); }
  void pop() noexcept override { collector_->pop(); }

  Result<Trace> stop() override {
    const auto stopped = collector_->stop(true);
    collector_.reset();
    if (!stopped) return tl::unexpected<Error>(Error{ErrorCode::kRecordingIncomplete, stopped.error().message});
    return decode({spool_});
  }

 private:
  std::string spool_;  ///< the collector gives chunks one at a time
  std::unique_ptr<Collector> collector_;
};

Result<std::unique_ptr<CuptiSession>> start(const CuptiOptions& options) {
  auto session = std::make_unique<Session>();
  COHORT_CHECK(session->start(options));
  return session;
}

constexpr CuptiPlugin kPlugin{&start, &decode};

}  // namespace
}  // namespace cohort::cupti

extern "C" COHORT_PLUGIN_EXPORT const cohort::CuptiPlugin* cohort_cupti_plugin() { return &cohort::cupti::kPlugin; }
