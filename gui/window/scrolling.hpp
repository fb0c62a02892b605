#pragma once

class QScrollArea;
class QWidget;

namespace cohort {

/// An area without a frame that shows all of `content` where it is large enough, and else a part to be scrolled.
QScrollArea* scrolling(QWidget* content);

}  // namespace cohort
