// Training steps are profiled op by op, the updates of what lives across steps among them.

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>

#include "executor/host/host_session.hpp"
#include "executor/profile/profile.hpp"
#include "executor/reference/reference_kernels.hpp"
#include "models/builder.hpp"
#include "models/model.hpp"
#include "models/training/differentiate.hpp"
#include "tracer/profile_record.hpp"

namespace cohort::testing {
namespace {

/// A layer, a batch normalisation and a rectifier, trained with momentum.
LoadedModel normalized_step() {
  ModelBuilder builder("normalized");
  TensorId x = builder.linear("fc", builder.input("x", {4, 6}), 5);
  std::vector<TensorId> inputs{x};
  for (const char* const part : {"scale", "shift", "mean", "variance"})
    inputs.push_back(builder.weight(fmt::format("norm.{}", part), {5}));
  x = builder.add("norm", BatchNormalization{}, inputs);
  builder.output(builder.relu("relu", x));
  Model model = builder.finish().value();
  Weights weights = random_weights(model, 0);
  TrainingSpec spec;
  spec.update = optimizer_from("momentum").value();
  return differentiate({std::move(model), std::move(weights)}, spec).value().loaded;
}

/// What the records that were timed alone are of, by the strategy that they ran with.
std::set<std::string> timed_alone(const Trace& trace, std::string_view strategy) {
  std::set<std::string> kinds;
  for (const Slice& slice : trace.slices) {
    const auto record = profile_record_of(trace, slice);
    if (record && record->strategy == strategy && trace.tracks[to_index(slice.track)].thread == "ops alone")
      kinds.insert(record->signature.substr(0, record->signature.find(' ')));
  }
  return kinds;
}

TEST(TrainingProfiles, TimeUpdatesOfStates) {
  HostBackend device(make_reference_kernels(1), reference_device_info(1));
  ProfileOptions options;
  options.fused_widths = {2};
  options.footprints.emplace();  // none
  options.limits = {2, 2, Nanoseconds(0), std::chrono::hours(1)};
  const auto trace = profile_model(device, normalized_step(), options, CancelToken());
  ASSERT_TRUE(trace) << trace.error().message;
  const std::set<std::string> alone = timed_alone(*trace, "serial");
  for (const char* const kind : {"SgdUpdate", "RunningAverage", "BatchNormalizationGradient", "SoftmaxCrossEntropy"})
    EXPECT_TRUE(alone.contains(kind)) << kind;
  EXPECT_TRUE(timed_alone(*trace, "strided_batch").contains("SgdUpdate"));
}

}  // namespace
}  // namespace cohort::testing
