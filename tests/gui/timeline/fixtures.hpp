#pragma once

#include <QApplication>
#include <QWheelEvent>
#include <QWidget>
#include <memory>

#include "view/timeline/timeline.hpp"

namespace cohort {

/// A host thread that launches two kernels onto a stream, and a second stream:
///
///     GPU 0 / stream 7        |first  |second |
///     GPU 0 / stream 8              |other     |
///     python / thread 1  |outer                |
///                         |launch| |launch|
inline Trace small_trace() {
  using namespace literals;
  Trace trace;
  trace.tracks = {{"python", "thread 1", 1, 1}, {"GPU 0", "stream 7", 0, 7}, {"GPU 0", "stream 8", 0, 8}};
  trace.info.device.kind = "cuda";
  trace.info.device.cores = 100;
  const std::array<Trace::NamedArg, 2> grid{{{"grid", std::string_view("[50,1,1]")}, {"member", std::int64_t{1}}}};
  trace.add_slice(TrackId{0}, "outer", "cpu_op", 0_us, 100_us);
  const SliceId launch1 = trace.add_slice(TrackId{0}, "cudaLaunchKernel", "cuda_runtime", 5_us, 10_us);
  const SliceId launch2 = trace.add_slice(TrackId{0}, "cudaLaunchKernel", "cuda_runtime", 25_us, 10_us);
  const SliceId first = trace.add_slice(TrackId{1}, "sgemm_first", "kernel", 20_us, 20_us, grid);
  const SliceId second = trace.add_slice(TrackId{1}, "relu_second", "kernel", 50_us, 30_us, grid);
  trace.add_slice(TrackId{2}, "conv_other", "kernel", 30_us, 40_us, grid);
  const StringId flow = trace.strings.intern("ac2g");
  trace.flows = {{launch1, first, flow}, {launch2, second, flow}};
  return trace;
}

inline constexpr SliceRef kOuter{0, SliceId{0}};
inline constexpr SliceRef kLaunch1{0, SliceId{1}};
inline constexpr SliceRef kLaunch2{0, SliceId{2}};
inline constexpr SliceRef kFirst{0, SliceId{3}};
inline constexpr SliceRef kSecond{0, SliceId{4}};
inline constexpr SliceRef kOther{0, SliceId{5}};

inline std::shared_ptr<const Timeline> small_timeline() {
  return std::make_shared<const Timeline>(
      std::vector<TimelinePart>{{std::make_shared<const Trace>(small_trace()), Nanoseconds(0), ""}});
}

/// A turn of the wheel as a mouse sends it: `notches` away from the user.
inline void turn_wheel(QWidget& widget, QPointF point, double notches, Qt::KeyboardModifiers modifiers = {}) {
  constexpr double kNotch = 120;
  QWheelEvent event(point, widget.mapToGlobal(point), QPoint(), QPoint(0, static_cast<int>(notches * kNotch)),
                    Qt::NoButton, modifiers, Qt::NoScrollPhase, false);
  QApplication::sendEvent(&widget, &event);
}

}  // namespace cohort
