#include <algorithm>
#include <cmath>
#include <functional>

#include "base/file.hpp"
#include "base/spelling.hpp"
#include "base/toml.hpp"
#include "models/onnx/onnx_file.hpp"
#include "training/space_file.hpp"
#include "training/sweep.hpp"

namespace cohort {
namespace {

constexpr std::int64_t kMostSteps = 1'000'000'000;

/// One of a few words.
template <class Value>
Result<Value> word(const TomlTable& table, std::string_view key,
                   std::initializer_list<std::pair<std::string_view, Value>> words) {
  COHORT_TRY(const std::string text, table.string(key));
  std::vector<std::string_view> known;
  for (const auto& [name, value] : words) {
    if (name == text) return value;
    known.push_back(name);
  }
  return fail(ErrorCode::kInvalidInput, "{}: there is no \"{}\"; {}", table.place_of(key), text,
              known_words(text, known));
}

class SweepReader {
 public:
  SweepReader(const TomlTable& root, std::filesystem::path folder) : root_(root), folder_(std::move(folder)) {}

  Result<Sweep> read() {
    COHORT_CHECK(
        root_.check_keys({"model", "minibatch", "epochs", "steps", "optimizer", "loss", "seed", "initial_weights",
                          "most_together", "checkpoint_every", "metric", "data", "space", "member", "halving"}));
    COHORT_CHECK(read_model());
    COHORT_CHECK(read_length());
    COHORT_CHECK(read_spec());
    COHORT_CHECK(read_data());
    COHORT_CHECK(read_points());
    if (root_.has("halving")) COHORT_CHECK(read_halving());
    return std::move(sweep_);
  }

 private:
  [[nodiscard]] std::filesystem::path beside(const std::string& name) const {
    return std::filesystem::path(name).is_absolute() ? std::filesystem::path(name) : folder_ / name;
  }

  Result<void> read_model() {
    COHORT_TRY(sweep_.model, root_.string("model"));
    if (sweep_.model.empty()) return root_.wrong("model", "a built-in network (cohort models) or a file.onnx");
    if (onnx::is_file(sweep_.model)) sweep_.model = beside(sweep_.model).string();
    sweep_.random_weights = !onnx::is_file(sweep_.model);
    if (root_.has("initial_weights")) {
      COHORT_TRY(sweep_.random_weights, (word<bool>(root_, "initial_weights", {{"random", true}, {"file", false}})));
      if (!sweep_.random_weights && !onnx::is_file(sweep_.model))
        return fail(ErrorCode::kInvalidInput, "{}: a built-in network has no file with weights",
                    root_.place_of("initial_weights"));
    }
    if (root_.has("minibatch")) {
      COHORT_TRY(sweep_.minibatch, root_.integer("minibatch", 1, 65536));
    }
    if (root_.has("seed")) {
      COHORT_TRY(const std::int64_t seed, root_.integer("seed", 0, std::int64_t{1} << 53));
      sweep_.seed = static_cast<std::uint64_t>(seed);
    }
    if (root_.has("most_together")) {
      COHORT_TRY(sweep_.most_together, root_.integer("most_together", 1, static_cast<std::int64_t>(kMostSweepMembers)));
    }
    return {};
  }

  Result<void> read_length() {
    if (root_.has("epochs") && root_.has("steps"))
      return fail(ErrorCode::kInvalidInput, "{}: epochs says already how long to train; give one of the two",
                  root_.place_of("steps"));
    if (root_.has("steps")) {
      COHORT_TRY(sweep_.steps, root_.integer("steps", 1, kMostSteps));
    } else {
      COHORT_TRY(sweep_.epochs, root_.integer("epochs", 1, 1'000'000));
    }
    if (root_.has("checkpoint_every")) {
      COHORT_TRY(sweep_.checkpoint_every, root_.integer("checkpoint_every", 1, 1'000'000));
    }
    return {};
  }

  Result<void> read_spec() {
    std::string loss = "cross_entropy";
    if (root_.has("loss")) {
      COHORT_TRY(loss, root_.string("loss"));
    }
    auto kind = loss_from(loss);
    if (!kind) return in_context(root_.place_of("loss"), kind.error());
    if (*kind == LossKind::kModelOutput)
      return fail(ErrorCode::kInvalidInput,
                  "{}: sweeps compare members by outputs that are no losses; use "
                  "cross_entropy or mean_squared_error",
                  root_.place_of("loss"));
    sweep_.spec.loss = *kind;
    std::string optimizer = "sgd";
    if (root_.has("optimizer")) {
      COHORT_TRY(optimizer, root_.string("optimizer"));
    }
    auto update = optimizer_from(optimizer);
    if (!update) return in_context(root_.place_of("optimizer"), update.error());
    sweep_.spec.update = *update;
    sweep_.metric = sweep_.spec.loss == LossKind::kCrossEntropy ? Metric::kAccuracy : Metric::kLoss;
    if (root_.has("metric")) {
      COHORT_TRY(sweep_.metric, metric(root_));
    }
    return {};
  }

  Result<Metric> metric(const TomlTable& table) const {
    COHORT_TRY(const Metric metric,
               (word<Metric>(table, "metric", {{"accuracy", Metric::kAccuracy}, {"loss", Metric::kLoss}})));
    if (metric == Metric::kAccuracy && sweep_.spec.loss != LossKind::kCrossEntropy)
      return fail(ErrorCode::kInvalidInput, "{}: accuracy is of classes, and loss = \"{}\" has none",
                  table.place_of("metric"), to_string(sweep_.spec.loss));
    return metric;
  }

  // ---- [data]

  Result<void> read_data() {
    COHORT_TRY(const TomlTable table, root_.table("data"));
    COHORT_CHECK(
        table.check_keys({"train", "labels", "csv", "label", "folder", "held_out", "evaluation", "evaluation_labels",
                          "augment", "flip", "shift", "normalize", "resize", "keep", "workers"}));
    COHORT_CHECK(read_files(table));
    DataOptions& data = sweep_.data;
    if (table.has("held_out")) {
      if (data.evaluation)
        return fail(ErrorCode::kInvalidInput, "{}: evaluation gives the samples to evaluate on; give one of the two",
                    table.place_of("held_out"));
      COHORT_TRY(data.held_out, table.number("held_out", 0, 0.9));
    }
    COHORT_CHECK(read_augmentation(table));
    COHORT_CHECK(read_normalization(table));
    if (data.train.kind != DataKind::kFolder) {
      for (const char* const key : {"resize", "keep", "workers"}) {
        if (table.has(key))
          return fail(ErrorCode::kInvalidInput, "{}: only images in a folder are decoded", table.place_of(key));
      }
    }
    if (table.has("resize")) {
      COHORT_TRY(data.resize, table.integer("resize", 1, 8192));
    }
    if (table.has("keep")) {
      COHORT_TRY(data.keep, table.boolean("keep"));
    }
    if (table.has("workers")) {
      COHORT_TRY(const std::int64_t workers, table.integer("workers", 1, 1024));
      data.workers = static_cast<int>(workers);
    }
    return {};
  }

  Result<void> read_files(const TomlTable& table) {
    const int given = (table.has("train") ? 1 : 0) + (table.has("csv") ? 1 : 0) + (table.has("folder") ? 1 : 0);
    if (given != 1)
      return fail(
          ErrorCode::kInvalidInput,
          "{}: must have one of train (a .npy file, with labels), csv (a table, with label) and folder (of JPEGs, "
          "a sub-folder for each class); it has {}",
          root_.place_of("data"), given == 0 ? "none" : "several");
    DataFiles& train = sweep_.data.train;
    train.kind = table.has("train") ? DataKind::kArrays : table.has("csv") ? DataKind::kTable : DataKind::kFolder;
    const std::string_view key = train.kind == DataKind::kArrays  ? "train"
                                 : train.kind == DataKind::kTable ? "csv"
                                                                  : "folder";
    COHORT_TRY(const std::string samples, table.string(key));
    train.samples = beside(samples);
    if (table.has("evaluation")) {
      COHORT_TRY(const std::string evaluation, table.string("evaluation"));
      sweep_.data.evaluation = train;
      sweep_.data.evaluation->samples = beside(evaluation);
    }
    COHORT_CHECK(read_labels(table));
    if (train.kind == DataKind::kTable) COHORT_CHECK(read_columns(table));
    if (train.kind != DataKind::kTable && table.has("label"))
      return fail(ErrorCode::kInvalidInput, "{}: names a column of a csv; labels of arrays are a file: labels",
                  table.place_of("label"));
    return {};
  }

  Result<void> read_labels(const TomlTable& table) {
    const bool arrays = sweep_.data.train.kind == DataKind::kArrays;
    for (const char* const key : {"labels", "evaluation_labels"}) {
      if (table.has(key) && !arrays)
        return fail(ErrorCode::kInvalidInput, "{}: only train, a .npy file, has labels in a file of their own",
                    table.place_of(key));
    }
    if (!arrays) return {};
    COHORT_TRY(const std::string labels, table.string("labels"));
    sweep_.data.train.labels = beside(labels);
    if (sweep_.data.evaluation) {
      COHORT_TRY(const std::string evaluation, table.string("evaluation_labels"));
      sweep_.data.evaluation->labels = beside(evaluation);
    } else if (table.has("evaluation_labels")) {
      return fail(ErrorCode::kInvalidInput, "{}: evaluation, the samples of these labels, is missing",
                  table.place_of("evaluation_labels"));
    }
    return {};
  }

  Result<void> read_columns(const TomlTable& table) {
    COHORT_TRY(const TomlValue* const value, table.value("label"));
    std::vector<std::string>& columns = sweep_.data.train.columns;
    if (const auto* text = std::get_if<std::string>(&value->value)) columns.push_back(*text);
    if (const auto* list = std::get_if<std::vector<TomlValue>>(&value->value)) {
      for (const TomlValue& each : *list) {
        const auto* const text = std::get_if<std::string>(&each.value);
        if (text == nullptr) return table.wrong("label", "names of columns");
        columns.push_back(*text);
      }
    }
    if (columns.empty()) return table.wrong("label", "the name of a column, or a list of names");
    if (columns.size() > 1 && sweep_.spec.loss == LossKind::kCrossEntropy)
      return fail(ErrorCode::kInvalidInput, "{}: a class is one column; several are targets of mean_squared_error",
                  table.place_of("label"));
    if (sweep_.data.evaluation) sweep_.data.evaluation->columns = columns;
    return {};
  }

  Result<void> read_augmentation(const TomlTable& table) {
    using Sharing = Augmentation::Sharing;
    Augmentation& augmentation = sweep_.data.augmentation;
    if (table.has("augment")) {
      COHORT_TRY(augmentation.sharing,
                 (word<Sharing>(
                     table, "augment",
                     {{"none", Sharing::kNone}, {"shared", Sharing::kShared}, {"per_member", Sharing::kPerMember}})));
    }
    for (const char* const key : {"flip", "shift"}) {
      if (table.has(key) && augmentation.sharing == Sharing::kNone)
        return fail(ErrorCode::kInvalidInput, "{}: has no effect without augment = \"shared\" or \"per_member\"",
                    table.place_of(key));
    }
    if (augmentation.sharing != Sharing::kNone && sweep_.data.train.kind == DataKind::kTable)
      return fail(ErrorCode::kInvalidInput, "{}: only images are augmented, not tables", table.place_of("augment"));
    if (table.has("flip")) {
      COHORT_TRY(augmentation.flip, table.boolean("flip"));
    }
    if (table.has("shift")) {
      COHORT_TRY(augmentation.shift, table.integer("shift", 0, 4096));
    }
    return {};
  }

  Result<void> read_normalization(const TomlTable& table) {
    if (!table.has("normalize")) return {};
    COHORT_TRY(const TomlValue* const value, table.value("normalize"));
    if (const bool* const truth = std::get_if<bool>(&value->value)) {
      sweep_.data.normalize = *truth;
      return {};
    }
    if (!std::holds_alternative<TomlEntries>(value->value))
      return table.wrong("normalize", "true, false or { mean = [...], std = [...] }");
    COHORT_TRY(const TomlTable given, table.table("normalize"));
    COHORT_CHECK(given.check_keys({"mean", "std"}));
    Normalization normalization;
    COHORT_TRY(normalization.mean, numbers(given, "mean", -1e30));
    COHORT_TRY(normalization.stddev, numbers(given, "std", 1e-30));
    if (normalization.mean.size() != normalization.stddev.size())
      return fail(ErrorCode::kInvalidInput, "{}: {} means and {} standard deviations; give as many of each",
                  table.place_of("normalize"), normalization.mean.size(), normalization.stddev.size());
    sweep_.data.normalization = std::move(normalization);
    return {};
  }

  static Result<std::vector<float>> numbers(const TomlTable& table, std::string_view key, double least) {
    COHORT_TRY(const TomlValue* const value, table.value(key));
    const auto* const list = std::get_if<std::vector<TomlValue>>(&value->value);
    const std::string expected = least > 0 ? "a list of numbers above 0" : "a list of numbers";
    if (list == nullptr || list->empty()) return table.wrong(key, expected);
    std::vector<float> values;
    for (const TomlValue& each : *list) {
      const auto* const whole = std::get_if<std::int64_t>(&each.value);
      const auto* const real = std::get_if<double>(&each.value);
      if (whole == nullptr && real == nullptr) return table.wrong(key, expected);
      const double number = whole != nullptr ? static_cast<double>(*whole) : *real;
      if (!(number >= least && number <= 1e30)) return table.wrong(key, expected);
      values.push_back(static_cast<float>(number));
    }
    return values;
  }

  // ---- [space], [[member]] and [halving]

  Result<void> read_points() {
    if (root_.has("member")) {
      COHORT_TRY(const std::vector<TomlTable> tables, root_.tables("member"));
      COHORT_TRY(sweep_.members, read_members(tables));
      sweep_.search = SearchKind::kList;
    }
    if (root_.has("space")) {
      COHORT_TRY(const TomlTable table, root_.table("space"));
      COHORT_CHECK(read_space(table, sweep_));
      if (sweep_.search != SearchKind::kList && !sweep_.members.empty())
        return fail(ErrorCode::kInvalidInput, "{}: [[member]] tables are a list; write search = \"list\" or none",
                    table.place_of("search"));
    }
    if (sweep_.search == SearchKind::kList && sweep_.members.empty())
      return fail(ErrorCode::kInvalidInput, "{}: search = \"list\" needs [[member]] tables, one for each member",
                  root_.place_of("space"));
    if (sweep_.search == SearchKind::kGrid && grid_size(sweep_.space, kMostSweepMembers) > kMostSweepMembers)
      return fail(ErrorCode::kInvalidInput,
                  "{}: the grid has more than {} members; search = \"random\" draws some of them",
                  root_.place_of("space"), kMostSweepMembers);
    spread_common();
    return check_use();
  }

  /// What [space] says for all of a list goes into each member that does not say otherwise.
  void spread_common() {
    for (Point& member : sweep_.members) {
      Point whole;
      for (const Dimension& common : sweep_.space) {
        const bool own =
            std::any_of(member.begin(), member.end(), [&](const auto& e) { return e.first == common.name; });
        if (!own) whole.emplace_back(common.name, std::get<std::vector<ParameterValue>>(common.values).front());
      }
      whole.insert(whole.end(), member.begin(), member.end());
      member = std::move(whole);
    }
    if (!sweep_.members.empty()) sweep_.space.clear();
  }

  [[nodiscard]] std::size_t members_with(std::string_view name) const {
    const auto has = [&](const Point& point) {
      return std::any_of(point.begin(), point.end(), [&](const auto& e) { return e.first == name; });
    };
    return static_cast<std::size_t>(std::count_if(sweep_.members.begin(), sweep_.members.end(), has));
  }
  [[nodiscard]] bool used(std::string_view name) const {
    return members_with(name) > 0 ||
           std::any_of(sweep_.space.begin(), sweep_.space.end(), [&](const Dimension& d) { return d.name == name; });
  }

  /// Hyperparameters that the optimizer has no use for are mistakes.
  Result<void> check_use() {
    const Update& update = sweep_.spec.update;
    const std::string optimizer(optimizer_name(update));
    const std::string place = root_.place_of(sweep_.members.empty() ? "space" : "member");
    if (used("momentum") && !update.momentum)
      return fail(ErrorCode::kInvalidInput,
                  "{}: momentum has no effect with optimizer = \"{}\"; \"momentum\" and "
                  "\"nesterov\" have it",
                  place, optimizer);
    for (const char* const name : {"beta1", "beta2", "epsilon"}) {
      if (used(name) && update.rule == UpdateRule::kSgd)
        return fail(ErrorCode::kInvalidInput,
                    "{}: {} has no effect with optimizer = \"{}\"; \"adam\" and \"adamw\" have it", place, name,
                    optimizer);
    }
    if (const std::size_t with = members_with("dropout"); with > 0 && with < sweep_.members.size())
      return fail(ErrorCode::kInvalidInput, "{}: dropout is given to {} of {} members; give it to all, 0 for none",
                  place, with, sweep_.members.size());
    if (!sweep_.random_weights && used("seed") && !used("dropout"))
      return fail(ErrorCode::kInvalidInput,
                  "{}: seeds have no effect on weights that come from a file; write "
                  "initial_weights = \"random\"",
                  place);
    sweep_.spec.update.clip = used("clip");
    sweep_.spec.dropout_from_settings = used("dropout");
    return {};
  }

  Result<void> read_halving() {
    COHORT_TRY(const TomlTable table, root_.table("halving"));
    COHORT_CHECK(table.check_keys({"every", "keep", "at_least", "metric"}));
    HalvingRule rule;
    rule.metric = sweep_.metric;
    COHORT_TRY(rule.every, table.integer("every", 1, 1'000'000));
    if (table.has("keep")) {
      COHORT_TRY(rule.keep, table.number("keep", 0, 1));
      if (rule.keep <= 0 || rule.keep >= 1) return table.wrong("keep", "a number above 0 and below 1: 0.5 keeps half");
    }
    if (table.has("at_least")) {
      COHORT_TRY(rule.at_least, table.integer("at_least", 1, static_cast<std::int64_t>(kMostSweepMembers)));
    }
    if (table.has("metric")) {
      COHORT_TRY(rule.metric, metric(table));
    }
    sweep_.halving = rule;
    return {};
  }

  const TomlTable& root_;
  std::filesystem::path folder_;
  Sweep sweep_;
};

}  // namespace

std::string_view to_string(Metric metric) { return metric == Metric::kAccuracy ? "accuracy" : "loss"; }

Result<Sweep> parse_sweep(std::string_view toml, const std::filesystem::path& file) {
  const std::string name = file.string();
  COHORT_TRY(const TomlValue parsed, parse_toml(toml, name));
  const TomlTable root(name, parsed);
  return SweepReader(root, file.parent_path()).read();
}

Result<Sweep> read_sweep(const std::filesystem::path& file) {
  COHORT_TRY(const std::string text, read_file(file));
  return parse_sweep(text, file);
}

}  // namespace cohort
