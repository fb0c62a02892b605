#include "tracer/file/cut_gzip.hpp"

#include <zlib.h>

#include <algorithm>
#include <limits>
#include <memory>

namespace cohort {
namespace {

struct End {
  void operator()(z_stream* stream) const { inflateEnd(stream); }
};

}  // namespace

std::optional<PaddedBytes> inflated_part(std::string_view content, std::size_t most_bytes) {
  constexpr int kGzipOnly = 16;
  constexpr std::size_t kLeast = std::size_t{1} << 16;
  constexpr std::size_t kMostAtOnce = std::numeric_limits<uInt>::max();
  z_stream stream{};
  if (inflateInit2(&stream, kGzipOnly + MAX_WBITS) != Z_OK) return std::nullopt;
  const std::unique_ptr<z_stream, End> owner(&stream);
  PaddedBytes bytes(std::min(std::max(kLeast, 4 * content.size()), most_bytes));
  std::size_t used = 0;
  for (;;) {
    if (bytes.size() == bytes.capacity()) {
      if (bytes.capacity() >= most_bytes) return std::nullopt;
      bytes.grow(std::min(most_bytes, 2 * bytes.capacity()));
    }
    const std::size_t in = std::min(content.size() - used, kMostAtOnce);
    const std::size_t room = std::min(bytes.capacity() - bytes.size(), kMostAtOnce);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data() + used));  // read only
    stream.avail_in = static_cast<uInt>(in);
    stream.next_out = reinterpret_cast<Bytef*>(bytes.data() + bytes.size());
    stream.avail_out = static_cast<uInt>(room);
    const int status = inflate(&stream, Z_NO_FLUSH);
    const std::size_t made = room - stream.avail_out;
    used += in - stream.avail_in;
    bytes.set_size(bytes.size() + made);
    if (status == Z_STREAM_END) {  // the next member, if any
      if (used == content.size() || inflateReset(&stream) != Z_OK) break;
    } else if (status != Z_OK || (made == 0 && in == stream.avail_in)) {
      break;
    }
  }
  if (bytes.size() == 0) return std::nullopt;
  return bytes;
}

}  // namespace cohort
