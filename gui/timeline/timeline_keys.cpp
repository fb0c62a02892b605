// What keys do in a TimelineView.

#include <QKeyEvent>
#include <algorithm>
#include <array>

#include "gui/timeline/timeline_view.hpp"

namespace cohort {
namespace {

constexpr double kZoomOfKey = 1.25;

}  // namespace

enum class TimelineView::Action {
  kZoomIn,
  kZoomOut,
  kPanLeft,
  kPanRight,
  kShowAll,
  kFocus,
  kNext,
  kPrevious,
  kFollow,
  kFollowBack,
  kRowUp,
  kRowDown,
  kPageUp,
  kPageDown,
  kMark,
  kClear,
  kSearch,
  kFindTrack,
};

bool TimelineView::event(QEvent* event) {
  // Single letters are ours before they are the window's.
  if (event->type() == QEvent::ShortcutOverride && action_of(static_cast<const QKeyEvent&>(*event))) {
    event->accept();
    return true;
  }
  return QWidget::event(event);
}

std::optional<TimelineView::Action> TimelineView::action_of(const QKeyEvent& event) {
  struct Binding {
    int key;
    Action action;
  };
  static constexpr std::array<Binding, 21> kKeys = {{{Qt::Key_W, Action::kZoomIn},
                                                     {Qt::Key_S, Action::kZoomOut},
                                                     {Qt::Key_A, Action::kPanLeft},
                                                     {Qt::Key_D, Action::kPanRight},
                                                     {Qt::Key_Left, Action::kPanLeft},
                                                     {Qt::Key_Right, Action::kPanRight},
                                                     {Qt::Key_Home, Action::kShowAll},
                                                     {Qt::Key_0, Action::kShowAll},
                                                     {Qt::Key_F, Action::kFocus},
                                                     {Qt::Key_Period, Action::kNext},
                                                     {Qt::Key_Comma, Action::kPrevious},
                                                     {Qt::Key_BracketRight, Action::kFollow},
                                                     {Qt::Key_BracketLeft, Action::kFollowBack},
                                                     {Qt::Key_Up, Action::kRowUp},
                                                     {Qt::Key_Down, Action::kRowDown},
                                                     {Qt::Key_PageUp, Action::kPageUp},
                                                     {Qt::Key_PageDown, Action::kPageDown},
                                                     {Qt::Key_M, Action::kMark},
                                                     {Qt::Key_Escape, Action::kClear},
                                                     {Qt::Key_Slash, Action::kSearch},
                                                     {Qt::Key_P, Action::kFindTrack}}};
  const auto modifiers = event.modifiers() & ~(Qt::KeypadModifier | Qt::ShiftModifier | Qt::GroupSwitchModifier);
  // Keyboards have signs on different keys: they count by what they write, wherever they are.
  const int key = event.text() == QLatin1String("/") ? int{Qt::Key_Slash} : event.key();
  const auto* const found =
      std::find_if(kKeys.begin(), kKeys.end(), [&](const Binding& binding) { return binding.key == key; });
  if (found == kKeys.end()) return std::nullopt;
  const auto wanted = found->action == Action::kFindTrack ? Qt::ControlModifier : Qt::NoModifier;
  const bool with_shift = event.modifiers().testFlag(Qt::ShiftModifier) && found->action == Action::kFindTrack;
  if (modifiers != wanted || with_shift) return std::nullopt;
  return found->action;
}

void TimelineView::keyPressEvent(QKeyEvent* event) {
  const auto action = action_of(*event);
  if (!action || !timeline_) {
    QWidget::keyPressEvent(event);
    return;
  }
  perform(*action);
}

void TimelineView::perform(Action action) {
  const int x = underMouse() ? std::clamp(static_cast<int>(pointer_.x()), 0, width()) : width() / 2;
  const int step = std::max(1, width() / 8);
  switch (action) {
    case Action::kZoomIn:
      return zoom(1 / kZoomOfKey, x);
    case Action::kZoomOut:
      return zoom(kZoomOfKey, x);
    case Action::kPanLeft:
      return pan(-step);
    case Action::kPanRight:
      return pan(step);
    case Action::kShowAll:
      return show_all();
    case Action::kFocus:
      return focus_selection();
    case Action::kNext:
    case Action::kPrevious:
      return step_in_lane(action == Action::kNext);
    case Action::kFollow:
    case Action::kFollowBack:
      return step_along_flow(action == Action::kFollow);
    case Action::kRowUp:
    case Action::kRowDown:
      return step_row(action == Action::kRowDown ? 1 : -1);
    case Action::kPageUp:
    case Action::kPageDown:
      return set_scroll(scroll_ + (action == Action::kPageDown ? 1 : -1) * (height() - rows_top()) * 9 / 10);
    case Action::kMark:
      return add_mark();
    case Action::kClear:
      return clear_choice();
    case Action::kSearch:
      Q_EMIT search_requested();
      return;
    case Action::kFindTrack:
      Q_EMIT track_requested();
      return;
  }
}

const std::vector<TimelineShortcut>& timeline_shortcuts() {
  static const std::vector<TimelineShortcut> shortcuts = {
      {"W / S", "zoom in and out at the pointer"},
      {"A / D, Left / Right", "move to earlier and later"},
      {"Ctrl+wheel", "zoom at the pointer"},
      {"Wheel, Page Up / Page Down", "scroll rows"},
      {"Shift+wheel", "move in time"},
      {"Drag", "choose an area and sum it up; on the axis: of all rows"},
      {"Shift+drag, middle drag", "move in time and rows"},
      {"Click", "choose a slice"},
      {"Double click", "zoom to a slice"},
      {"F, F again", "centre the chosen slice, then fit it"},
      {"Home, 0", "show everything"},
      {". / ,", "next and previous slice of the lane"},
      {"] / [", "follow a link, and back"},
      {"Up / Down", "choose in the row above or below"},
      {"M", "mark the chosen slice's start, else the pointer's time; again: remove it"},
      {"Esc", "let go of the area, then of the slice"},
      {"/", "search; Enter and Shift+Enter for the next and previous one"},
      {"Ctrl+P", "find a row by its name"},
  };
  return shortcuts;
}

}  // namespace cohort
