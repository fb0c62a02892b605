#include <algorithm>
#include <cmath>
#include <set>

#include "base/file.hpp"
#include "executor/input/image_folder.hpp"
#include "executor/input/npy.hpp"
#include "training/csv_table.hpp"
#include "training/data_set.hpp"

namespace cohort {
namespace {

constexpr std::int64_t kMostClasses = 1'000'000;

Result<std::int32_t> label_of(float number, std::size_t sample) {
  if (number >= 0 && number < static_cast<float>(kMostClasses) && number == std::trunc(number))
    return static_cast<std::int32_t>(number);
  return fail(ErrorCode::kInvalidInput, "the label of sample {} must be a class, a whole number from 0, not {}", sample,
              number);
}

/// One number that is none would make the statistics of all samples, and soon all weights, no numbers.
Result<void> check_finite(const std::filesystem::path& file, const std::vector<float>& values, std::size_t samples) {
  const auto found = std::find_if(values.begin(), values.end(), [](float value) { return !std::isfinite(value); });
  if (found == values.end()) return {};
  const auto each = static_cast<std::ptrdiff_t>(values.size() / samples);
  return fail(ErrorCode::kInvalidInput, "{}: sample {} holds {}; all values must be finite numbers", file.string(),
              (found - values.begin()) / each, *found);
}

Result<DataSet> read_arrays(const DataFiles& files, LossKind loss) {
  COHORT_TRY(NpyArray samples, read_npy(files.samples));
  COHORT_TRY(NpyArray labels, read_npy(files.labels));
  if (samples.shape.size() < 2 || samples.values.empty())
    return fail(ErrorCode::kInvalidInput, "{}: shape {}; samples are [samples, features ...], one at least",
                files.samples.string(), to_string(samples.shape));
  DataSet data;
  data.name = files.samples.string();
  data.samples = static_cast<std::size_t>(samples.shape.front());
  data.shape.assign(samples.shape.begin() + 1, samples.shape.end());
  data.values = std::move(samples.values);
  COHORT_CHECK(check_finite(files.samples, data.values, data.samples));
  if (labels.shape.empty() || labels.shape.front() != samples.shape.front())
    return fail(ErrorCode::kInvalidInput, "{}: shape {} does not fit {} of {} samples; one label each is needed",
                files.labels.string(), to_string(labels.shape), files.samples.string(), data.samples);
  if (loss == LossKind::kMeanSquaredError) {
    data.target_size = labels.values.size() / data.samples;
    data.targets = std::move(labels.values);
    COHORT_CHECK(check_finite(files.labels, data.targets, data.samples));
    return data;
  }
  if (labels.shape.size() > 2 || labels.values.empty())
    return fail(ErrorCode::kInvalidInput, "{}: shape {}; classes are one number a sample, or one for each of its steps",
                files.labels.string(), to_string(labels.shape));
  data.labels_each = labels.values.size() / data.samples;
  for (std::size_t i = 0; i < labels.values.size(); ++i) {
    auto label = label_of(labels.values[i], i / data.labels_each);
    if (!label) return in_context(files.labels.string(), label.error());
    data.labels.push_back(*label);
  }
  return data;
}

/// Classes of a table: whole numbers stand for themselves; other texts are numbered in their order.
void set_classes(const std::vector<std::string>& texts, DataSet& data) {
  const auto is_whole = [](const std::string& text) {
    return !text.empty() && text.size() < 7 && text.find_first_not_of("0123456789") == std::string::npos;
  };
  if (std::all_of(texts.begin(), texts.end(), is_whole)) {
    for (const std::string& text : texts) data.labels.push_back(static_cast<std::int32_t>(std::stol(text)));
    return;
  }
  const std::set<std::string> names(texts.begin(), texts.end());
  data.classes.assign(names.begin(), names.end());
  for (const std::string& text : texts) {
    const auto found = std::lower_bound(data.classes.begin(), data.classes.end(), text);
    data.labels.push_back(static_cast<std::int32_t>(found - data.classes.begin()));
  }
}

Result<DataSet> read_table(const DataFiles& files, LossKind loss) {
  COHORT_TRY(const std::string text, read_file(files.samples));
  auto table = parse_csv(text, files.columns);
  if (!table) return in_context(files.samples.string(), table.error());
  DataSet data;
  data.name = files.samples.string();
  data.samples = table->rows;
  data.shape = {static_cast<std::int64_t>(table->features.size())};
  data.values = std::move(table->values);
  data.columns = std::move(table->features);
  if (loss == LossKind::kCrossEntropy) {
    const auto empty = std::find(table->texts.begin(), table->texts.end(), "");
    if (empty != table->texts.end())
      return fail(ErrorCode::kInvalidInput, "{}: sample {} has no label in column \"{}\"", data.name,
                  empty - table->texts.begin(), files.columns.front());
    set_classes(table->texts, data);
    return data;
  }
  data.target_size = files.columns.size();
  for (std::size_t i = 0; i < table->texts.size(); ++i) {
    char* end = nullptr;
    const float value = std::strtof(table->texts[i].c_str(), &end);
    if (table->texts[i].empty() || *end != '\0' || !std::isfinite(value))
      return fail(ErrorCode::kInvalidInput, "{}: the target of sample {} in column \"{}\" must be a number, not \"{}\"",
                  data.name, i / data.target_size, files.columns[i % data.target_size], table->texts[i]);
    data.targets.push_back(value);
  }
  return data;
}

/// A class that was forgotten would train as if it were none.
Result<void> check_class_folders(const ImageFolder& folder) {
  std::error_code error;
  std::vector<std::string> empty;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path, error)) {
    const std::string name = entry.path().filename().string();
    if (entry.is_directory(error) && !name.starts_with('.') &&
        std::find(folder.classes.begin(), folder.classes.end(), name) == folder.classes.end())
      empty.push_back(name);
  }
  if (empty.empty()) return {};
  std::sort(empty.begin(), empty.end());
  return fail(ErrorCode::kInvalidInput, "class folder {} holds no JPEGs (.jpg, .jpeg); fill it or remove it",
              (folder.path / empty.front()).string());
}

Result<DataSet> read_folder(const DataFiles& files, LossKind loss) {
  if (loss != LossKind::kCrossEntropy)
    return fail(ErrorCode::kInvalidInput, "{}: folders of images have classes; loss = \"{}\" needs targets",
                files.samples.string(), to_string(loss));
  COHORT_TRY(ImageFolder folder, scan_image_folder(files.samples));
  COHORT_CHECK(check_class_folders(folder));
  DataSet data;
  data.name = files.samples.string();
  data.samples = folder.images.size();
  data.classes = std::move(folder.classes);
  for (ImageFile& image : folder.images) {
    data.images.push_back(std::move(image.path));
    data.labels.push_back(static_cast<std::int32_t>(image.label));
  }
  return data;
}

}  // namespace

std::int64_t DataSet::class_count() const {
  if (!classes.empty()) return static_cast<std::int64_t>(classes.size());
  return labels.empty() ? 0 : std::int64_t{*std::max_element(labels.begin(), labels.end())} + 1;
}

Result<DataSet> read_data_set(const DataFiles& files, LossKind loss) {
  switch (files.kind) {
    case DataKind::kArrays:
      return read_arrays(files, loss);
    case DataKind::kTable:
      return read_table(files, loss);
    case DataKind::kFolder:
      return read_folder(files, loss);
  }
  return fail(ErrorCode::kInvalidInput, "no data");
}

}  // namespace cohort
