#pragma once

#include <cudnn.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace cohort::cuda {

/// Throws DeviceError naming the call, where it was made and the library's own words.
void check_cudnn(cudnnStatus_t status, std::string_view call);

/// Throws DeviceError.
class CudnnHandle {
 public:
  CudnnHandle() { check_cudnn(cudnnCreate(&raw_), "cudnnCreate"); }
  CudnnHandle(const CudnnHandle&) = delete;
  CudnnHandle& operator=(const CudnnHandle&) = delete;
  ~CudnnHandle() { (void)cudnnDestroy(raw_); }

  [[nodiscard]] cudnnHandle_t raw() const { return raw_; }

 private:
  cudnnHandle_t raw_ = nullptr;
};

/// A backend descriptor of cuDNN's graph API. Calls that fail throw DeviceError.
class Descriptor {
 public:
  explicit Descriptor(cudnnBackendDescriptorType_t type);
  Descriptor(Descriptor&& other) noexcept : raw_(other.raw_) { other.raw_ = nullptr; }
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor();
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  [[nodiscard]] cudnnBackendDescriptor_t raw() const { return raw_; }

  Descriptor& set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::int64_t count,
                  const void* values);
  Descriptor& set(cudnnBackendAttributeName_t name, const std::vector<std::int64_t>& values);
  Descriptor& set(cudnnBackendAttributeName_t name, std::int64_t value);
  Descriptor& set(cudnnBackendAttributeName_t name, float value);
  Descriptor& set(cudnnBackendAttributeName_t name, bool value);
  Descriptor& set(cudnnBackendAttributeName_t name, cudnnDataType_t value);
  Descriptor& set(cudnnBackendAttributeName_t name, const Descriptor& value);
  Descriptor& set(cudnnBackendAttributeName_t name, cudnnHandle_t value);
  Descriptor& set(cudnnBackendAttributeName_t name, const std::vector<cudnnBackendDescriptor_t>& values);
  void finalize();
  /// Whether the library accepts the descriptor. Only its refusal for lack of support is an answer;
  /// anything else throws.
  [[nodiscard]] bool try_finalize();

  [[nodiscard]] std::int64_t get_int64(cudnnBackendAttributeName_t name) const;
  /// Values of an enumeration attribute (notes).
  template <class Enum>
  [[nodiscard]] std::vector<Enum> get_enums(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type) const {
    std::int64_t count = 0;
    get(name, type, 0, &count, nullptr);
    std::vector<Enum> values(static_cast<std::size_t>(count));
    if (count > 0) get(name, type, count, &count, values.data());
    values.resize(static_cast<std::size_t>(count));
    return values;
  }
  void get(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::int64_t room, std::int64_t* count,
           void* values) const;

 private:
  cudnnBackendDescriptor_t raw_ = nullptr;
};

/// A device's properties in cuDNN's own JSON, which it exports where the device is ("cohort calibrate" keeps it).
/// With them engines are listed on a machine without the device.
/// Errors: kInvalidInput in cuDNN's words where the text is not such a description.
Result<Descriptor> parse_device_properties(const std::string& json);

}  // namespace cohort::cuda
