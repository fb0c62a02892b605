#include "executor/cuda/plugin/cudnn_descriptor.hpp"

#include <array>

#include "executor/device_error.hpp"

namespace cohort::cuda {
namespace {

std::string last_error() {
  std::array<char, 1024> text{};
  cudnnGetLastErrorString(text.data(), text.size());
  return text.data();
}

}  // namespace

void check_cudnn(cudnnStatus_t status, std::string_view call) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  const std::string detail = last_error();
  throw DeviceError(fmt::format("{}: {}{}{}", call, cudnnGetErrorString(status), detail.empty() ? "" : ": ", detail));
}

Descriptor::Descriptor(cudnnBackendDescriptorType_t type) {
  check_cudnn(cudnnBackendCreateDescriptor(type, &raw_), "cudnnBackendCreateDescriptor");
}

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  std::swap(raw_, other.raw_);
  return *this;
}

Descriptor::~Descriptor() {
  if (raw_ != nullptr) cudnnBackendDestroyDescriptor(raw_);
}

Descriptor& Descriptor::set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::int64_t count,
                            const void* values) {
  const cudnnStatus_t status = cudnnBackendSetAttribute(raw_, name, type, count, values);
  if (status != CUDNN_STATUS_SUCCESS)
    check_cudnn(status, fmt::format("cudnnBackendSetAttribute({})", static_cast<int>(name)));
  return *this;
}

Descriptor& Descriptor::set(cudnnBackendAttributeName_t name, const std::vector<std::int64_t>& values) {
  return set(name, CUDNN_TYPE_INT64, static_cast<std::int64_t>(values.size()), values.data());
}

Descriptor& Descriptor::set(cudnnBackendAttributeName_t name, std::int64_t value) {
  return set(name, CUDNN_TYPE_INT64, 1, &value);
}

Descriptor& Descriptor::set(cudnnBackendAttributeName_t name, float value) {
  return set(name, CUDNN_TYPE_FLOAT, 1, &value);
}

Descriptor& Descriptor::set(cudnnBackendAttributeName_t name, bool value) {
  return set(name, CUDNN_TYPE_BOOLEAN, 1, &value);
}

Descriptor& Descriptor::set(cudnnBackendAttributeName_t name, cudnnDataType_t value) {
  return set(name, CUDNN_TYPE_DATA_TYPE, 1, &value);
}

Descriptor& Descriptor::set(cudnnBackendAttributeName_t name, const Descriptor& value) {
  return set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &value.raw_);
}

Descriptor& Descriptor::set(cudnnBackendAttributeName_t name, cudnnHandle_t value) {
  return set(name, CUDNN_TYPE_HANDLE, 1, &value);
}

Descriptor& Descriptor::set(cudnnBackendAttributeName_t name, const std::vector<cudnnBackendDescriptor_t>& values) {
  return set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, static_cast<std::int64_t>(values.size()), values.data());
}

void Descriptor::finalize() { check_cudnn(cudnnBackendFinalize(raw_), "cudnnBackendFinalize"); }

bool Descriptor::try_finalize() {
  const cudnnStatus_t status = cudnnBackendFinalize(raw_);
  if (status == CUDNN_STATUS_SUCCESS) return true;
  if (CUDNN_STATUS_CATEGORY(status) == CUDNN_STATUS_NOT_SUPPORTED ||
      CUDNN_STATUS_CATEGORY(status) == CUDNN_STATUS_BAD_PARAM)
    return false;
  check_cudnn(status, "cudnnBackendFinalize");
  return false;
}

void Descriptor::get(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::int64_t room,
                     std::int64_t* count, void* values) const {
  const cudnnStatus_t status = cudnnBackendGetAttribute(raw_, name, type, room, count, values);
  if (status != CUDNN_STATUS_SUCCESS)
    check_cudnn(status, fmt::format("cudnnBackendGetAttribute({})", static_cast<int>(name)));
}

std::int64_t Descriptor::get_int64(cudnnBackendAttributeName_t name) const {
  std::int64_t value = 0;
  std::int64_t count = 0;
  get(name, CUDNN_TYPE_INT64, 1, &count, &value);
  return value;
}

Result<Descriptor> parse_device_properties(const std::string& json) {
  try {
    Descriptor properties(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
    properties.set(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR, static_cast<std::int64_t>(json.size()),
                   json.data());
    properties.finalize();
    return properties;
  } catch (const DeviceError& error) {
    return fail(ErrorCode::kInvalidInput, "not a device description that cuDNN {} reads: {}", cudnnGetVersion(),
                error.what());
  }
}

}  // namespace cohort::cuda
