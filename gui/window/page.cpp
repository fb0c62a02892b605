#include "gui/window/page.hpp"

namespace cohort {

Page::Page(QWidget* parent) : QWidget(parent) {}

}  // namespace cohort
