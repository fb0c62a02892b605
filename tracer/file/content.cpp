#include "tracer/file/content.hpp"

#include <libdeflate.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "base/lfs_pointer.hpp"

namespace cohort {
namespace {

constexpr std::string_view kGzipMagic("\x1f\x8b", 2);
constexpr std::size_t kLeastGzipBytes = 18;

struct FreeDecompressor {
  void operator()(libdeflate_decompressor* it) const { libdeflate_free_decompressor(it); }
};
struct FreeCompressor {
  void operator()(libdeflate_compressor* it) const { libdeflate_free_compressor(it); }
};

/// The last four bytes of a gzip member: the inflated size modulo 2^32. A hint only.
std::size_t claimed_size(std::string_view content) {
  std::size_t size = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    const auto byte = static_cast<unsigned char>(content[content.size() - 4 + i]);
    size |= std::size_t{byte} << (8 * i);
  }
  return size;
}

std::size_t first_capacity(std::string_view content, std::size_t most_bytes) {
  constexpr std::size_t kMostRatio = 1032;  // DEFLATE's limit: 258 bytes from two bits
  return std::min({claimed_size(content), content.size() * kMostRatio, most_bytes});
}

/// Names in JSON may hold a few control characters, as tools write them as they come.
bool is_text(std::string_view content, bool is_json) {
  const std::string_view start = content.substr(0, 512);
  const auto strange = std::count_if(start.begin(), start.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x20 && byte != '\n' && byte != '\r' && byte != '\t';
  });
  constexpr std::ptrdiff_t kFew = 8;
  return strange <= (is_json && start.find('\0') == std::string_view::npos ? kFew : 0);
}

}  // namespace

PaddedBytes::PaddedBytes(std::size_t capacity) : capacity_(capacity) {
  constexpr std::size_t kHugePage = std::size_t{2} << 20;
  constexpr std::size_t kCacheLine = 64;
  const std::size_t bytes = capacity + kPadding;
  const std::size_t alignment = bytes >= 4 * kHugePage ? kHugePage : kCacheLine;
  const std::size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  data_.reset(static_cast<char*>(std::aligned_alloc(alignment, rounded)));
  if (!data_) throw std::bad_alloc();
#ifdef MADV_HUGEPAGE
  // A hint: most of the time of filling fresh memory goes into its pages.
  if (alignment == kHugePage) ::madvise(data_.get(), rounded, MADV_HUGEPAGE);
#endif
}

void PaddedBytes::Free::operator()(char* bytes) const { std::free(bytes); }

void PaddedBytes::set_size(std::size_t size) {
  size_ = size;
  std::memset(data_.get() + size_, 0, kPadding);
}

void PaddedBytes::grow(std::size_t capacity) {
  PaddedBytes larger(capacity);
  std::memcpy(larger.data(), data_.get(), size_);
  larger.set_size(size_);
  *this = std::move(larger);
}

Result<PaddedBytes> inflated(std::string_view content, std::size_t most_bytes, std::string_view raised_by,
                             bool* has_more) {
  const auto too_large = [&] {
    const std::string more = raised_by.empty() ? "" : fmt::format("; {} allows more", raised_by);
    return fail(ErrorCode::kInvalidInput, "holds more than {} bytes{}", most_bytes, more);
  };
  if (!content.starts_with(kGzipMagic)) {
    if (content.size() > most_bytes) return too_large();
    PaddedBytes plain(content.size());
    std::copy(content.begin(), content.end(), plain.data());
    plain.set_size(content.size());
    return plain;
  }
  const auto damaged = [] { return fail(ErrorCode::kInvalidInput, "gzip data that is damaged or cut short"); };
  if (content.size() < kLeastGzipBytes) return damaged();
  const std::unique_ptr<libdeflate_decompressor, FreeDecompressor> inflater(libdeflate_alloc_decompressor());
  if (!inflater) throw std::bad_alloc();
  PaddedBytes bytes(first_capacity(content, most_bytes));
  while (content.starts_with(kGzipMagic)) {  // a file may hold several members, one after another
    std::size_t used = 0;
    std::size_t made = 0;
    const auto status =
        libdeflate_gzip_decompress_ex(inflater.get(), content.data(), content.size(), bytes.data() + bytes.size(),
                                      bytes.capacity() - bytes.size(), &used, &made);
    if (status == LIBDEFLATE_INSUFFICIENT_SPACE) {
      if (bytes.capacity() >= most_bytes) return too_large();
      bytes.grow(std::min(most_bytes, bytes.capacity() * 2 + 4096));
      continue;
    }
    if (status != LIBDEFLATE_SUCCESS) return damaged();
    bytes.set_size(bytes.size() + made);
    content.remove_prefix(used);
  }
  if (has_more != nullptr) *has_more = content.find_first_not_of('\0') != std::string_view::npos;
  return bytes;
}

std::string gzipped(std::string_view content) {
  constexpr int kLevel = 6;
  const std::unique_ptr<libdeflate_compressor, FreeCompressor> deflater(libdeflate_alloc_compressor(kLevel));
  if (!deflater) throw std::bad_alloc();
  std::string out(libdeflate_gzip_compress_bound(deflater.get(), content.size()), '\0');
  out.resize(libdeflate_gzip_compress(deflater.get(), content.data(), content.size(), out.data(), out.size()));
  return out;
}

std::string_view describe_content(std::string_view content) {
  using namespace std::string_view_literals;
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 13> kMagics = {{
      {"\x89PNG"sv, "a PNG image"},
      {"\xff\xd8\xff"sv, "a JPEG image"},
      {"SQLite format 3"sv, "an SQLite database (of Nsight Systems, say); export it as Chrome Trace JSON"},
      {"PK\x03\x04"sv, "a zip archive"},
      {"\x28\xb5\x2f\xfd"sv, "zstd data; unpack it first"},
      {"\xfd"
       "7zXZ"sv,
       "xz data; unpack it first"},
      {"BZh"sv, "bzip2 data; unpack it first"},
      {"\x1f\x8b"sv, "gzip data inside gzip data"},
      {"\x7f"
       "ELF"sv,
       "a program or library"},
      {"%PDF"sv, "a PDF document"},
      {"<"sv, "HTML or XML: a page of a web site instead of the file, it seems; download the raw file"},
      {"NSYSREP"sv, kNsightReport},
      {"\x93NUMPY"sv, "a NumPy array"},
  }};
  if (content.empty()) return "empty";
  if (is_lfs_pointer(content)) return kLfsPointerText;
  for (const auto& [magic, name] : kMagics) {
    if (content.starts_with(magic)) return name;
  }
  const std::size_t first = content.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return "blank";
  // Protobuf: field 1 (ir_version) as a small number, then field 2 (producer_name).
  if (content.size() > 2 && content[0] == '\x08' && content[1] < '\x20' && content[2] == '\x12') return "an ONNX model";
  const bool is_json = content[first] == '{' || content[first] == '[';
  if (!is_text(content, is_json)) return "binary data";
  if (is_json) return "JSON";
  return "text that is not JSON";
}

}  // namespace cohort
