#include "models/onnx/other_content.hpp"

#include <algorithm>
#include <cctype>

#include "base/lfs_pointer.hpp"

namespace cohort::onnx {

namespace {

/// The first letters, in lower case, without what may stand before a page's first tag.
std::string first_text(std::string_view bytes) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  constexpr std::size_t kEnough = 16;
  if (bytes.starts_with(kByteOrderMark)) bytes.remove_prefix(kByteOrderMark.size());
  bytes.remove_prefix(std::min(bytes.find_first_not_of(" \t\r\n"), bytes.size()));
  std::string text(bytes.substr(0, kEnough));
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

}  // namespace

std::optional<std::string> other_content(std::string_view bytes) {
  if (is_lfs_pointer(bytes)) return std::string(kLfsPointerText);
  const std::string text = first_text(bytes);
  for (const std::string_view tag : {"<!doctype html", "<html", "<head", "<?xml"}) {
    if (text.starts_with(tag))
      return "a web page; download the file itself (on GitHub \"raw\", on Hugging Face \"resolve\" instead of "
             "\"blob\")";
  }
  if (bytes.starts_with("PK\x03\x04"))
    return "a zip archive, as PyTorch saves models; unpack it, or export the model with torch.onnx.export";
  if (bytes.starts_with("\x1f\x8b")) return "compressed with gzip; unpack it with gunzip";
  return std::nullopt;
}

}  // namespace cohort::onnx
