#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/model.hpp"

/// Numbers of 8 bits in networks on float32.
namespace cohort {

/// Of each of `rows` rows of equal length, a number that all of the row are multiples of by whole numbers from -128 to
/// 127, to the accuracy of float32; less than 0 where it is -128 times the largest; 1 of a row of zeros. Empty where a
/// row has none.
std::vector<float> steps_of_rows(std::span<const float> weights, std::int64_t rows);
/// The same of each block of `block` adjoining elements of a row, of which the last may be shorter, and of whole
/// numbers of `bits` bits; row by row.
std::vector<float> steps_of_blocks(std::span<const float> weights, std::int64_t rows, std::int64_t block, int bits);

/// Whether all that an op does is to move elements of its only input, or to take the largest of several.
bool only_moves_elements(const Op& op);

/// Finds the convolutions and Gemms of an inference model that read 8-bit numbers only, and says so in their
/// EightBits: x was quantised before, and w is of quantised weights.
void mark_eight_bits(LoadedModel& loaded);

/// Finds the Gemms and recurrent layers of an inference model of which only the weights are quantised, and says so in
/// their `quantized_weights`.
void mark_quantized_weights(LoadedModel& loaded);

}  // namespace cohort
