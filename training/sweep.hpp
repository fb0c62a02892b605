#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "models/source.hpp"
#include "models/training_spec.hpp"
#include "training/space.hpp"

namespace cohort {

/// By what members are compared.
enum class Metric { kAccuracy, kLoss };
std::string_view to_string(Metric metric);
inline bool higher_is_better(Metric metric) { return metric == Metric::kAccuracy; }

/// Successive halving.
struct HalvingRule {
  std::int64_t every = 1;  ///< epochs
  double keep = 0.5;       ///< part of the members that goes on, rounded up
  std::int64_t at_least = 1;
  Metric metric = Metric::kAccuracy;

  friend bool operator==(const HalvingRule&, const HalvingRule&) = default;
};

enum class SearchKind { kGrid, kRandom, kList };

enum class DataKind { kArrays, kTable, kFolder };

/// Samples varied at random in training.
struct Augmentation {
  enum class Sharing { kNone, kShared, kPerMember };
  Sharing sharing = Sharing::kNone;  ///< whether all members see the same variation
  bool flip = true;                  ///< left to right, every other sample
  /// Pixels, at most, each way; what is moved in is zero once normalised. Absent: an eighth of the height, and of
  /// images that are decoded each time another part is cut out instead.
  std::optional<std::int64_t> shift;

  friend bool operator==(const Augmentation&, const Augmentation&) = default;
};

/// (value - mean) / std, of each channel of an image or feature of a table.
struct Normalization {
  std::vector<float> mean;
  std::vector<float> stddev;

  friend bool operator==(const Normalization&, const Normalization&) = default;
};

/// Where samples come from. Relative names are looked for beside the sweep file.
struct DataFiles {
  DataKind kind = DataKind::kArrays;
  std::filesystem::path samples;     ///< .npy [samples, ...], .csv, or a folder with a sub-folder for each class
  std::filesystem::path labels;      ///< .npy [samples], or targets [samples, ...]; of arrays
  std::vector<std::string> columns;  ///< that hold label or targets; of tables

  friend bool operator==(const DataFiles&, const DataFiles&) = default;
};

struct DataOptions {
  DataFiles train;
  std::optional<DataFiles> evaluation;  ///< else `held_out` of the training samples
  double held_out = 0.2;                ///< part of the samples; 0: evaluation is on the training samples
  Augmentation augmentation;
  bool normalize = true;
  std::optional<Normalization> normalization;  ///< else that of the training samples
  std::optional<std::int64_t> resize;  ///< of a folder: pixels of the shorter side, before the middle is cut out
  std::optional<bool> keep;  ///< of a folder: decoded once and kept in memory; absent: where they take at most 1 GiB
  int workers = 0;           ///< threads that decode; 0: as many as the host has cores

  friend bool operator==(const DataOptions&, const DataOptions&) = default;
};

/// A sweep file, checked as far as one can without the files it names.
struct Sweep {
  std::string model;
  std::int64_t minibatch = 32;
  std::optional<std::int64_t> epochs;  ///< one of the two
  std::optional<std::int64_t> steps;
  TrainingSpec spec;
  std::uint64_t seed = 0;
  bool random_weights = true;                    ///< else those of the ONNX file
  std::optional<std::int64_t> most_together;     ///< members of a model batch
  std::optional<std::int64_t> checkpoint_every;  ///< epochs; absent: those that end 10 s or more after the last one
  Metric metric = Metric::kAccuracy;

  DataOptions data;
  SearchKind search = SearchKind::kGrid;
  std::int64_t samples = 0;      ///< of a random search
  std::vector<Dimension> space;  ///< of a list: what members have where they do not say otherwise
  std::vector<Point> members;    ///< of a list
  std::optional<HalvingRule> halving;
};

/// The most members of a sweep.
inline constexpr std::size_t kMostSweepMembers = 65536;

/// Errors: kInvalidInput naming file, line and key, and what would be right.
Result<Sweep> parse_sweep(std::string_view toml, const std::filesystem::path& file);
/// The same from a file.
Result<Sweep> read_sweep(const std::filesystem::path& file);

}  // namespace cohort
