#include "training/prepared_sweep.hpp"

#include <algorithm>

#include "models/networks/networks.hpp"

namespace cohort {
namespace {

/// Arguments that follow from the data, of a built-in network that has them.
std::map<std::string, std::string> arguments_of_data(const Sweep& sweep, const DataSet& data) {
  std::map<std::string, std::string> arguments;
  const auto known = networks();
  const auto network =
      std::find_if(known.begin(), known.end(), [&](const Network& n) { return n.name == sweep.model; });
  if (network == known.end()) return arguments;
  const auto set = [&](std::string_view name, std::int64_t value) {
    for (const NetworkArgument& argument : network->arguments) {
      // What the network has anyway goes without saying, so that a profile of it fits.
      if (argument.name == name && value > 0 && argument.default_value != std::to_string(value))
        arguments.emplace(name, std::to_string(value));
    }
  };
  // A network with an argument for its steps tells something at each of them.
  const bool sequences =
      data.shape.size() == 2 && std::any_of(network->arguments.begin(), network->arguments.end(),
                                            [](const NetworkArgument& argument) { return argument.name == "steps"; });
  const bool classifies = sweep.spec.loss == LossKind::kCrossEntropy;
  const auto targets = static_cast<std::int64_t>(data.target_size) / (sequences ? data.shape.front() : 1);
  set("classes", classifies ? data.class_count() : targets);
  if (!data.images.empty()) return arguments;
  set("inputs", sequences ? data.shape.back() : element_count(data.shape));
  if (sequences) set("steps", data.shape.front());
  return arguments;
}

void make_members(PreparedSweep& prepared, const std::map<std::string, std::string>& from_data) {
  Hyperparameters base;
  base.seed = prepared.sweep.seed;
  while (auto trial = prepared.search->ask()) {
    SweepMember member;
    member.trial = trial->id;
    member.hyperparameters = with_point(base, trial->point);
    member.point = std::move(trial->point);
    member.source = {prepared.sweep.model, from_data, prepared.sweep.minibatch, prepared.sweep.spec};
    for (const auto& [name, value] : member.hyperparameters.arguments) member.source.arguments[name] = value;
    prepared.members.push_back(std::move(member));
  }
  const std::size_t digits = std::max<std::size_t>(2, std::to_string(prepared.members.size() - 1).size());
  for (std::size_t i = 0; i < prepared.members.size(); ++i)
    prepared.members[i].name = fmt::format("m{:0{}}", i, digits);
}

void fail_member(SweepMember& member, std::string reason) {
  member.outcome = MemberOutcome::kFailed;
  member.reason = std::move(reason);
}

/// Errors: the first one where no network can be made.
Result<void> make_networks(PreparedSweep& prepared) {
  std::map<ModelSource, std::string> failed;
  std::optional<Error> first;
  const TrainedNetwork* ends_of = nullptr;
  for (SweepMember& member : prepared.members) {
    std::unique_ptr<const TrainedNetwork>& network = prepared.networks[member.source];
    if (!network && !failed.contains(member.source)) {
      auto made = make_network_to_train(member.source);
      if (made && ends_of != nullptr &&
          (made->ends.input != ends_of->ends.input || made->ends.output != ends_of->ends.output))
        made = fail(ErrorCode::kInvalidInput, "takes {} and gives {}, other members take {} and give {}",
                    to_string(made->ends.input), to_string(made->ends.output), to_string(ends_of->ends.input),
                    to_string(ends_of->ends.output));
      if (made) {
        network = std::make_unique<const TrainedNetwork>(*std::move(made));
        if (ends_of == nullptr) ends_of = network.get();
      } else {
        failed.emplace(member.source, made.error().message);
        if (!first) first = made.error();
      }
    }
    if (!network) {
      fail_member(member, failed.at(member.source));
      prepared.search->tell({member.trial, 1, std::nullopt});  // or its rungs would wait for it
    }
    prepared.network_of.push_back(network.get());
  }
  if (ends_of == nullptr) return tl::unexpected<Error>(*first);
  prepared.ends = ends_of->ends;
  return {};
}

void make_first_states(PreparedSweep& prepared) {
  for (std::size_t i = 0; i < prepared.members.size(); ++i) {
    const TrainedNetwork* const network = prepared.network_of[i];
    if (network == nullptr) continue;
    SweepMember& member = prepared.members[i];
    const Weights weights = prepared.sweep.random_weights
                                ? first_weights(network->inference.model, member.hyperparameters.seed)
                                : network->inference.weights;
    member.state = first_state(*network, weights);
  }
}

}  // namespace

std::vector<std::vector<std::size_t>> PreparedSweep::training_groups() const {
  std::vector<std::vector<std::size_t>> groups;
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (members[i].outcome != MemberOutcome::kTraining) continue;
    const auto found = std::find_if(groups.begin(), groups.end(),
                                    [&](const auto& group) { return network_of[group.front()] == network_of[i]; });
    if (found == groups.end()) {
      groups.push_back({i});
    } else {
      found->push_back(i);
    }
  }
  return groups;
}

Result<PreparedSweep> prepare_sweep(Sweep sweep, const CancelToken& cancel) {
  COHORT_TRY(DataSet whole, read_data_set(sweep.data.train, sweep.spec.loss));
  std::optional<DataSet> evaluation;
  if (sweep.data.evaluation) {
    COHORT_TRY(evaluation, read_data_set(*sweep.data.evaluation, sweep.spec.loss));
  }
  PreparedSweep prepared;
  prepared.sweep = std::move(sweep);
  prepared.search = make_search(prepared.sweep);
  make_members(prepared, arguments_of_data(prepared.sweep, whole));
  COHORT_CHECK(make_networks(prepared));
  COHORT_TRY(prepared.data,
             prepare_data(std::move(whole), std::move(evaluation), prepared.sweep, prepared.ends, cancel));
  prepared.counts.per_epoch = static_cast<std::int64_t>(prepared.data.train.samples) / prepared.sweep.minibatch;
  prepared.counts.all =
      prepared.sweep.steps ? *prepared.sweep.steps : *prepared.sweep.epochs * prepared.counts.per_epoch;
  make_first_states(prepared);
  return prepared;
}

}  // namespace cohort
