#include "executor/profile/case_selection.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/statistics.hpp"
#include "simulator/plan/fuse.hpp"
#include "simulator/plan/lower.hpp"
#include "simulator/plan/tensor_layout.hpp"

namespace cohort {
namespace {

/// Width at which copies are timed where no fused form is.
constexpr int kCopiesWidth = 4;
/// An alternative is worth more cases where it takes at most so much of the best one's time.
constexpr double kNearBest = 1.25;

/// A fused way to compute an op of several members.
struct FusedForm {
  Strategy strategy{};
  bool shared_input = true;
};

/// Whether it is an op of a training step alone that a strided batch takes.
bool is_stacked_in_training(const Op& op) {
  const OpAttributes& attributes = op.attributes;
  return std::holds_alternative<GemmWeightGradient>(attributes) || std::holds_alternative<Update>(attributes) ||
         std::holds_alternative<SoftmaxCrossEntropy>(attributes) || std::holds_alternative<Dropout>(attributes) ||
         std::holds_alternative<SoftmaxCrossEntropyGradient>(attributes) ||
         (op.phase == Phase::kBackward &&
          (std::holds_alternative<MatMul>(attributes) || std::holds_alternative<ActivationGradient>(attributes)));
}

/// Those that a model batch can meet: a shared input only where the op reads the model's.
std::vector<FusedForm> fused_forms(const ProfiledOp& op) {
  const OpAttributes& attributes = op.op->attributes;
  const std::size_t rank = op.single.model.tensor(op.single.model.outputs[0]).shape.size();
  if (std::holds_alternative<Gemm>(attributes) || (is_stacked_in_training(*op.op) && rank != 4)) {
    if (op.reads_model_input) return {{Strategy::kStridedBatch, true}, {Strategy::kStridedBatch, false}};
    return {{Strategy::kStridedBatch, false}};
  }
  const auto* const convolution = std::get_if<Convolution>(&attributes);
  const auto* const gradient = std::get_if<ConvolutionWeightGradient>(&attributes);
  if (rank != 4 && gradient == nullptr) return {};
  if (convolution != nullptr || gradient != nullptr) {
    const bool dense = convolution != nullptr ? convolution->groups == 1 : gradient->groups == 1;
    if (op.reads_model_input && dense) return {{Strategy::kDenseConvolution}, {Strategy::kGroupedConvolution}};
    return {{Strategy::kGroupedConvolution}};
  }
  const bool per_channel = std::holds_alternative<Pool>(attributes) || std::holds_alternative<Activation>(attributes) ||
                           std::holds_alternative<PoolGradient>(attributes) ||
                           std::holds_alternative<ActivationGradient>(attributes) ||
                           (op.op->phase == Phase::kBackward && std::holds_alternative<ConvTranspose>(attributes));
  return per_channel ? std::vector<FusedForm>{{Strategy::kGroupedConvolution}} : std::vector<FusedForm>{};
}

std::vector<int> thread_counts(const Backend& backend) {
  const int cores = backend.catalog().cores();
  return cores > 1 ? std::vector{1, cores} : std::vector{1};
}

/// The ways to run as many ops as `op_case` says, as it says, in the library's order.
Result<std::vector<Alternative>> ways_of(const Backend& backend, const ProfiledOp& op, const OpCase& op_case) {
  std::vector<Alternative> ways;
  const auto choose = [&](const CostKey& key, std::span<const Alternative> alternatives) {
    if (!key.signature.starts_with(kCopyPrefix)) ways.assign(alternatives.begin(), alternatives.end());
    return std::size_t{0};
  };
  std::vector<Member> members;
  for (int i = 0; i < op_case.width; ++i) members.push_back({fmt::format("op-{}", i), {}, 0});
  Plan plan = uniform_plan(std::move(members), op_case.strategy, 1);
  plan.groups[0].threads = op_case.threads;
  plan.groups[0].multiprocessors = op_case.multiprocessors;
  plan.precision = op_case.precision;
  plan.layout = op_case.layout;
  const std::vector<const Model*> models(plan.members.size(), &op.single.model);
  COHORT_CHECK(lower(plan, models, backend.catalog(), choose).map([](const Program&) {}));
  return ways;
}

/// Of those as many as are to be timed: the library's first ones, but where these take workspace and another takes
/// less, that one last. A limit of workspace can then be planned for.
std::vector<OpCase> timed_ways(const Backend& backend, const ProfileOptions& options, const OpCase& op_case,
                               const std::vector<Alternative>& ways) {
  constexpr int kMostOfAGpu = 3;
  std::size_t most = ways.size();
  if (options.most_alternatives || backend.info().kind == "cuda")
    most = std::min(most, static_cast<std::size_t>(options.most_alternatives.value_or(kMostOfAGpu)));
  std::vector<OpCase> cases(most, op_case);
  for (std::size_t i = 0; i < most; ++i) cases[i].algorithm = ways[i].algorithm;
  const auto by_workspace = [](const Alternative& a, const Alternative& b) { return a.workspace < b.workspace; };
  const auto first_ones = ways.begin() + static_cast<std::ptrdiff_t>(most);
  const auto least = std::min_element(ways.begin(), ways.end(), by_workspace);
  if (most > 1 && least >= first_ones) cases.back().algorithm = least->algorithm;
  return cases;
}

/// Products made for a part of a GPU, by the library's first choice for each part.
Result<void> add_parts_of_device(const Backend& backend, const ProfiledOp& op, const OpCase& whole,
                                 std::vector<TimedCase>& cases) {
  const int all = backend.catalog().multiprocessors();
  if (!std::holds_alternative<Gemm>(op.op->attributes)) return {};
  for (const int part : kMultiprocessorParts) {
    OpCase op_case = whole;
    op_case.multiprocessors = all / part;
    if (op_case.multiprocessors == 0) continue;
    COHORT_TRY(const auto ways, ways_of(backend, op, op_case));
    const auto made_for_it = std::find_if(ways.begin(), ways.end(), [&](const Alternative& way) {
      return way.multiprocessors == op_case.multiprocessors;
    });
    if (made_for_it == ways.end()) continue;
    op_case.algorithm = made_for_it->algorithm;
    cases.emplace_back(std::move(op_case));
  }
  return {};
}

/// Launches of several members' ops, each on its own tensors: products and recurrent layers where the device has them
/// side by side.
Result<void> add_groups(const Backend& backend, const ProfileOptions& options, const ProfiledOp& op,
                        std::vector<TimedCase>& cases) {
  if (!std::holds_alternative<Gemm>(op.op->attributes) && !is_recurrent(*op.op)) return {};
  for (const int threads : thread_counts(backend)) {
    for (const int width : options.fused_widths) {
      const OpCase op_case{Strategy::kGroupedGemm, width, threads, "", 1, false, 1, options.precision, {}, op.layout};
      COHORT_TRY(auto ways, ways_of(backend, op, op_case));
      std::erase_if(ways, [](const Alternative& way) { return !way.side_by_side; });
      for (OpCase& way : timed_ways(backend, options, op_case, ways)) cases.emplace_back(std::move(way));
    }
  }
  return {};
}

/// What stands in a stack of channels, read by members on their own.
void add_splits(const Backend& backend, const ProfileOptions& options, const ProfiledOp& op,
                std::vector<TimedCase>& cases) {
  for (const FusedForm& form : fused_forms(op)) {
    if (form.strategy == Strategy::kStridedBatch) continue;  // whose parts are dense
    for (const int threads : thread_counts(backend)) {
      for (const int width : options.fused_widths) {
        OpCase op_case{form.strategy, width, threads, "", 1, form.shared_input, 1, options.precision, {}, op.layout};
        op_case.splits = true;
        cases.emplace_back(std::move(op_case), true);
      }
    }
    return;  // parts of all forms lie alike
  }
}

/// Numbers of calls, each of which touches `own` bytes, that reach the footprints asked for.
std::set<int> copy_counts(const Backend& backend, const ProfileOptions& options, Bytes own, int most) {
  std::set<int> counts;
  for (const Bytes footprint : options.footprints ? *options.footprints : usual_footprints(backend.info())) {
    const std::int64_t copies = footprint.value / std::max<std::int64_t>(1, own.value);
    counts.insert(static_cast<int>(std::clamp<std::int64_t>(copies, 1, most)));
  }
  return counts;
}

Nanoseconds median_time(const TimedCase& timed) {
  std::vector<Nanoseconds> times;
  for (const ProfileRecord& record : timed.timing.calls) times.push_back(record.time);
  return median(std::move(times));
}

/// Fewest calls in a row on each of several cores that, but for their start and end, run beside each other; at most
/// `most`.
int fewest_beside(const TimedCase& warm, int cores, int most) {
  const Nanoseconds start = cores * std::chrono::nanoseconds(2500);  // they start one after another
  const auto calls = 1 + (start - Nanoseconds(1)) / std::max(Nanoseconds(1), median_time(warm));
  return static_cast<int>(std::clamp<std::int64_t>(calls, 1, std::max(1, most / cores)));
}

/// Whether an op reads what its cores have just written and still cache, beside what it writes itself; where nobody
/// knows how much they cache, it does.
bool finds_input_cached(const Backend& backend, const ProfiledOp& op, int threads) {
  if (op.reads_model_input) return false;
  const Bytes caches{number_setting(backend.info(), kCoreCacheSetting).value_or(0) * threads};
  Bytes read;
  for (const TensorId id : op.single.model.inputs)
    read += Bytes{element_count(op.single.model.tensor(id).shape) * std::int64_t{sizeof(float)}};
  return caches.value == 0 || read.value <= caches.value / 2;
}

/// The same with other calls between two uses of its bytes, and on every core at once.
void add_colder(const Backend& backend, const ProfileOptions& options, const ProfiledOp& op, const TimedCase& warm,
                std::vector<TimedCase>& cases) {
  // To save time: what so long a call of many members reads anew is a small part of it.
  constexpr std::chrono::milliseconds kLong{5};
  const int width = warm.op_case.width;
  const int most = std::max(1, options.most_copies / width);
  const auto add = [&](int copies, int streams) {
    TimedCase timed(warm.op_case, warm.copies_only);
    timed.op_case.copies = copies;
    timed.op_case.streams = streams;
    if (width == 1) timed.op_case.shared_input = finds_input_cached(backend, op, warm.op_case.threads);
    cases.push_back(std::move(timed));
  };
  std::set<int> counts;
  if (width == 1 || median_time(warm) < kLong)
    counts = copy_counts(backend, options, call_bytes(op.single.model) * width, most);
  for (const int copies : counts) {
    if (copies > 1) add(copies, 1);
  }
  const int cores = backend.catalog().cores();
  if (warm.op_case.threads > 1 || cores == 1) return;
  const int fewest = fewest_beside(warm, cores, most);
  std::set<int> beside{fewest};
  for (const int copies : counts) beside.insert(std::max(fewest, copies / cores));
  for (const int copies : beside) add(copies, cores);
}

}  // namespace

bool has_stacked_channels(const ProfiledOp& op) {
  // Gradients by parameters are written side by side, whatever stacks what they are made of.
  if (op.single.model.tensor(op.single.model.outputs[0]).shape.size() != 4) return false;
  const std::vector<FusedForm> forms = fused_forms(op);
  return std::any_of(forms.begin(), forms.end(),
                     [](const FusedForm& form) { return form.strategy != Strategy::kStridedBatch; });
}

std::vector<Bytes> usual_footprints(const DeviceInfo& device) {
  const Bytes shared{number_setting(device, kSharedCacheSetting).value_or(0)};
  if (shared.value <= 0) return {Bytes{4 << 20}, Bytes{24 << 20}, Bytes{96 << 20}};
  // What stays in such a cache, what may not where others use it, too, as much as it is, and what it keeps little of.
  std::vector<Bytes> footprints{Bytes{shared.value * 3 / 8}, Bytes{shared.value * 5 / 8}, shared, shared * 2};
  const Bytes own{number_setting(device, kCoreCacheSetting).value_or(0)};
  const Bytes beyond_own = own * 2 * device.cores;
  if (own.value > 0 && beyond_own.value < footprints[0].value / 4) footprints.insert(footprints.begin(), beyond_own);
  constexpr Bytes kMost{256 << 20};
  for (Bytes& footprint : footprints) footprint = std::min(footprint, kMost);
  return footprints;
}

ProfiledOp profiled_op(const Model& model, const Op& op, Layout layout) {
  return {&op, LoadedModel{single_op_model(model, op), {}}, layout_alone(model, op, layout),
          model.tensor(op.inputs[0]).role == TensorRole::kInput};
}

Result<std::vector<TimedCase>> warm_cases(const Backend& backend, const ProfileOptions& options, const ProfiledOp& op) {
  std::vector<TimedCase> cases;
  const bool fused = !options.fused_widths.empty();
  for (const int threads : thread_counts(backend)) {
    const OpCase op_case{Strategy::kSerial, 1, threads, "", 1, true, 1, options.precision, {}, op.layout};
    // None for a Reshape in place: nothing runs.
    COHORT_TRY(const auto ways, ways_of(backend, op, op_case));
    for (OpCase& way : timed_ways(backend, options, op_case, ways)) cases.emplace_back(std::move(way));
    COHORT_CHECK(add_parts_of_device(backend, op, op_case, cases));
  }
  for (const FusedForm& form : fused_forms(op)) {
    for (const int threads : thread_counts(backend)) {
      for (const int width : fused ? options.fused_widths : std::vector{kCopiesWidth}) {
        const OpCase op_case{form.strategy,     width, threads,           "", 1,
                             form.shared_input, 1,     options.precision, {}, op.layout};
        cases.emplace_back(op_case, !fused);
      }
    }
  }
  if (fused && op.times_split) add_splits(backend, options, op, cases);
  COHORT_CHECK(add_groups(backend, options, op, cases));
  if (const Bytes flush{number_setting(backend.info(), kLastCacheSetting).value_or(0)}; flush.value > 0) {
    for (std::size_t i = 0, warm = cases.size(); i < warm; ++i) {
      if (cases[i].copies_only) continue;
      cases.emplace_back(OpCase(cases[i].op_case));  // a copy: the vector grows
      cases.back().op_case.flush = flush;
    }
  }
  return cases;
}

std::vector<TimedCase> colder_cases(const Backend& backend, const ProfileOptions& options, const ProfiledOp& op,
                                    const std::vector<TimedCase>& warm) {
  std::vector<TimedCase> cases;
  for (const TimedCase& timed : warm) {
    const bool needless = timed.copies_only && !timed.op_case.splits;
    if (timed.failed || needless || timed.op_case.flush.value > 0) continue;
    if (timed.op_case.multiprocessors > 0) continue;
    const Nanoseconds own = median_time(timed);
    const bool is_fused = timed.op_case.strategy != Strategy::kSerial;
    const bool near_best = is_fused || std::none_of(warm.begin(), warm.end(), [&](const TimedCase& other) {
                             const bool rivals = !other.failed && other.op_case.strategy == Strategy::kSerial &&
                                                 other.op_case.flush.value == 0 &&
                                                 other.op_case.threads == timed.op_case.threads;
                             return rivals && seconds(own) > kNearBest * seconds(median_time(other));
                           });
    if (near_best) add_colder(backend, options, op, timed, cases);
  }
  return cases;
}

std::vector<TimedCase> fused_cases(const ProfileOptions& options, const ProfiledOp& op, const KnownWays& known,
                                   const std::vector<TimedCase>& timed) {
  // What gains nothing at the least width, where copies and launches count most, gains nothing at larger ones; but of a
  // short call the library's own overhead is most, and that does not grow with the members.
  constexpr double kPromising = 1.1;
  constexpr std::chrono::microseconds kShort{20};
  constexpr int kWider = 4;  // times the largest width: how wide short calls are timed, too
  constexpr int kWidest = 1024;
  std::vector<TimedCase> cases;
  const std::vector<FusedForm> forms = fused_forms(op);
  if (options.fused_widths.empty() || forms.empty()) return cases;
  std::vector<int> widths = options.fused_widths;
  std::sort(widths.begin(), widths.end());
  Nanoseconds best = known.front().time;
  for (const KnownWay& way : known) best = std::min(best, way.time);
  if (timed.empty()) {
    for (const KnownWay& way : known)
      cases.emplace_back(OpCase{
          Strategy::kSerial, 1, way.way.threads, way.way.algorithm, 1, true, 1, options.precision, {}, op.layout});
    for (const FusedForm& form : forms) {
      for (const KnownWay& way : known)
        cases.emplace_back(OpCase{form.strategy,
                                  widths.front(),
                                  way.way.threads,
                                  "",
                                  1,
                                  form.shared_input,
                                  1,
                                  options.precision,
                                  {},
                                  op.layout});
    }
    return cases;
  }
  for (const TimedCase& narrow : timed) {
    const OpCase& op_case = narrow.op_case;
    if (narrow.failed || op_case.strategy == Strategy::kSerial || op_case.width != widths.front()) continue;
    const bool is_short = median_time(narrow) < kShort;
    if (!is_short && seconds(median_time(narrow)) > kPromising * seconds(best) * op_case.width) continue;
    std::vector<int> wider(widths.begin() + 1, widths.end());
    const int widest = std::min(kWider * widths.back(), kWidest);
    if (is_short && !wider.empty() && widest > widths.back()) wider.push_back(widest);
    for (const int width : wider) {
      cases.emplace_back(OpCase(op_case));
      cases.back().op_case.width = width;
    }
    if (op.times_split && op_case.strategy != Strategy::kStridedBatch) {
      OpCase splits = op_case;
      splits.splits = true;
      cases.emplace_back(std::move(splits), true);
    }
  }
  return cases;
}

}  // namespace cohort
