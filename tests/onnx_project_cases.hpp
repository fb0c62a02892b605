#pragma once

namespace cohort {

/// The ONNX project's cases, where Debian's libonnx-testdata puts them.
constexpr const char* kProjectCases = "/usr/lib/python3/dist-packages/onnx/backend/test/data";

/// Matches the names of all but those of bfloat16, which in ONNX 1.12 hold the bits of its numbers as numbers (later
/// releases do not), and two of Resize that divide by the length before it was rounded (docs/models.md).
constexpr const char* kReadableCases = "^(?!.*BFLOAT16|test_resize_downsample_scales_(linear|cubic)_align_corners)";

}  // namespace cohort
