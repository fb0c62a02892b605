#include "training/overheads.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/file.hpp"
#include "base/statistics.hpp"
#include "training/checkpoint.hpp"
#include "training/results.hpp"
#include "training/score.hpp"
#include "training/stopwatch.hpp"

namespace cohort {
namespace {

/// Enough to time what takes microseconds.
constexpr Nanoseconds kLongEnough = std::chrono::milliseconds(3);
constexpr std::size_t kLeastRepeats = 3;
constexpr std::size_t kMostRepeats = 64;

/// Median of a few repetitions: whoever else takes the cores for a moment does not count. `work` gives a Result.
template <class Work>
Result<Nanoseconds> timed(const CancelToken& cancel, Work work) {
  COHORT_CHECK(work(0));  // what is done once is not timed
  const Nanoseconds first = steady_now();
  std::vector<Nanoseconds> times;
  while (times.size() < kMostRepeats && (times.size() < kLeastRepeats || steady_now() - first < kLongEnough)) {
    COHORT_CHECK(cancel.check());
    const Nanoseconds begin = steady_now();
    COHORT_CHECK(work(static_cast<int>(times.size()) + 1));
    times.push_back(steady_now() - begin);
  }
  return median(std::move(times));
}

/// A folder that is gone in the end.
class PassingFolder {
 public:
  static Result<std::unique_ptr<PassingFolder>> make(const std::filesystem::path& inside) {
    std::filesystem::path path = inside / "forecast";
    for (int i = 2; std::filesystem::exists(path); ++i) path = inside / fmt::format("forecast-{}", i);
    std::unique_ptr<PassingFolder> folder(new PassingFolder(path));
    COHORT_CHECK(folder->above_.make(folder->path_));
    return folder;
  }
  PassingFolder(const PassingFolder&) = delete;
  PassingFolder& operator=(const PassingFolder&) = delete;
  ~PassingFolder() {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
  }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  explicit PassingFolder(std::filesystem::path path) : path_(std::move(path)) {}
  MadeFolders above_;
  std::filesystem::path path_;
};

}  // namespace

OverheadProbe::OverheadProbe(PreparedSweep& prepared, Backend& backend, std::filesystem::path folder,
                             const CancelToken& cancel)
    : prepared_(prepared),
      backend_(backend),
      folder_(std::move(folder)),
      cancel_(cancel),
      minibatches_(prepared.data, prepared.ends, minibatch_options(prepared.sweep)) {}

Result<BatchOverheads> OverheadProbe::of(const TrainedNetwork& network, const Plan& plan) {
  const auto key = std::pair(&network, write_plan(plan));
  if (const auto found = known_.find(key); found != known_.end()) return found->second;
  COHORT_TRY(const BatchOverheads measured, measure(network, plan));
  return known_.emplace(key, measured).first->second;
}

Result<BatchOverheads> OverheadProbe::measure(const TrainedNetwork& network, const Plan& plan) {
  std::vector<SweepMember*> members;
  for (std::size_t i = 0; i < prepared_.members.size() && members.size() < plan.members.size(); ++i) {
    if (prepared_.network_of[i] == &network) members.push_back(&prepared_.members[i]);
  }
  BatchOverheads result;
  std::unique_ptr<MemberBatch> train;
  std::unique_ptr<MemberBatch> evaluation;
  {
    const Stopwatch watch(result.opening);
    COHORT_TRY(train, MemberBatch::train(backend_, network, plan, members));
    COHORT_TRY(evaluation, MemberBatch::evaluation(backend_, network, plan, members));
  }
  COHORT_TRY(const Minibatch minibatch, minibatches_.evaluation(0));
  COHORT_TRY(result.handing_over, timed(cancel_, [&](std::int64_t step) -> Result<void> {
               COHORT_CHECK(train->write_inputs(minibatch, {}, step, prepared_.counts));
               COHORT_TRY(const auto losses, train->read_losses());
               return losses.size() == members.size() ? Result<void>{} : fail(ErrorCode::kInvalidInput, "losses");
             }));
  COHORT_TRY(result.evaluation, evaluation_of(*train, *evaluation, network));
  return result;
}

Result<Nanoseconds> OverheadProbe::evaluation_of(MemberBatch& train, MemberBatch& evaluation,
                                                 const TrainedNetwork& network) {
  const auto size = static_cast<std::size_t>(prepared_.sweep.minibatch);
  const std::size_t minibatches = (prepared_.data.evaluation.samples + size - 1) / size;
  COHORT_TRY(const Nanoseconds carried, timed(cancel_, [&](int) -> Result<void> {
               COHORT_CHECK(train.read_states());
               return evaluation.write_states();
             }));
  COHORT_TRY(const Minibatch minibatch, minibatches_.evaluation(0));
  std::vector<Score> scores(train.members().size(), Score(prepared_.sweep.spec.loss, network.gives_probabilities));
  COHORT_TRY(const Nanoseconds each, timed(cancel_, [&](int) -> Result<void> {
               COHORT_TRY(const auto outputs, evaluation.outputs(minibatch));
               for (std::size_t i = 0; i < outputs.size(); ++i) scores[i].add(outputs[i], minibatch);
               return {};
             }));
  return carried + each * static_cast<std::int64_t>(minibatches);
}

Result<Nanoseconds> OverheadProbe::minibatch(std::size_t members) {
  std::vector<std::uint64_t> streams;
  if (prepared_.sweep.data.augmentation.sharing == Augmentation::Sharing::kPerMember) {
    streams.resize(members);
    std::iota(streams.begin(), streams.end(), std::uint64_t{0});
  }
  return timed(cancel_, [&](std::int64_t i) -> Result<void> {
    minibatches_.prepare(i % prepared_.counts.all, 1, streams);
    COHORT_TRY(const auto made, minibatches_.take());
    return made.size() == 1 ? Result<void>{} : fail(ErrorCode::kInvalidInput, "minibatch");
  });
}

Result<FileOverheads> OverheadProbe::files() {
  constexpr std::size_t kTried = 4;
  COHORT_TRY(const auto folder, PassingFolder::make(folder_));
  std::vector<const TrainedNetwork*> tried = prepared_.network_of;
  std::vector<std::size_t> members;
  for (std::size_t i = 0; i < tried.size(); ++i) {
    if (tried[i] != nullptr && members.size() < kTried) {
      members.push_back(i);
    } else {
      tried[i] = nullptr;
    }
  }
  const auto count = static_cast<std::int64_t>(std::max<std::size_t>(1, members.size()));
  FileOverheads result;
  {
    const Stopwatch watch(result.checkpoint);
    const CheckpointFolder checkpoints(folder->path());
    COHORT_CHECK(checkpoints.write({}, prepared_.members, tried, prepared_.data.normalization));
  }
  {
    const Stopwatch watch(result.model);
    for (const std::size_t i : members) {
      COHORT_TRY(const std::string onnx, learned_onnx(*prepared_.network_of[i], prepared_.members[i].state));
      COHORT_CHECK(write_file(folder->path() / "model.onnx", onnx, Overwrite::kAllow));
    }
  }
  {
    const Stopwatch watch(result.results);
    PendingFiles pending(Overwrite::kAllow);
    COHORT_CHECK(pending.add(folder->path() / "results.csv", results_csv(prepared_.members, prepared_.sweep.metric)));
    COHORT_CHECK(
        pending.add(folder->path() / "results.json", results_json(prepared_.members, prepared_.sweep.metric).dump(1)));
    COHORT_CHECK(pending.commit());
  }
  result.checkpoint /= count;
  result.model /= count;
  return result;
}

}  // namespace cohort
