#include "executor/input/encode.hpp"

#include <turbojpeg.h>

#include <cassert>
#include <memory>

namespace cohort {
namespace {

struct DestroyEncoder {
  void operator()(void* handle) const noexcept { tjDestroy(handle); }
};
struct FreeBuffer {
  void operator()(unsigned char* buffer) const noexcept { tjFree(buffer); }
};

}  // namespace

Result<std::string> encode_jpeg(const PixelView& pixels, int quality) {
  constexpr int kMostExtent = 65500;  // JPEG_MAX_DIMENSION
  if (pixels.width < 1 || pixels.height < 1 || pixels.width > kMostExtent || pixels.height > kMostExtent)
    return fail(ErrorCode::kInvalidInput, "cannot write a JPEG of {} x {} pixels; each extent must be 1 to {}",
                pixels.width, pixels.height, kMostExtent);
  assert(pixels.channels == 1 || pixels.channels == 3);
  assert(pixels.values.size() == static_cast<std::size_t>(pixels.width) * static_cast<std::size_t>(pixels.height) *
                                     static_cast<std::size_t>(pixels.channels));
  const std::unique_ptr<void, DestroyEncoder> handle(tjInitCompress());
  if (handle == nullptr)
    return fail(ErrorCode::kDoesNotFit, "cannot start the JPEG encoder: {}", tjGetErrorStr2(nullptr));
  unsigned char* data = nullptr;
  unsigned long size = 0;
  const bool gray = pixels.channels == 1;
  const int status =
      tjCompress2(handle.get(), pixels.values.data(), pixels.width, 0, pixels.height, gray ? TJPF_GRAY : TJPF_RGB,
                  &data, &size, gray ? TJSAMP_GRAY : TJSAMP_420, quality, 0);
  const std::unique_ptr<unsigned char, FreeBuffer> owner(data);
  if (status != 0) return fail(ErrorCode::kDoesNotFit, "cannot encode a JPEG: {}", tjGetErrorStr2(handle.get()));
  return std::string(reinterpret_cast<const char*>(data), size);
}

}  // namespace cohort
