#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.hpp"
#include "base/result.hpp"

namespace cohort {

/// A dense float32 array in C order (the last extent varies fastest).
struct NpyArray {
  std::vector<std::int64_t> shape;  ///< empty: a single value
  std::vector<float> values;

  friend bool operator==(const NpyArray&, const NpyArray&) = default;
};

/// Bytes of a .npy file of version 1.0. `values` has as many entries as `shape` says; their bits are those of elements
/// of type `dtype`, "<f4" or "<i4". Source: numpy/lib/format.py, "NPY format".
std::string encode_npy(std::span<const std::int64_t> shape, std::span<const float> values,
                       std::string_view dtype = "<f4");

/// Reads versions 1.0, 2.0 and 3.0: an array of any plain numbers, as float32. Whole numbers beyond 2^24 lose their
/// last digits.
///
/// Errors: kInvalidInput for what is not .npy, not in C order, or of another type (complex, big-endian), and where the
/// data is shorter or longer than the shape says. Memory is taken only for data that is there.
Result<NpyArray> parse_npy(std::string_view bytes);

/// The same from a file. Errors name it.
Result<NpyArray> read_npy(const std::filesystem::path& path);

/// Errors: kInvalidInput naming the file, as write_file.
Result<void> write_npy(const std::filesystem::path& path, std::span<const std::int64_t> shape,
                       std::span<const float> values, Overwrite overwrite);

}  // namespace cohort
