#pragma once

#include <filesystem>
#include <regex>
#include <string>
#include <vector>

#include "base/cancel.hpp"
#include "executor/backend.hpp"

namespace cohort {

enum class CaseStatus { kPassed, kFailed, kUnsupported };

/// What became of one folder of ONNX test data.
struct CaseResult {
  std::string name;  ///< of its folder
  std::filesystem::path folder;
  CaseStatus status = CaseStatus::kPassed;
  std::string reason;  ///< empty where it passed
};

/// Folders that hold a model.onnx at or below `roots`, in order, each once.
/// Errors: kInvalidInput for a root that is no folder, or without any.
Result<std::vector<std::filesystem::path>> find_cases(const std::vector<std::filesystem::path>& roots);

/// Runs a case: model.onnx on every test_data_set_*, whose output_*.pb must come out: every element within
/// atol + rtol * |expected|, with the "rtol" and "atol" of the case's data.json. Else rtol is 1e-3, and atol 1e-7 or a
/// millionth of the tensor's largest finite |expected|, whichever is more. NaN is equal to NaN alone, an infinity to
/// the same infinity alone.
/// Inputs that an op needs to know beforehand (shapes, axes) are taken as constants. A case fails where a file of it
/// cannot be read; it is unsupported where all is well-formed but holds what is not known here.
/// `strict_nan` as of simplify().
/// Errors: kInterrupted once cancelled, also between what one case takes: reading, loading, running and comparing.
Result<CaseResult> run_case(const std::filesystem::path& folder, Backend& backend, bool strict_nan,
                            const CancelToken& cancel);

}  // namespace cohort
