#include "models/onnx/external_data.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <fstream>
#include <optional>
#include <system_error>

#include "models/onnx/other_content.hpp"

namespace cohort::onnx {

namespace {

namespace fs = std::filesystem;

/// A field that is a number; nothing where the tensor has none.
Result<std::optional<std::uintmax_t>> number(const std::map<std::string, std::string>& fields,
                                             const std::string& name) {
  const auto found = fields.find(name);
  if (found == fields.end()) return std::optional<std::uintmax_t>();
  const std::string& text = found->second;
  const char* const end = text.data() + text.size();
  std::uintmax_t value = 0;
  const auto [read, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc{} && read == end) return std::optional<std::uintmax_t>(value);
  return fail(ErrorCode::kInvalidInput, "its {} must be a whole number, not \"{}\"", name, text);
}

/// The file, links followed, where that is inside of the folder.
Result<fs::path> file_at(const fs::path& folder, const std::string& location) {
  if (location.empty() || fs::path(location).is_absolute())
    return fail(ErrorCode::kInvalidInput, "its values lie at \"{}\", which is no path beside the model", location);
  std::error_code error;
  const fs::path root = fs::canonical(folder.empty() ? fs::path(".") : folder, error);
  if (error) return fail(ErrorCode::kInvalidInput, "folder {}: {}", folder.string(), error.message());
  const fs::path file = fs::canonical(root / location, error);
  if (error)
    return fail(ErrorCode::kInvalidInput, "its values lie in {}: {}", (root / location).string(), error.message());
  const auto [end_of_root, unused] = std::mismatch(root.begin(), root.end(), file.begin(), file.end());
  if (end_of_root != root.end())
    return fail(ErrorCode::kInvalidInput, "its values lie at \"{}\", which is not in the model's folder", location);
  if (!fs::is_regular_file(file, error))
    return fail(ErrorCode::kInvalidInput, "its values lie in {}, which is no file", file.string());
  return file;
}

std::string first_bytes(const fs::path& file) {
  std::string bytes(64, '\0');
  std::ifstream stream(file, std::ios::binary);
  stream.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  bytes.resize(static_cast<std::size_t>(stream.gcount()));
  return bytes;
}

}  // namespace

Result<std::string> external_bytes(const fs::path& folder, const std::map<std::string, std::string>& fields) {
  const auto location = fields.find("location");
  COHORT_TRY(const fs::path file, file_at(folder, location != fields.end() ? location->second : std::string()));
  COHORT_TRY(const auto offset, number(fields, "offset"));
  COHORT_TRY(const auto length, number(fields, "length"));
  std::error_code error;
  const std::uintmax_t size = fs::file_size(file, error);
  if (error) return fail(ErrorCode::kInvalidInput, "{}: {}", file.string(), error.message());
  const std::uintmax_t begin = offset.value_or(0);
  if (begin > size || length.value_or(0) > size - begin) {
    if (const auto other = other_content(first_bytes(file)))
      return fail(ErrorCode::kInvalidInput, "its values lie in {}, but it is {}", file.string(), *other);
    return fail(ErrorCode::kInvalidInput, "its values lie at {} + {} bytes of {}, which has {}", begin,
                length.value_or(0), file.string(), size);
  }
  std::string bytes(static_cast<std::size_t>(length.value_or(size - begin)), '\0');
  std::ifstream stream(file, std::ios::binary);
  stream.seekg(static_cast<std::streamoff>(begin));
  stream.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!stream) return fail(ErrorCode::kInvalidInput, "{} cannot be read", file.string());
  return bytes;
}

}  // namespace cohort::onnx
