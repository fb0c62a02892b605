#pragma once

#include <QString>
#include <string_view>

namespace cohort {

/// UTF-8 text as Qt has it.
inline QString qt(std::string_view text) { return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size())); }

}  // namespace cohort
