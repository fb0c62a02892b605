#pragma once

#include <QStringList>

class QWidget;

namespace cohort {

/// Asks the user for files to open or to profile, first in `folder`. Empty: none were chosen.
QStringList choose_files_to_open(QWidget* parent, const QString& folder);

}  // namespace cohort
