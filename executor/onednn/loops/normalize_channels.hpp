#pragma once

#include <cstdint>
#include <limits>

namespace cohort::onednn {

/// y = (x - mean) * factor + shift, and not below `floor`; a value for each channel, one behind another.
struct ChannelCoefficients {
  const float *mean, *factor, *shift;
  float floor = -std::numeric_limits<float>::infinity();
};

/// Elements at one distance, of as many channels or of a few: distances in elements.
struct ChannelRun {
  const float* x;
  float* y;
  std::int64_t x_step, y_step, channel_step, count;
};

void normalize_run(const ChannelRun& run, const ChannelCoefficients& coefficients);

/// Rows of all channels: distances in elements from one row to the next.
struct ChannelRows {
  const float* x;
  float* y;
  std::int64_t x_step, y_step, rows, channels;
};

void normalize_rows(const ChannelRows& rows, const ChannelCoefficients& coefficients);

}  // namespace cohort::onednn
