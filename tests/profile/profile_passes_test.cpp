// A profile times every case in several passes, so that a disturbance meets a part of each case only.

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "executor/host/host_session.hpp"
#include "executor/profile/profile.hpp"
#include "executor/reference/reference_kernels.hpp"
#include "executor/trace_sink.hpp"
#include "tests/strategies/batch.hpp"
#include "tracer/profile_record.hpp"

namespace cohort::testing {
namespace {

struct Profiled {
  Trace trace;
  std::vector<std::string> progress;
};

Profiled profile(int passes, TimingLimits limits) {
  HostBackend device(make_reference_kernels(2), reference_device_info(2));
  const Batch batch = equal_members("mlp", 1, {{"hidden", "16"}, {"inputs", "16"}}, 1);
  Profiled profiled;
  ProfileOptions options;
  options.fused_widths = {2};
  options.footprints.emplace();  // none
  options.passes = passes;
  options.limits = limits;
  options.progress = [&](const std::string& what) { profiled.progress.push_back(what); };
  auto trace = profile_model(device, *batch.loaded[0], options, CancelToken());
  EXPECT_TRUE(trace) << trace.error().message;
  if (trace) profiled.trace = std::move(*trace);
  return profiled;
}

/// How many records each case has, by what tells cases apart.
std::map<std::string, int> counts(const Trace& trace, std::string_view track) {
  std::map<std::string, int> counts;
  for (const Slice& slice : trace.slices) {
    if (trace.tracks[to_index(slice.track)].thread != track) continue;
    const auto record = profile_record_of(trace, slice);
    if (record)
      ++counts[fmt::format("{} {} x{} threads {} beside {}", record->signature, record->strategy, record->width,
                           record->threads, record->neighbours)];
  }
  return counts;
}

TEST(ProfilePasses, DivideTheSamplesOfACaseAmongThem) {
  constexpr int kSamples = 6;
  const TimingLimits limits{kSamples, kSamples, Nanoseconds(0), std::chrono::hours(1)};
  const Profiled one = profile(1, limits), three = profile(3, limits);
  const auto in_one = counts(one.trace, "ops alone"), in_three = counts(three.trace, "ops alone");
  ASSERT_FALSE(in_one.empty());
  EXPECT_EQ(in_one.size(), in_three.size());
  for (const auto& [way, count] : in_three) EXPECT_GE(count, kSamples) << way;
  EXPECT_EQ(counts(one.trace, "first executions"), counts(three.trace, "first executions")) << "only of the first pass";
  EXPECT_EQ(three.trace.info.wall("model untraced")->samples.size(), 15U);
}

/// What sinks saw before they were taken away.
struct Watched {
  int sinks = 0;
  std::size_t slices = 0;
  std::size_t kinds_dropped = 0;
};

/// Another session, whose sinks are looked at.
class WatchedSession final : public Session {
 public:
  WatchedSession(std::unique_ptr<Session> whole, Watched& watched) : whole_(std::move(whole)), watched_(watched) {}

  void launch(StepId step, StreamId stream, int slot) override { whole_->launch(step, stream, slot); }
  EventId record(StreamId stream) override { return whole_->record(stream); }
  void wait(StreamId stream, EventId event) override { whole_->wait(stream, event); }
  void begin_capture() override { whole_->begin_capture(); }
  GraphId end_capture() override { return whole_->end_capture(); }
  void launch(GraphId graph) override { whole_->launch(graph); }
  Result<void> synchronize() override { return whole_->synchronize(); }
  std::span<float> input(std::size_t index, int slot) override { return whole_->input(index, slot); }
  void upload(std::size_t index, int slot, StreamId stream) override { whole_->upload(index, slot, stream); }
  [[nodiscard]] bool uploads_overlap_steps() const override { return whole_->uploads_overlap_steps(); }
  Result<std::vector<float>> read_output(std::size_t index) override { return whole_->read_output(index); }
  Result<std::vector<float>> read_state(std::size_t index) override { return whole_->read_state(index); }
  Result<void> write_state(std::size_t index, std::span<const float> values) override {
    return whole_->write_state(index, values);
  }
  void set_sink(TaskSink* sink) override {
    if (const auto* const recorded = dynamic_cast<const TraceSink*>(std::exchange(sink_, sink))) {
      Trace trace;
      recorded->add_to(trace, Nanoseconds(0));
      ++watched_.sinks;
      watched_.slices += trace.slices.size();
      watched_.kinds_dropped += trace.info.dropped.size();
    }
    whole_->set_sink(sink);
  }

 private:
  std::unique_ptr<Session> whole_;
  Watched& watched_;
  TaskSink* sink_ = nullptr;
};

class WatchedBackend final : public Backend {
 public:
  explicit WatchedBackend(Watched& watched) : watched_(watched) {}

  [[nodiscard]] const DeviceInfo& info() const override { return whole_.info(); }
  [[nodiscard]] const OpCatalog& catalog() const override { return whole_.catalog(); }
  Result<std::unique_ptr<Session>> load(const Program& program, std::span<const Weights* const> weights) override {
    COHORT_TRY(auto session, whole_.load(program, weights));
    return std::make_unique<WatchedSession>(std::move(session), watched_);
  }

 private:
  HostBackend whole_{make_reference_kernels(2), reference_device_info(2)};
  Watched& watched_;
};

TEST(ProfilePerturbation, IsThatOfTheSinkOfMeasuredRunsWithRoomForEveryStep) {
  Watched watched;
  WatchedBackend device(watched);
  const Batch batch = equal_members("mlp", 1, {{"hidden", "16"}, {"inputs", "16"}}, 1);
  ProfileOptions options;
  options.fused_widths = {};
  options.footprints.emplace();
  options.passes = 1;
  options.limits = {2, 2, Nanoseconds(0), Nanoseconds(4)};
  const auto trace = profile_model(device, *batch.loaded[0], options, CancelToken());
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(trace->info.wall("model traced")->samples.size(), 15U);
  EXPECT_EQ(watched.sinks, 15);
  EXPECT_GE(watched.slices, 15 * batch.loaded[0]->model.ops.size());
  EXPECT_EQ(watched.kinds_dropped, 0U);
}

TEST(ProfilePasses, TakeEveryOpInTurnWhileWarm) {
  const TimingLimits limits{2, 2, Nanoseconds(0), std::chrono::hours(1)};
  const Profiled profiled = profile(2, limits);
  std::vector<std::string> warm;
  for (const std::string& line : profiled.progress) {
    if (line.find("warm") != std::string::npos)
      warm.push_back(line.substr(0, line.find(' ')) + line.substr(line.rfind(',')));
  }
  ASSERT_GE(warm.size(), 4U);
  ASSERT_EQ(warm.size() % 2, 0U);
  for (std::size_t i = 0; i < warm.size() / 2; ++i) {
    EXPECT_NE(warm[i].find("pass 1 of 2"), std::string::npos) << warm[i];
    EXPECT_EQ(warm[i].substr(0, warm[i].find(',')), warm[i + warm.size() / 2].substr(0, warm[i].find(',')));
  }
}

TEST(ProfilePasses, EndWhereACaseHasTakenLongEnough) {
  const TimingLimits limits{1, 1, Nanoseconds(0), Nanoseconds(4)};  // any call takes longer
  const auto all = counts(profile(4, limits).trace, "ops alone");
  ASSERT_FALSE(all.empty());
  for (const auto& [way, count] : all) {
    if (way.find(" serial x1 ") != std::string::npos && way.ends_with("beside 0")) {
      EXPECT_EQ(count, 1) << way;
    }
  }
}

}  // namespace
}  // namespace cohort::testing
