#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/cancel.hpp"
#include "base/result.hpp"
#include "models/model.hpp"
#include "training/sweep.hpp"

namespace cohort {

/// Samples with what is to be learned of each: a class, or targets. In memory, or as files to decode.
struct DataSet {
  std::size_t samples = 0;
  Shape shape;                                ///< of one sample; empty until images are decoded
  std::vector<float> values;                  ///< one sample after another
  std::vector<std::filesystem::path> images;  ///< instead of `values`
  std::vector<std::int32_t> labels;           ///< of classification, `labels_each` of a sample
  std::size_t labels_each = 1;                ///< more than one of sequences: one at each step
  std::vector<float> targets;                 ///< else, `target_size` each
  std::size_t target_size = 0;
  std::vector<std::string> classes;  ///< names of folders, or what stands in a table's column; else empty
  std::vector<std::string> columns;  ///< of a table: its features' names
  std::string name;                  ///< for messages: the file or folder

  [[nodiscard]] std::int64_t class_count() const;
};

/// What a network takes and gives.
struct NetworkEnds {
  std::string model;
  std::string input_name;
  Shape input;                  ///< of one sample
  std::size_t sample_axis = 0;  ///< which axis of the network's input counts samples: 1 of sequences [T, N, I]
  Shape output;                 ///< of one sample, of the first output
  std::int64_t rows = 1;        ///< of the output for each sample: of sequences that are told at each step [T*N, ...] T
};

/// Recurrent networks take sequences [T, N, I]; also where T is the minibatch. Errors: kInvalidInput for a model with
/// several inputs, one of whole numbers, or an output without a minibatch.
Result<NetworkEnds> network_ends(const Model& model, std::int64_t minibatch);

/// What members train and are evaluated on, normalised.
struct TrainingData {
  DataSet train;
  DataSet evaluation;
  Normalization normalization;  ///< empty: none. Of images that are decoded each time: of values in [0, 1]
  bool decoded_each_time = false;
};

/// Of samples, labels and targets; of images that are decoded each time, their classes and names.
std::string fingerprint_of(const TrainingData& data);

/// Reads what `options` name: arrays and tables whole, of folders names alone. Nothing is split yet.
/// Errors: kInvalidInput naming the file: what cannot be read, labels that are no whole numbers from 0, as many labels
/// as samples, a class folder without JPEGs.
Result<DataSet> read_data_set(const DataFiles& files, LossKind loss);

/// Data of a sweep: `whole` split by `seed` unless evaluation has samples of its own, brought into the form that the
/// network takes, and normalised; images decoded where they are kept.
/// Errors: kInvalidInput where samples or labels do not fit the network, or are too few for a minibatch; those of
/// decoding, naming the image; kInterrupted.
Result<TrainingData> prepare_data(DataSet whole, std::optional<DataSet> evaluation, const Sweep& sweep,
                                  const NetworkEnds& ends, const CancelToken& cancel);

}  // namespace cohort
