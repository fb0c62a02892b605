#include "executor/input/npy.hpp"

#include <array>
#include <bit>
#include <cassert>
#include <charconv>
#include <cstring>
#include <functional>
#include <numeric>
#include <optional>

#include "base/float16.hpp"

namespace cohort {
namespace {

static_assert(std::endian::native == std::endian::little, "arrays are copied as they lie in memory");

constexpr std::string_view kMagic{"\x93NUMPY", 6};
constexpr std::size_t kAlignment = 64;  // of the data, for those who map the file into memory

std::uint32_t little_endian(std::string_view bytes) {
  std::uint32_t value = 0;
  for (std::size_t i = bytes.size(); i > 0; --i) value = value << 8 | static_cast<unsigned char>(bytes[i - 1]);
  return value;
}

/// What the header says of the data behind it.
struct Description {
  std::optional<std::string> dtype;
  std::optional<bool> fortran_order;
  std::optional<std::vector<std::int64_t>> shape;
};

/// Reads the header, a Python literal such as {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }.
class HeaderReader {
 public:
  explicit HeaderReader(std::string_view text) : rest_(text) {}

  Result<Description> read() {
    Description description;
    COHORT_CHECK(expect('{'));
    while (!accept('}')) {
      COHORT_TRY(const std::string key, string());
      COHORT_CHECK(expect(':'));
      COHORT_CHECK(entry(key, description));
      if (accept(',')) continue;
      COHORT_CHECK(expect('}'));
      break;
    }
    skip_space();
    if (!rest_.empty()) return malformed("nothing more after the closing brace");
    if (!description.dtype || !description.fortran_order || !description.shape)
      return malformed("all of 'descr', 'fortran_order' and 'shape'");
    return description;
  }

 private:
  Result<void> entry(const std::string& key, Description& description) {
    if (key == "descr") {
      skip_space();
      if (rest_.starts_with('['))
        return fail(ErrorCode::kInvalidInput, "holds records; expected an array of float32 ('<f4')");
      COHORT_TRY(description.dtype, string());
    } else if (key == "fortran_order") {
      skip_space();
      if (accept_word("True")) {
        description.fortran_order = true;
      } else if (accept_word("False")) {
        description.fortran_order = false;
      } else {
        return malformed("True or False for 'fortran_order'");
      }
    } else if (key == "shape") {
      COHORT_TRY(description.shape, tuple());
    } else {
      return malformed("only 'descr', 'fortran_order' and 'shape'");
    }
    return {};
  }

  Result<std::string> string() {
    skip_space();
    if (rest_.empty() || (rest_.front() != '\'' && rest_.front() != '"')) return malformed("a quoted name");
    const std::size_t end = rest_.find(rest_.front(), 1);
    if (end == std::string_view::npos) return malformed("a closing quote");
    std::string text(rest_.substr(1, end - 1));
    rest_.remove_prefix(end + 1);
    return text;
  }

  Result<std::vector<std::int64_t>> tuple() {
    std::vector<std::int64_t> extents;
    COHORT_CHECK(expect('('));
    while (!accept(')')) {
      skip_space();
      std::int64_t extent = 0;
      const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), extent);
      if (error != std::errc() || extent < 0) return malformed("extents that are whole numbers from 0");
      rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
      extents.push_back(extent);
      if (accept(',')) continue;
      COHORT_CHECK(expect(')'));
      break;
    }
    return extents;
  }

  void skip_space() {
    const std::size_t begin = rest_.find_first_not_of(" \t\n");
    rest_.remove_prefix(begin == std::string_view::npos ? rest_.size() : begin);
  }
  bool accept(char c) {
    skip_space();
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool accept_word(std::string_view word) {
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }
  Result<void> expect(char c) {
    if (accept(c)) return {};
    return malformed(fmt::format("'{}'", c));
  }
  [[nodiscard]] static tl::unexpected<Error> malformed(std::string_view expected) {
    return fail(ErrorCode::kInvalidInput, "malformed .npy header: expected {}", expected);
  }

  std::string_view rest_;
};

struct Sections {
  std::string_view header;
  std::string_view data;
};

Result<Sections> split(std::string_view bytes) {
  constexpr std::size_t kVersionEnd = 8;
  if (!bytes.starts_with(kMagic))
    return fail(ErrorCode::kInvalidInput, "not a .npy file: it does not begin with \\x93NUMPY");
  if (bytes.size() < kVersionEnd) return fail(ErrorCode::kInvalidInput, "cut off within its first 8 bytes");
  const int major = static_cast<unsigned char>(bytes[6]);
  const int minor = static_cast<unsigned char>(bytes[7]);
  if (major < 1 || major > 3 || minor != 0)
    return fail(ErrorCode::kInvalidInput, ".npy version {}.{} is not known; expected 1.0, 2.0 or 3.0", major, minor);
  const std::size_t length_size = major == 1 ? 2 : 4;
  bytes.remove_prefix(kVersionEnd);
  if (bytes.size() < length_size) return fail(ErrorCode::kInvalidInput, "cut off within the length of its header");
  const std::size_t length = little_endian(bytes.substr(0, length_size));
  bytes.remove_prefix(length_size);
  if (bytes.size() < length)
    return fail(ErrorCode::kInvalidInput, "cut off within its header: {} of {} bytes are there", bytes.size(), length);
  return Sections{bytes.substr(0, length), bytes.substr(length)};
}

/// Values that `shape` stands for; nothing if they could not be counted in 63 bits as bytes.
std::optional<std::int64_t> count_of(std::span<const std::int64_t> shape) {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape)
    if (__builtin_mul_overflow(count, extent, &count)) return {};
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(count, std::int64_t{sizeof(float)}, &bytes)) return {};
  return count;
}

/// A file of plain elements in C order.
struct Contents {
  std::string dtype;
  std::vector<std::int64_t> shape;
  std::int64_t count = 0;
  std::string_view data;
};

Result<Contents> open_npy(std::string_view bytes) {
  COHORT_TRY(const Sections sections, split(bytes));
  COHORT_TRY(Description description, HeaderReader(sections.header).read());
  if (*description.fortran_order)
    return fail(ErrorCode::kInvalidInput, "is in Fortran order; expected C order, as numpy.ascontiguousarray gives");
  const auto count = count_of(*description.shape);
  if (!count) return fail(ErrorCode::kInvalidInput, "its shape ({}) is too large", fmt::join(*description.shape, ", "));
  return Contents{*std::move(description.dtype), *std::move(description.shape), *count, sections.data};
}

/// Memory is taken only once the data is known to be there.
template <class Element>
Result<NpyArray> converted(Contents contents) {
  const auto count = static_cast<std::size_t>(contents.count);
  const std::uint64_t needed = std::uint64_t{count} * sizeof(Element);
  if (needed != contents.data.size())
    return fail(ErrorCode::kInvalidInput, "its shape ({}) needs {} bytes of data; {} are there",
                fmt::join(contents.shape, ", "), needed, contents.data.size());
  NpyArray array{std::move(contents.shape), std::vector<float>(count)};
  for (std::size_t i = 0; i < count; ++i) {
    Element element{};
    std::memcpy(&element, contents.data.data() + i * sizeof(Element), sizeof(Element));
    array.values[i] = static_cast<float>(element);
  }
  return array;
}

constexpr std::array<std::pair<std::string_view, Result<NpyArray> (*)(Contents)>, 12> kNumberTypes = {{
    {"<f4", converted<float>},
    {"<f8", converted<double>},
    {"<f2", converted<Float16>},
    {"|b1", converted<std::uint8_t>},
    {"|u1", converted<std::uint8_t>},
    {"|i1", converted<std::int8_t>},
    {"<u2", converted<std::uint16_t>},
    {"<i2", converted<std::int16_t>},
    {"<u4", converted<std::uint32_t>},
    {"<i4", converted<std::int32_t>},
    {"<u8", converted<std::uint64_t>},
    {"<i8", converted<std::int64_t>},
}};

}  // namespace

std::string encode_npy(std::span<const std::int64_t> shape, std::span<const float> values, std::string_view dtype) {
  assert(count_of(shape) == static_cast<std::int64_t>(values.size()));
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}", dtype,
                                   fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
  const std::size_t before = kMagic.size() + 4;
  header.append(kAlignment - 1 - (before + header.size()) % kAlignment, ' ');
  header.push_back('\n');
  assert(header.size() <= UINT16_MAX);

  std::string bytes(kMagic);
  bytes.append({'\x01', '\x00', static_cast<char>(header.size() & 0xff), static_cast<char>(header.size() >> 8)});
  bytes.append(header);
  bytes.append(reinterpret_cast<const char*>(values.data()), values.size_bytes());
  return bytes;
}

Result<NpyArray> parse_npy(std::string_view bytes) {
  COHORT_TRY(Contents contents, open_npy(bytes));
  for (const auto& [dtype, convert] : kNumberTypes) {
    if (dtype == contents.dtype) return convert(std::move(contents));
  }
  return fail(ErrorCode::kInvalidInput,
              "holds '{}'; expected float16, float32, float64, bool or whole numbers, little-endian, as "
              "array.astype('float32') gives",
              contents.dtype);
}

Result<NpyArray> read_npy(const std::filesystem::path& path) {
  COHORT_TRY(const std::string bytes, read_file(path));
  auto array = parse_npy(bytes);
  if (!array) return in_context(path.string(), array.error());
  return array;
}

Result<void> write_npy(const std::filesystem::path& path, std::span<const std::int64_t> shape,
                       std::span<const float> values, Overwrite overwrite) {
  return write_file(path, encode_npy(shape, values), overwrite);
}

}  // namespace cohort
