#include "tracer/slice_kind.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace cohort {
namespace {

constexpr std::array<std::pair<std::string_view, SliceKind>, 14> kCategories = {{
    {"kernel", SliceKind::kKernel},
    {"concurrent_kernel", SliceKind::kKernel},
    {"gpu_memcpy", SliceKind::kCopy},
    {"gpu_memset", SliceKind::kMemset},
    {"gpu_graph", SliceKind::kGraph},
    {"cuda_runtime", SliceKind::kRuntimeCall},
    {"cuda_driver", SliceKind::kDriverCall},
    {"cuda_sync", SliceKind::kSynchronization},
    {"cuda_event", SliceKind::kEventRecord},
    {"cpu_op", SliceKind::kOp},
    {"user_annotation", SliceKind::kAnnotation},
    {"gpu_user_annotation", SliceKind::kDeviceAnnotation},
    {"python_function", SliceKind::kPythonFunction},
    {"overhead", SliceKind::kOverhead},
}};

}  // namespace

SliceKinds::SliceKinds(const StringTable& strings) : kinds_(strings.size(), SliceKind::kOther) {
  for (const auto& [category, kind] : kCategories) {
    if (const auto id = strings.find(category)) kinds_[to_index(*id)] = kind;
  }
}

}  // namespace cohort
