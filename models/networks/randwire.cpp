// Randomly wired network, small regime: Xie, Kirillov, Girshick, He, "Exploring Randomly Wired Neural
// Networks for Image Recognition", ICCV 2019, arXiv:1904.01569, over Watts-Strogatz graphs WS(4, 0.75)
// of 32 nodes (Watts, Strogatz, Nature 393, 1998). What the wiring leaves unordered can run side by
// side. Equal seeds give equal networks.

#include <set>

#include "base/random.hpp"
#include "models/networks/blocks.hpp"
#include "models/networks/makers.hpp"

namespace cohort {

namespace {

/// For each node those it reads, all before it.
using Wiring = std::vector<std::set<std::int64_t>>;

/// A ring in which each node knows its two nearest on both sides; each edge to a later node moves to a
/// random one with probability 0.75. Edges lead from lower to higher numbers.
Wiring watts_strogatz(std::int64_t nodes, Random& random) {
  constexpr std::int64_t kNeighbours = 2;  // on each side
  std::vector<std::set<std::int64_t>> known(static_cast<std::size_t>(nodes));
  const auto edges_of = [&](std::int64_t node) -> auto& { return known[static_cast<std::size_t>(node)]; };
  for (std::int64_t node = 0; node < nodes; ++node) {
    for (std::int64_t step = 1; step <= kNeighbours; ++step) {
      edges_of(node).insert((node + step) % nodes);
      edges_of((node + step) % nodes).insert(node);
    }
  }
  for (std::int64_t step = 1; step <= kNeighbours; ++step) {
    for (std::int64_t node = 0; node < nodes; ++node) {
      const std::int64_t old = (node + step) % nodes;
      if (random.uniform(0, 1) >= 0.75F || !edges_of(node).contains(old)) continue;
      const auto other = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(nodes)));
      if (other == node || edges_of(node).contains(other)) continue;
      edges_of(node).erase(old);
      edges_of(old).erase(node);
      edges_of(node).insert(other);
      edges_of(other).insert(node);
    }
  }
  Wiring wiring(static_cast<std::size_t>(nodes));
  for (std::int64_t node = 0; node < nodes; ++node) {
    for (const std::int64_t other : edges_of(node)) {
      if (other < node) wiring[static_cast<std::size_t>(node)].insert(other);
    }
  }
  return wiring;
}

/// Separable 3x3 convolution between a rectifier and a normalisation.
TensorId triplet(ModelBuilder& b, const std::string& name, TensorId x, std::int64_t channels, std::int64_t stride) {
  const std::int64_t channels_in = b.shape(x).size() > 1 ? b.shape(x)[1] : 0;
  TensorId y = b.relu(name + ".relu", x);
  y = plain_convolution(b, name + ".depthwise", y, same_convolution(channels_in, 3, stride, channels_in));
  return normalized_convolution(b, name + ".pointwise", name + ".bn", y, {.channels = channels});
}

/// Each input times a weight of its own, then their sum; a single input as it is.
TensorId weighted_sum(ModelBuilder& b, const std::string& name, const std::vector<TensorId>& inputs) {
  if (inputs.size() == 1) return inputs[0];
  TensorId sum{};
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const TensorId weight = b.weight(fmt::format("{}.weight{}", name, i), {1});
    const TensorId term = b.add(fmt::format("{}.times{}", name, i), Binary{BinaryKind::kMul}, {inputs[i], weight});
    sum = i == 0 ? term : add(b, fmt::format("{}.plus{}", name, i), sum, term);
  }
  return sum;
}

/// A stage: halves the image in the nodes that read its input, and adds up what no node reads (the paper's
/// mean but for a factor, which the normalisation of what reads it takes up).
TensorId stage(ModelBuilder& b, const std::string& name, TensorId x, std::int64_t channels, const Wiring& wiring) {
  std::vector<TensorId> outputs;
  std::set<std::int64_t> unread;
  for (std::size_t node = 0; node < wiring.size(); ++node) {
    const std::string node_name = fmt::format("{}.node{}", name, node);
    std::vector<TensorId> inputs;
    for (const std::int64_t from : wiring[node]) {
      inputs.push_back(outputs[static_cast<std::size_t>(from)]);
      unread.erase(from);
    }
    const bool first = inputs.empty();
    const TensorId y = first ? x : weighted_sum(b, node_name, inputs);
    outputs.push_back(triplet(b, node_name, y, channels, first ? 2 : 1));
    unread.insert(static_cast<std::int64_t>(node));
  }
  std::vector<TensorId> last;
  for (const std::int64_t node : unread) last.push_back(outputs[static_cast<std::size_t>(node)]);
  TensorId sum = last[0];
  for (std::size_t i = 1; i < last.size(); ++i) sum = add(b, fmt::format("{}.sum{}", name, i), sum, last[i]);
  return sum;
}

Result<Model> make_randwire(std::int64_t minibatch, const NetworkArguments& arguments) {
  COHORT_TRY(const std::int64_t channels, integer_argument(arguments, "channels", 2, 1024));
  COHORT_TRY(const std::int64_t nodes, integer_argument(arguments, "nodes", 5, 256));
  COHORT_TRY(const std::int64_t seed, integer_argument(arguments, "wiring", 0, INT32_MAX));
  COHORT_TRY(const std::int64_t classes, classes_argument(arguments));
  ModelBuilder b("randwire");
  TensorId x = b.input("input", {minibatch, 3, 224, 224});
  x = normalized_convolution(b, "conv1", "bn1", x, same_convolution(channels / 2, 3, 2));
  x = b.relu("relu1", x);
  x = normalized_convolution(b, "conv2", "bn2", x, same_convolution(channels, 3, 2));
  for (std::int64_t i = 0; i < 3; ++i) {
    Random random(derive_seed(static_cast<std::uint64_t>(seed), static_cast<std::uint64_t>(i)));
    x = stage(b, fmt::format("stage{}", i + 3), x, channels << i, watts_strogatz(nodes, random));
  }
  x = b.relu("relu6", x);
  x = b.relu("relu7", normalized_convolution(b, "conv6", "bn6", x, {.channels = 1280}));
  return finish_classifier(b, x, classes);
}

}  // namespace

Network randwire() {
  return {"randwire",
          "randomly wired network on 3x224x224, 32 nodes a stage (Xie et al., arXiv:1904.01569)",
          {{"channels", "78", "channels of the first stage of nodes; the others have 2 and 4 times as many"},
           {"nodes", "32", "nodes of each of three stages"},
           {"wiring", "0", "seed of the wiring"},
           {"classes", "1000", "number of outputs"}},
          make_randwire};
}

}  // namespace cohort
