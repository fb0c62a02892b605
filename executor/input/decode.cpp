#include "executor/input/decode.hpp"

#include <turbojpeg.h>

#include <memory>
#include <new>
#include <system_error>

#include "base/file.hpp"

namespace cohort {
namespace {

struct DestroyHandle {
  void operator()(void* handle) const noexcept { tjDestroy(handle); }
};

struct Header {
  int width = 0;
  int height = 0;
};

const unsigned char* bytes_of(std::string_view jpeg) { return reinterpret_cast<const unsigned char*>(jpeg.data()); }

Result<Header> read_header(tjhandle handle, std::string_view jpeg) {
  Header header;
  int subsampling = 0;
  int colours = 0;
  if (tjDecompressHeader3(handle, bytes_of(jpeg), jpeg.size(), &header.width, &header.height, &subsampling, &colours) !=
      0)
    return fail(ErrorCode::kInvalidInput, "broken JPEG: {}", tjGetErrorStr2(handle));
  if (colours == TJCS_CMYK || colours == TJCS_YCCK)
    return fail(ErrorCode::kInvalidInput, "CMYK is not supported: convert to RGB");
  if (static_cast<std::int64_t>(header.width) * header.height > kMostPixels)
    return fail(ErrorCode::kInvalidInput, "its header claims {} x {} pixels; at most {} million are read", header.width,
                header.height, kMostPixels / 1'000'000);
  return header;
}

/// The smallest of 1/8, 1/4, 1/2 and 1 that still covers what is asked. The library's other factors
/// are left out: they have no vector code and take longer than decoding at full size.
tjscalingfactor scale_for(const Header& header, const DecodeRequest& request) {
  for (const int denominator : {8, 4, 2}) {
    const tjscalingfactor scale{1, denominator};
    if (TJSCALED(header.width, scale) >= request.least_width && TJSCALED(header.height, scale) >= request.least_height)
      return scale;
  }
  return {1, 1};
}

}  // namespace

Result<PixelView> JpegDecoder::decode(std::string_view jpeg, const DecodeRequest& request) {
  if (jpeg.empty()) return fail(ErrorCode::kInvalidInput, "broken JPEG: no data");
  // A new handle for each image (0.1 us): the library keeps Huffman and quantisation tables from
  // one image to the next, so that a broken image could spoil a good one, and an image without tables
  // would look different on each worker.
  const std::unique_ptr<void, DestroyHandle> handle(tjInitDecompress());
  if (handle == nullptr)
    return fail(ErrorCode::kDoesNotFit, "cannot start the JPEG decoder: {}", tjGetErrorStr2(nullptr));
  COHORT_TRY(const Header header, read_header(handle.get(), jpeg));
  const tjscalingfactor scale = scale_for(header, request);
  const int width = TJSCALED(header.width, scale);
  const int height = TJSCALED(header.height, scale);
  const std::size_t size =
      static_cast<std::size_t>(width) * static_cast<std::size_t>(height) * static_cast<std::size_t>(request.channels);
  try {
    if (pixels_.size() < size) pixels_.resize(size);
  } catch (const std::bad_alloc&) {
    return fail(ErrorCode::kDoesNotFit, "no memory for an image of {} x {} pixels", width, height);
  }
  // A warning means that the file is cut off or damaged and the rest of the pixels made up; a
  // progressive file of thousands of tiny scans would take minutes.
  const int status =
      tjDecompress2(handle.get(), bytes_of(jpeg), jpeg.size(), pixels_.data(), width, 0, height,
                    request.channels == 1 ? TJPF_GRAY : TJPF_RGB, TJFLAG_STOPONWARNING | TJFLAG_LIMITSCANS);
  if (status != 0) return fail(ErrorCode::kInvalidInput, "broken JPEG: {}", tjGetErrorStr2(handle.get()));
  return PixelView{width, height, request.channels, std::span(pixels_).first(size)};
}

Result<std::string> read_image(const std::filesystem::path& path) {
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  if (error) return fail(ErrorCode::kInvalidInput, "cannot read {}: {}", path.string(), error.message());
  if (size == 0) return fail(ErrorCode::kInvalidInput, "{}: broken JPEG: the file is empty", path.string());
  if (size > static_cast<std::uintmax_t>(kMostFileBytes))
    return fail(ErrorCode::kInvalidInput, "{}: {} bytes are too many for an image; at most {} are read", path.string(),
                size, kMostFileBytes);
  return read_file(path);
}

}  // namespace cohort
