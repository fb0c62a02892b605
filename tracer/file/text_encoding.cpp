#include "tracer/file/text_encoding.hpp"

#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

namespace cohort {
namespace {

enum class ByteOrder { kLittle, kBig };

bool is_opening(char c) { return c == '{' || c == '['; }

/// Absent where the text is not UTF-16.
std::optional<ByteOrder> utf16_order(std::string_view text) {
  if (text.size() < 2) return std::nullopt;
  if (text.starts_with("\xff\xfe") || (is_opening(text[0]) && text[1] == '\0')) return ByteOrder::kLittle;
  if (text.starts_with("\xfe\xff") || (text[0] == '\0' && is_opening(text[1]))) return ByteOrder::kBig;
  return std::nullopt;
}

class Utf8Writer {
 public:
  explicit Utf8Writer(char* out) : begin_(out), out_(out) {}
  [[nodiscard]] std::size_t size() const { return static_cast<std::size_t>(out_ - begin_); }

  void add(std::uint32_t code) {
    constexpr std::uint32_t kOneByte = 0x80;
    constexpr std::uint32_t kTwoBytes = 0x800;
    constexpr std::uint32_t kThreeBytes = 0x10000;
    if (code < kOneByte) return put(code);
    if (code < kTwoBytes) {
      put(0xC0U | (code >> 6U));
    } else if (code < kThreeBytes) {
      put(0xE0U | (code >> 12U));
      put(0x80U | ((code >> 6U) & 0x3FU));
    } else {
      put(0xF0U | (code >> 18U));
      put(0x80U | ((code >> 12U) & 0x3FU));
      put(0x80U | ((code >> 6U) & 0x3FU));
    }
    put(0x80U | (code & 0x3FU));
  }

 private:
  void put(std::uint32_t byte) { *out_++ = static_cast<char>(static_cast<unsigned char>(byte)); }

  char* begin_;
  char* out_;
};

PaddedBytes utf8_of(std::string_view text, ByteOrder order) {
  const auto unit = [&](std::size_t i) -> std::uint32_t {
    const auto first = static_cast<unsigned char>(text[2 * i]);
    const auto second = static_cast<unsigned char>(text[2 * i + 1]);
    return order == ByteOrder::kLittle ? first | (std::uint32_t{second} << 8U) : second | (std::uint32_t{first} << 8U);
  };
  const std::size_t units = text.size() / 2;
  constexpr std::size_t kMostBytes = 3;  // of a unit; two of a pair take four
  PaddedBytes bytes(units * kMostBytes);
  Utf8Writer writer(bytes.data());
  for (std::size_t i = 0; i < units; ++i) {
    const std::uint32_t code = unit(i);
    const bool high = code >= 0xD800 && code < 0xDC00;
    const std::uint32_t next = high && i + 1 < units ? unit(i + 1) : 0;
    if (high && next >= 0xDC00 && next < 0xE000) {
      writer.add(0x10000 + ((code - 0xD800) << 10U) + (next - 0xDC00));
      ++i;
    } else if (code >= 0xD800 && code < 0xE000) {
      writer.add('?');
    } else if (code != 0xFEFF || i > 0) {  // the byte-order mark
      writer.add(code);
    }
  }
  bytes.set_size(writer.size());
  return bytes;
}

}  // namespace

void decode_text(PaddedBytes& bytes) {
  constexpr std::string_view kMark = "\xef\xbb\xbf";
  const std::string_view text = bytes.view();
  if (text.starts_with(kMark)) {
    std::memmove(bytes.data(), bytes.data() + kMark.size(), text.size() - kMark.size());
    bytes.set_size(text.size() - kMark.size());
  } else if (const auto order = utf16_order(text)) {
    bytes = utf8_of(text, *order);
  }
}

}  // namespace cohort
