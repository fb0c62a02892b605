#include "gui/window/scrolling.hpp"

#include <QScrollArea>

namespace cohort {

QScrollArea* scrolling(QWidget* content) {
  auto* area = new QScrollArea;
  area->setWidgetResizable(true);
  area->setFrameShape(QFrame::NoFrame);
  area->setWidget(content);
  return area;
}

}  // namespace cohort
