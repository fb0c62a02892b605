#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "training/sweep.hpp"

namespace cohort {

/// Numbered from 0 in the order in which they were asked for.
enum class TrialId : std::uint32_t {};

/// One choice of hyperparameters to be trained.
struct Trial {
  TrialId id{};
  Point point;
};

/// What a trial reached.
struct Observation {
  TrialId trial{};
  std::int64_t epoch = 0;        ///< from 1
  std::optional<double> metric;  ///< absent: it diverged or failed, and will not go on
};

/// Where hyperparameters come from, and which trials are worth going on with. It knows nothing of how they are trained,
/// so that another program's search can stand behind it.
///
///     while (auto trial = search.ask()) start(*trial);
///     after each epoch: tell() what each running trial reached; then end those of stopped()
class Search {
 public:
  Search() = default;
  Search(const Search&) = delete;
  Search& operator=(const Search&) = delete;
  virtual ~Search() = default;

  /// The next trial; nothing: no further one, as far as is known now.
  virtual std::optional<Trial> ask() = 0;
  virtual void tell(const Observation& observation) = 0;
  /// Trials that are to end after what was told since the last call, ascending.
  virtual std::vector<TrialId> stopped() = 0;
};

/// Points known beforehand, each once, all of them trained to the end.
std::unique_ptr<Search> list_search(std::vector<Point> points);
/// So many points, drawn by seed.
std::unique_ptr<Search> random_search(std::vector<Dimension> dimensions, std::int64_t samples, std::uint64_t seed);

/// `inner` with successive halving: after every `rule.every` epochs, once every trial that was asked for and still runs
/// has told that epoch, the better part of them goes on. Equal ones: the earlier trial. Trials without a metric never
/// count among those that are kept.
/// Source: Jamieson & Talwalkar, arXiv:1502.07943.
std::unique_ptr<Search> halving_search(std::unique_ptr<Search> inner, const HalvingRule& rule);

/// What a sweep asks for.
std::unique_ptr<Search> make_search(const Sweep& sweep);

}  // namespace cohort
