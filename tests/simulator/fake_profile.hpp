#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "models/model.hpp"
#include "simulator/costs/cost_table.hpp"
#include "simulator/plan/plan.hpp"
#include "tracer/profile_record.hpp"

namespace cohort {

/// One timing that a made-up profile may hold.
struct FakeCall {
  std::string op;
  Strategy strategy = Strategy::kSerial;
  int width = 1;
  int threads = 1;
  int neighbours = 0;
};

/// Nanoseconds of a call; absent: not recorded.
using FakeTimes = std::function<std::optional<std::int64_t>(const FakeCall& call)>;

/// What profiling `model` on a device of `cores` cores would record: each op serial on one thread
/// and on all, beside neighbours, and in every fused form at widths 4 and 16; two sizes of copies.
std::vector<ProfileRecord> fake_records(const Model& model, int cores, const FakeTimes& times);

/// A record with no footprint, workspace or neighbours.
ProfileRecord record(std::string signature, Strategy strategy, int width, int threads, std::int64_t nanoseconds);

/// A profile trace of the records.
Trace fake_profile(const std::vector<ProfileRecord>& records, int cores);

/// [minibatch, 3, 8, 8] -> conv1 -> relu -> conv2 -> flatten -> fc1 -> fc2, simplified.
Model fake_cnn(std::int64_t minibatch);
/// Two fully connected layers of the given width.
Model fake_mlp(std::int64_t width);

/// A plan of `count` equal members without groups, generated input.
Plan fake_base(std::size_t count);

}  // namespace cohort
