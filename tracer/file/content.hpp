#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace cohort {

/// Bytes followed by room that a JSON parser may read beyond their end.
class PaddedBytes {
 public:
  static constexpr std::size_t kPadding = 64;

  explicit PaddedBytes(std::size_t capacity);

  [[nodiscard]] char* data() { return data_.get(); }
  [[nodiscard]] std::size_t capacity() const { return capacity_; }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::string_view view() const { return {data_.get(), size_}; }
  void set_size(std::size_t size);
  void grow(std::size_t capacity);

 private:
  std::size_t capacity_;
  std::size_t size_ = 0;
  struct Free {
    void operator()(char* bytes) const;
  };
  std::unique_ptr<char, Free> data_;
};

/// The content itself, or what it holds where it is gzipped.
/// Errors: kInvalidInput where the gzip data is damaged, cut short, or inflates to more than
/// `most_bytes`, which the user may raise by `raised_by`; empty: not at all. `has_more` is set to whether
/// something other than zeros follows the gzip data.
Result<PaddedBytes> inflated(std::string_view content, std::size_t most_bytes, std::string_view raised_by = {},
                             bool* has_more = nullptr);

/// The content as one gzip member; equal content, equal bytes.
std::string gzipped(std::string_view content);

/// Reasons in info.dropped where gzip data breaks off, and where something follows the JSON document.
inline constexpr std::string_view kDamagedGzipReason = "end of gzip data that is damaged or cut short";
inline constexpr std::string_view kTextBehindReason = "text behind the end of the document";

/// Of reports in Nsight Systems' own format.
inline constexpr std::string_view kNsightReport =
    "a report of Nsight Systems in its own format; export it: nsys export --type sqlite FILE";

/// What a file that is no trace looks like: "a PNG image", "an SQLite database", "empty".
std::string_view describe_content(std::string_view content);

}  // namespace cohort
