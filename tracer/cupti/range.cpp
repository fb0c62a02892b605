#include "tracer/cupti/range.hpp"

#include <nvtx3/nvToolsExt.h>

#include <generated_nvtx_meta.h>

namespace cohort::cupti {
namespace {

std::string text_of(const nvtxEventAttributes_t* attributes) {
  if (attributes == nullptr || attributes->messageType != NVTX_MESSAGE_TYPE_ASCII) return {};
  return attributes->message.ascii != nullptr ? attributes->message.ascii : "";
}

}  // namespace

RangeCall range_call(std::uint32_t call) {
  switch (call) {
    case CUPTI_CBID_NVTX_nvtxRangePushA:
    case CUPTI_CBID_NVTX_nvtxRangePushW:
    case CUPTI_CBID_NVTX_nvtxRangePushEx:
    case CUPTI_CBID_NVTX_nvtxDomainRangePushEx:
      return RangeCall::kPush;
    case CUPTI_CBID_NVTX_nvtxRangePop:
    case CUPTI_CBID_NVTX_nvtxDomainRangePop:
      return RangeCall::kPop;
    default:
      return RangeCall::kOther;
  }
}

std::string range_text(std::uint32_t call, const void* parameters) {
  if (parameters == nullptr) return {};
  switch (call) {
    case CUPTI_CBID_NVTX_nvtxRangePushA: {
      const char* const message = static_cast<const nvtxRangePushA_params*>(parameters)->message;
      return message != nullptr ? message : "";
    }
    case CUPTI_CBID_NVTX_nvtxRangePushEx:
      return text_of(static_cast<const nvtxRangePushEx_params*>(parameters)->eventAttrib);
    case CUPTI_CBID_NVTX_nvtxDomainRangePushEx:
      return text_of(static_cast<const nvtxDomainRangePushEx_params*>(parameters)->core.eventAttrib);
    default:
      return {};
  }
}

Label label_of_range(std::string_view text) {
  Label label;
  label.task = text;
  const std::size_t slash = text.find('/');
  if (slash == 0 || slash == std::string_view::npos) return label;
  const std::string_view members = text.substr(0, slash);
  if (members.find_first_not_of("0123456789-,") != std::string_view::npos) return label;
  label.members = members;
  label.op = text.substr(slash + 1, text.find('#', slash) - slash - 1);  // "#2": the second of that name
  return label;
}

}  // namespace cohort::cupti
