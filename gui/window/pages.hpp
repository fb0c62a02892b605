#pragma once

namespace cohort {

class MainWindow;

/// Gives a window every screen that there is.
void add_pages(MainWindow& window);

}  // namespace cohort
