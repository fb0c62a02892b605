#pragma once

#include <QString>

namespace cohort {

/// "1 row", "3 rows".
inline QString counted(qsizetype count, const QString& one, const QString& many) {
  return QStringLiteral("%1 %2").arg(count).arg(count == 1 ? one : many);
}

}  // namespace cohort
