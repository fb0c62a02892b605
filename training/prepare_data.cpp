#include <algorithm>
#include <atomic>
#include <cmath>
#include <map>
#include <mutex>
#include <numeric>
#include <thread>

#include "base/random.hpp"
#include "executor/input/image_loader.hpp"
#include "training/data_set.hpp"
#include "training/fingerprint.hpp"
#include "training/image_target.hpp"

namespace cohort {
namespace {

/// More than this is not kept decoded unless it is asked for.
constexpr std::int64_t kMostKept = std::int64_t{1} << 30;

/// Samples at the given positions, in their order.
DataSet subset(const DataSet& whole, const std::vector<std::size_t>& positions) {
  DataSet part;
  part.samples = positions.size();
  part.shape = whole.shape;
  part.target_size = whole.target_size;
  part.labels_each = whole.labels_each;
  part.classes = whole.classes;
  part.name = whole.name;
  const std::size_t size = whole.values.size() / whole.samples;
  for (const std::size_t i : positions) {
    const auto copy = [i](const auto& from, std::size_t count, auto& to) {
      const auto begin = from.begin() + static_cast<std::ptrdiff_t>(i * count);
      to.insert(to.end(), begin, begin + static_cast<std::ptrdiff_t>(count));
    };
    if (!whole.values.empty()) copy(whole.values, size, part.values);
    if (!whole.images.empty()) part.images.push_back(whole.images[i]);
    if (!whole.labels.empty()) copy(whole.labels, whole.labels_each, part.labels);
    if (!whole.targets.empty()) copy(whole.targets, whole.target_size, part.targets);
  }
  return part;
}

/// Each class keeps its share of both parts, as near as whole samples allow. Sequences have a class at each step: they
/// are of none as a whole.
void split(DataSet whole, double held_out, std::uint64_t seed, TrainingData& data) {
  if (held_out == 0) {
    data.evaluation = whole;
    data.train = std::move(whole);
    return;
  }
  std::vector<std::size_t> order(whole.samples);
  std::iota(order.begin(), order.end(), std::size_t{0});
  Random random(derive_seed(seed, 0x73706c6974));  // apart from other uses of the seed
  random.shuffle(order);
  std::map<std::int32_t, std::vector<std::size_t>> by_class;
  const bool of_one_class = !whole.labels.empty() && whole.labels_each == 1;
  for (const std::size_t i : order) by_class[of_one_class ? whole.labels[i] : 0].push_back(i);
  std::vector<std::size_t> train;
  std::vector<std::size_t> evaluation;
  for (const auto& [label, samples] : by_class) {
    const auto held = static_cast<std::size_t>(std::llround(held_out * static_cast<double>(samples.size())));
    evaluation.insert(evaluation.end(), samples.begin(), samples.begin() + static_cast<std::ptrdiff_t>(held));
    train.insert(train.end(), samples.begin() + static_cast<std::ptrdiff_t>(held), samples.end());
  }
  std::sort(train.begin(), train.end());
  std::sort(evaluation.begin(), evaluation.end());
  data.train = subset(whole, train);
  data.evaluation = subset(whole, evaluation);
}

Result<void> check_labels(const DataSet& data, const NetworkEnds& ends, LossKind loss) {
  const std::int64_t outputs = element_count(ends.output);
  if (loss == LossKind::kMeanSquaredError) {
    if (static_cast<std::int64_t>(data.target_size) == outputs * ends.rows) return {};
    return fail(ErrorCode::kInvalidInput, "{}: {} targets a sample do not fit the output of {}, {} numbers a sample",
                data.name, data.target_size, ends.model, outputs * ends.rows);
  }
  if (static_cast<std::int64_t>(data.labels_each) != ends.rows)
    return fail(ErrorCode::kInvalidInput, "{}: {} label{} a sample; {} tells {} a sample", data.name, data.labels_each,
                data.labels_each == 1 ? "" : "s", ends.model, ends.rows);
  if (ends.output.size() != 1)
    return fail(ErrorCode::kInvalidInput, "{} gives {} a sample; classes need one score each, [classes]", ends.model,
                to_string(ends.output));
  const auto largest = std::max_element(data.labels.begin(), data.labels.end());
  if (largest == data.labels.end() || *largest < outputs) return {};
  return fail(ErrorCode::kInvalidInput, "{}: label {} of sample {} does not fit the output of {}, {} classes: 0 to {}",
              data.name, *largest, (largest - data.labels.begin()) / static_cast<std::ptrdiff_t>(data.labels_each),
              ends.model, outputs, outputs - 1);
}

Shape without_ones(Shape shape) {
  std::erase(shape, 1);
  return shape;
}

Result<void> check_samples(DataSet& data, const NetworkEnds& ends) {
  if (data.values.empty()) return {};
  // Steps and features are no other way round, nor are channels, of which one may stand anywhere. A flat sample is any
  // image.
  const bool is_sequence = ends.sample_axis == 1;
  const Shape given = is_sequence ? data.shape : without_ones(data.shape);
  const Shape taken = is_sequence ? ends.input : without_ones(ends.input);
  const bool turned = given.size() == taken.size() && given != taken;
  if (turned || element_count(data.shape) != element_count(ends.input))
    return fail(ErrorCode::kInvalidInput, "{}: samples of shape {} do not fit the input of {}, {} a sample", data.name,
                to_string(data.shape), ends.model, to_string(ends.input));
  data.shape = ends.input;
  return {};
}

/// Decodes all images of a part; workers take the next one each.
Result<void> decode(const ImageTarget& target, int workers, const CancelToken& cancel, DataSet& data) {
  data.values.resize(data.samples * target.size());
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  std::map<std::size_t, Error> errors;  // by image: the first one is told, whoever meets it
  const auto work = [&] {
    ImageLoader loader;
    while (!cancel.cancelled()) {
      const std::size_t i = next++;
      if (i >= data.samples) return;
      const auto loaded =
          loader.load(data.images[i], 0, target, std::span(data.values).subspan(i * target.size(), target.size()));
      if (loaded) continue;
      const std::scoped_lock lock(mutex);
      errors.emplace(i, loaded.error());
      next = data.samples;
    }
  };
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < workers; ++i) threads.emplace_back(work);
  }
  COHORT_CHECK(cancel.check());
  if (!errors.empty()) return tl::unexpected<Error>(errors.begin()->second);
  data.images.clear();
  return {};
}

/// By what is normalised: columns of a table, channels of images, else all alike.
std::size_t statistics_count(DataKind kind, const Shape& shape) {
  if (kind == DataKind::kTable) return static_cast<std::size_t>(element_count(shape));
  return shape.size() >= 3 ? static_cast<std::size_t>(shape.front()) : 1;
}

Normalization measured(const DataSet& data, std::size_t count) {
  const std::size_t size = data.values.size() / data.samples;
  const std::size_t run = size / count;  // neighbours with the same statistics
  std::vector<double> sum(count);
  std::vector<double> squares(count);
  for (std::size_t i = 0; i < data.values.size(); ++i) sum[i % size / run] += static_cast<double>(data.values[i]);
  const double each = static_cast<double>(data.samples * run);
  for (double& value : sum) value /= each;
  for (std::size_t i = 0; i < data.values.size(); ++i) {
    const double off = static_cast<double>(data.values[i]) - sum[i % size / run];
    squares[i % size / run] += off * off;
  }
  Normalization result;
  for (std::size_t k = 0; k < count; ++k) {
    const double deviation = std::sqrt(squares[k] / each);
    result.mean.push_back(static_cast<float>(sum[k]));
    result.stddev.push_back(deviation > 1e-12 ? static_cast<float>(deviation) : 1.0F);  // a constant stays zero
  }
  return result;
}

void apply(const Normalization& normalization, DataSet& data) {
  if (normalization.mean.empty() || data.values.empty()) return;
  const std::size_t size = data.values.size() / data.samples;
  const std::size_t run = size / normalization.mean.size();
  for (std::size_t i = 0; i < data.values.size(); ++i) {
    const std::size_t k = i % size / run;
    data.values[i] = (data.values[i] - normalization.mean[k]) / normalization.stddev[k];
  }
}

Result<void> normalize(const Sweep& sweep, const NetworkEnds& ends, TrainingData& data) {
  if (!sweep.data.normalize) return {};
  const std::size_t count = statistics_count(sweep.data.train.kind, ends.input);
  if (sweep.data.normalization) {
    data.normalization = *sweep.data.normalization;
    const std::size_t given = data.normalization.mean.size();
    if (given != 1 && given != count)
      return fail(ErrorCode::kInvalidInput, "normalize: {} means; samples of {} need 1 or {}", given,
                  to_string(ends.input), count);
  } else if (data.decoded_each_time) {
    data.normalization = imagenet_normalization(ends.input.front());
  } else {
    data.normalization = measured(data.train, count);
  }
  if (!data.decoded_each_time) {
    apply(data.normalization, data.train);
    apply(data.normalization, data.evaluation);
  }
  return {};
}

Result<void> check_images(const NetworkEnds& ends, const DataSet& data, std::optional<std::int64_t> resize) {
  const bool fits = ends.input.size() == 3 && (ends.input[0] == 1 || ends.input[0] == 3);
  if (fits) return validate(plain_image_target(ends.input, resize));
  return fail(ErrorCode::kInvalidInput, "{}: images do not fit the input of {}, {} a sample; needed are [3 or 1, H, W]",
              data.name, ends.model, to_string(ends.input));
}

Result<void> check_enough(const TrainingData& data, std::int64_t minibatch) {
  if (data.evaluation.samples == 0)
    return fail(ErrorCode::kInvalidInput, "{}: no sample is left to evaluate on; raise held_out", data.train.name);
  if (static_cast<std::int64_t>(data.train.samples) >= minibatch) return {};
  return fail(ErrorCode::kInvalidInput, "{}: {} samples to train on do not fill a minibatch of {}", data.train.name,
              data.train.samples, minibatch);
}

}  // namespace

namespace {

/// Whether a recurrent layer takes the input [T, N, I] as it is.
bool takes_sequences(const Model& model, TensorId input) {
  return std::any_of(model.ops.begin(), model.ops.end(), [&](const Op& op) {
    const bool recurrent =
        std::holds_alternative<Lstm>(op.attributes) || std::holds_alternative<Recurrent>(op.attributes);
    return recurrent && op.inputs.front() == input;
  });
}

}  // namespace

Result<NetworkEnds> network_ends(const Model& model, std::int64_t minibatch) {
  std::vector<TensorId> inputs = model.inputs;
  std::erase_if(inputs, [&](TensorId id) { return model.tensor(id).role == TensorRole::kSetting; });
  if (inputs.size() != 1)
    return fail(ErrorCode::kInvalidInput, "{} has {} inputs; sweeps train networks with one", model.name,
                inputs.size());
  const Tensor& input = model.tensor(inputs.front());
  if (input.element != ElementType::kFloat32)
    return fail(ErrorCode::kInvalidInput, "{}: input {} takes whole numbers; sweeps train networks that take float32",
                model.name, input.name);
  NetworkEnds ends{model.name, input.name, input.shape, 0, {}, 1};
  const bool second = input.shape.size() == 3 && input.shape[1] == minibatch;
  const bool first =
      !input.shape.empty() && input.shape.front() == minibatch && !(second && takes_sequences(model, inputs.front()));
  if (!first && !second)
    return fail(ErrorCode::kInvalidInput, "{}: input {} of shape {} has no axis for a minibatch of {}", model.name,
                input.name, to_string(input.shape), minibatch);
  ends.sample_axis = first ? 0 : 1;
  ends.input.erase(ends.input.begin() + static_cast<std::ptrdiff_t>(ends.sample_axis));
  ends.output = model.tensor(model.outputs.front()).shape;
  const bool told_at_each_step = ends.sample_axis == 1 && !ends.output.empty() &&
                                 ends.output.front() == ends.input.front() * minibatch && ends.input.front() > 1;
  if (told_at_each_step) ends.rows = ends.input.front();
  if (ends.output.empty() || ends.output.front() != minibatch * ends.rows)
    return fail(ErrorCode::kInvalidInput, "{}: output {} of shape {} does not have a row for each of {} samples",
                model.name, model.tensor(model.outputs.front()).name, to_string(ends.output), minibatch);
  ends.output.erase(ends.output.begin());
  return ends;
}

Result<TrainingData> prepare_data(DataSet whole, std::optional<DataSet> evaluation, const Sweep& sweep,
                                  const NetworkEnds& ends, const CancelToken& cancel) {
  TrainingData data;
  if (evaluation) {
    if (evaluation->columns != whole.columns)
      return fail(ErrorCode::kInvalidInput, "{} and {} have other columns, or in another order: {} and {}", whole.name,
                  evaluation->name, fmt::join(whole.columns, ", "), fmt::join(evaluation->columns, ", "));
    if (evaluation->classes != whole.classes)
      return fail(ErrorCode::kInvalidInput, "{} and {} have other classes: {} and {} of them", whole.name,
                  evaluation->name, whole.class_count(), evaluation->class_count());
    data.train = std::move(whole);
    data.evaluation = *std::move(evaluation);
  } else {
    split(std::move(whole), sweep.data.held_out, sweep.seed, data);
  }
  COHORT_CHECK(check_enough(data, sweep.minibatch));
  for (DataSet* part : {&data.train, &data.evaluation}) {
    COHORT_CHECK(check_labels(*part, ends, sweep.spec.loss));
    COHORT_CHECK(check_samples(*part, ends));
    if (!part->images.empty()) COHORT_CHECK(check_images(ends, *part, sweep.data.resize));
    part->shape = ends.input;
  }
  const bool takes_images = ends.sample_axis == 0 && ends.input.size() == 3;
  if (!takes_images && sweep.data.augmentation.sharing != Augmentation::Sharing::kNone)
    return fail(ErrorCode::kInvalidInput, "augment varies images, [channels, height, width]; {} takes {}{}", ends.model,
                ends.sample_axis == 1 ? "sequences, " : "", to_string(ends.input));
  if (!data.train.images.empty()) {
    const auto images = static_cast<std::int64_t>(data.train.samples + data.evaluation.samples);
    const bool small = images * element_count(ends.input) <= kMostKept / std::int64_t{sizeof(float)};
    data.decoded_each_time = !sweep.data.keep.value_or(small);
    if (!data.decoded_each_time) {
      const ImageTarget target = plain_image_target(ends.input, sweep.data.resize);
      for (DataSet* part : {&data.train, &data.evaluation})
        COHORT_CHECK(decode(target, worker_count(sweep.data), cancel, *part));
    }
  }
  COHORT_CHECK(normalize(sweep, ends, data));
  return data;
}

std::string fingerprint_of(const TrainingData& data) {
  Fingerprint fingerprint;
  for (const DataSet* part : {&data.train, &data.evaluation}) {
    fingerprint.add(std::uint64_t{part->samples}).add(part->values).add(part->labels).add(part->targets);
    // Wherever the folder is, and however it is named: class and file.
    for (const std::filesystem::path& image : part->images)
      fingerprint.add((image.parent_path().filename() / image.filename()).native());
  }
  return fingerprint.text();
}

}  // namespace cohort
