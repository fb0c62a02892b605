#include "tests/simulator/random_planning.hpp"

#include <map>
#include <string>
#include <tuple>

#include "base/random.hpp"
#include "models/builder.hpp"
#include "tests/simulator/fake_profile.hpp"

namespace cohort {
namespace {

/// Convolutions first, as they need the picture; then layers. Names tell which they are.
Model random_model(Random& random, std::size_t ops) {
  ModelBuilder builder("random");
  TensorId x = builder.input("x", {2, 3, 8, 8});
  const std::size_t convolutions = random.below(ops);
  for (std::size_t i = 0; i < convolutions; ++i) {
    x = builder.convolution("conv" + std::to_string(i), x, {.channels = 4, .kernel = 3, .pad = 1});
  }
  x = builder.flatten("flatten", x);
  for (std::size_t i = convolutions; i < ops; ++i) {
    x = builder.linear("fc" + std::to_string(i), x, 4 + static_cast<std::int64_t>(i % 5));
  }
  builder.output(x);
  return builder.finish().value();
}

/// A convolution, `towers` of two side by side, their sum; again until there are so many ops.
Model tower_model(std::size_t ops, int towers) {
  ModelBuilder builder("towers");
  TensorId x = builder.input("x", {2, 3, 8, 8});
  std::size_t made = 0;
  const auto convolution = [&](TensorId from) {
    return builder.convolution("conv" + std::to_string(made++), from, {.channels = 4, .kernel = 3, .pad = 1});
  };
  while (made < ops) {
    x = convolution(x);
    TensorId sum = convolution(convolution(x));
    for (int tower = 1; tower < towers; ++tower) {
      const TensorId y = convolution(convolution(x));
      sum = builder.add("sum" + std::to_string(made++), Binary{BinaryKind::kAdd}, {sum, y});
    }
    x = sum;
  }
  builder.output(x);
  return builder.finish().value();
}

/// What is said once of an op: its time, and the factors of its other forms.
struct OpPrices {
  double time = 0, all_cores = 0, beside = 0, dense = 0, grouped = 0, strided = 0;
};

}  // namespace

RandomPlanning::RandomPlanning(std::uint64_t seed, const Size& size) {
  Random random(seed);
  model_ = size.towers > 1 ? tower_model(size.ops, size.towers) : random_model(random, size.ops);
  std::map<std::string, OpPrices> prices;
  for (const Op& op : model_.ops) {
    OpPrices& price = prices[op.name];
    price.time = size.on_gpu ? random.uniform(2'000, 60'000) : random.uniform(20'000, 400'000);
    price.all_cores = random.uniform(0.9F / static_cast<float>(size.cores), 1.2F);
    price.beside = random.uniform(1.0F, 1.6F);
    price.dense = random.uniform(0.2F, 1.5F);
    price.grouped = random.uniform(0.3F, 2.0F);
    price.strided = random.uniform(0.2F, 1.5F);
  }
  const FakeTimes times = [&](const FakeCall& call) -> std::optional<std::int64_t> {
    const OpPrices& price = prices[call.op];
    const bool convolution = call.op.starts_with("conv");
    if (call.op == "flatten") return call.strategy == Strategy::kSerial ? std::optional(2'000) : std::nullopt;
    double time = price.time * call.width;
    if (call.threads > 1) time *= price.all_cores;
    if (call.neighbours > 0) time *= price.beside;
    if (call.strategy == Strategy::kDenseConvolution) time *= price.dense;
    if (call.strategy == Strategy::kGroupedConvolution) time *= price.grouped;
    if (call.strategy == Strategy::kStridedBatch) time *= price.strided;
    const bool other =
        convolution ? call.strategy == Strategy::kStridedBatch : call.strategy == Strategy::kGroupedConvolution;
    return other ? std::nullopt : std::optional(static_cast<std::int64_t>(time));
  };
  std::vector<ProfileRecord> records = fake_records(model_, size.cores, times);
  for (ProfileRecord& each : records) {
    if (each.signature.starts_with("Copy ")) each.time *= size.copy_time;
  }
  const auto decoding = static_cast<std::int64_t>(Random(derive_seed(seed, 3)).below(500'000));
  records.push_back(record(std::string(kInputDecodeRecord), Strategy::kSerial, 1, 1, decoding));
  costs_.emplace(records);
  catalog_ = std::make_unique<RecordedCatalog>(*costs_, size.cores);
  base_ = fake_base(size.members);
  models_.assign(size.members, &model_);
  device_.device = "fake";
  if (size.on_gpu) gpu_.emplace(*published_gpu_profile("NVIDIA H100 80GB HBM3"));
  device_.cores = size.cores;
  device_.step_overhead = Nanoseconds(random.below(5'000));
  device_.handoff_latency = Nanoseconds(random.below(10'000));
}

std::unique_ptr<RandomPlanning> RandomPlanning::small(std::uint64_t seed) {
  Random random(derive_seed(seed, 1));
  Size size;
  size.ops = 2 + random.below(3);
  size.members = 2 + random.below(3);
  size.cores = static_cast<int>(2 + random.below(3));
  return std::make_unique<RandomPlanning>(seed, size);
}

std::unique_ptr<RandomPlanning> RandomPlanning::small_on_gpu(std::uint64_t seed) {
  Random random(derive_seed(seed, 2));
  Size size;
  size.ops = 2 + random.below(3);
  size.members = 2 + random.below(3);
  size.cores = 1;
  size.on_gpu = true;
  return std::make_unique<RandomPlanning>(seed, size);
}

PlanningCase RandomPlanning::planning_case() {
  PlanningCase planning_case{&base_, models_, &*costs_, device_, catalog_.get()};
  if (gpu_) planning_case.gpu = &*gpu_;
  return planning_case;
}

}  // namespace cohort
