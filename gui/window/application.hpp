#pragma once

class QApplication;

namespace cohort {

/// Name, style and settings' place of the program; the same on every desktop.
void set_up(QApplication& application);

}  // namespace cohort
