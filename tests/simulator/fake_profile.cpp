#include "tests/simulator/fake_profile.hpp"

#include "models/builder.hpp"

namespace cohort {
namespace {

Model finished(ModelBuilder& builder) {
  Model model = builder.finish().value();
  Weights weights = random_weights(model, 0);
  return simplify({std::move(model), std::move(weights)}).model;
}

}  // namespace

ProfileRecord record(std::string signature, Strategy strategy, int width, int threads, std::int64_t nanoseconds) {
  ProfileRecord result;
  result.signature = std::move(signature);
  result.strategy = std::string(to_string(strategy));
  result.width = width;
  result.threads = threads;
  result.algorithm = "only";
  result.time = Nanoseconds(nanoseconds);
  return result;
}

std::vector<ProfileRecord> fake_records(const Model& model, int cores, const FakeTimes& times) {
  std::vector<ProfileRecord> records;
  const auto add = [&](const Op& op, const FakeCall& call) {
    const auto time = times(call);
    if (!time) return;
    records.push_back(record(signature_of(model, op), call.strategy, call.width, call.threads, *time));
    records.back().neighbours = call.neighbours;
  };
  for (const Op& op : model.ops) {
    for (const int threads : cores > 1 ? std::vector{1, cores} : std::vector{1}) {
      add(op, {op.name, Strategy::kSerial, 1, threads, 0});
      if (threads == 1 && cores > 1) add(op, {op.name, Strategy::kSerial, 1, 1, cores - 1});
      for (const Strategy form :
           {Strategy::kDenseConvolution, Strategy::kGroupedConvolution, Strategy::kStridedBatch}) {
        for (const int width : {4, 16}) add(op, {op.name, form, width, threads, 0});
      }
    }
  }
  records.push_back(record("Copy [10]", Strategy::kSerial, 1, 1, 10));
  records.push_back(record("Copy [1000]", Strategy::kSerial, 1, 1, 1000));
  return records;
}

Trace fake_profile(const std::vector<ProfileRecord>& records, int cores) {
  Trace trace;
  trace.info.kind = TraceKind::kProfile;
  trace.info.device.name = "fake";
  trace.info.device.cores = cores;
  const TrackId track = trace.add_track("profile", "ops");
  for (const ProfileRecord& each : records) add_profile_record(trace, track, "op", Nanoseconds(0), each);
  return trace;
}

Model fake_cnn(std::int64_t minibatch) {
  ModelBuilder builder("cnn");
  TensorId x = builder.input("x", {minibatch, 3, 8, 8});
  x = builder.convolution("conv1", x, {.channels = 4, .kernel = 3});
  x = builder.relu("relu1", x);
  x = builder.convolution("conv2", x, {.channels = 4, .kernel = 3});
  x = builder.flatten("flatten", x);
  x = builder.linear("fc1", x, 16);
  x = builder.linear("fc2", x, 8);
  builder.output(x);
  return finished(builder);
}

Model fake_mlp(std::int64_t width) {
  ModelBuilder builder("mlp");
  TensorId x = builder.input("x", {2, 8});
  x = builder.linear("fc1", x, width);
  x = builder.linear("fc2", x, 4);
  builder.output(x);
  return finished(builder);
}

Plan fake_base(std::size_t count) {
  Plan plan;
  for (std::size_t i = 0; i < count; ++i) plan.members.push_back({"m" + std::to_string(i), {"fake", {}, 2}, i});
  return plan;
}

}  // namespace cohort
