// How quickly a timeline is built and painted, and a trace opened.
//
//   timeline_speed             1 M and 10 M slices on 32 and 256 rows; a trace file of 1 M events
//   timeline_speed SLICES      as many slices instead
//
// Prints Markdown: medians of processor time; of opening a file, where several threads work, of time on the clock. With
// COHORT_BENCH_GUI (where the viewer is built) also times of painting, at 1600 x 900 pixels on Qt's offscreen platform.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "tracer/file/trace_file.hpp"
#include "view/timeline/colours.hpp"
#include "view/timeline/curves.hpp"
#include "view/timeline/search.hpp"
#include "view/timeline/timeline.hpp"

#ifdef COHORT_BENCH_GUI
#include <QApplication>
#include <QMouseEvent>

#include "gui/timeline/timeline_view.hpp"
#endif

namespace cohort {
namespace {

using Clock = std::chrono::steady_clock;

/// Of this thread, or of all of the process: what else runs on the machine then hardly counts.
double processor_ms(clockid_t clock = CLOCK_THREAD_CPUTIME_ID) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

/// Median processor time of `rounds` runs, in milliseconds.
double median_ms(int rounds, const std::function<void()>& run) {
  std::vector<double> times;
  for (int i = 0; i < rounds; ++i) {
    const double begin = processor_ms();
    run();
    times.push_back(processor_ms() - begin);
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

/// Slices without arguments, in the order in which they begin, as recorders write them.
Trace made_up_trace(std::size_t slices, int rows) {
  std::mt19937_64 random(7);
  Trace trace;
  trace.info.device.kind = "cpu";
  trace.info.device.cores = 2;
  std::vector<TrackId> tracks;
  for (int r = 0; r < rows; ++r) tracks.push_back(trace.add_track("cpu:0", fmt::format("stream {}", r)));
  std::vector<StringId> names;
  for (int n = 0; n < 64; ++n) names.push_back(trace.strings.intern(fmt::format("kernel_{}", n)));
  const StringId category = trace.strings.intern("task");
  std::vector<Nanoseconds> at(tracks.size());
  trace.slices.reserve(slices);
  for (std::size_t i = 0; i < slices; ++i) {
    const std::size_t row = i % tracks.size();
    Slice slice;
    slice.start = at[row] + Nanoseconds(static_cast<std::int64_t>(random() % 3'000U));
    slice.duration = Nanoseconds(static_cast<std::int64_t>(1 + random() % (random() % 64U == 0 ? 200'000U : 5'000U)));
    slice.track = tracks[row];
    slice.name = names[random() % names.size()];
    slice.category = category;
    at[row] = slice.end();
    trace.slices.push_back(slice);
  }
  return trace;
}

/// As PyTorch's profiler records it: operator, launch, kernel with its grid, and the flow from one to the other.
Trace recording(std::int64_t events) {
  constexpr std::int64_t kEventsOfAnOp = 5;
  Trace trace;
  trace.tracks = {{"python", "thread 7", 7, 7}, {"GPU 0", "stream 7", 0, 7}};
  trace.info.device.kind = "cuda";
  trace.info.device.cores = 132;
  const StringId flow = trace.strings.intern("ac2g");
  for (std::int64_t i = 0; i < events / kEventsOfAnOp; ++i) {
    const Nanoseconds at(i * 40'000);
    const auto name = fmt::format("aten::op_{}", i % 60);
    const auto kernel =
        fmt::format("void at::native::vectorized_elementwise_kernel<4, functor_{}<float> >(int)", i % 60);
    const auto grid = fmt::format("[{},16,1]", 1 + i % 500);
    const std::array<Trace::NamedArg, 2> op_args{{{"External id", i}, {"Sequence number", i}}};
    const std::array<Trace::NamedArg, 2> call_args{{{"External id", i}, {"correlation", i}}};
    const std::array<Trace::NamedArg, 5> kernel_args{{{"External id", i},
                                                      {"device", std::int64_t{0}},
                                                      {"stream", std::int64_t{7}},
                                                      {"correlation", i},
                                                      {"grid", std::string_view(grid)}}};
    trace.add_slice(TrackId{0}, name, "cpu_op", at, Nanoseconds(30'250), op_args);
    const SliceId call = trace.add_slice(TrackId{0}, "cudaLaunchKernel", "cuda_runtime", at + Nanoseconds(2'500),
                                         Nanoseconds(5'125), call_args);
    const SliceId work =
        trace.add_slice(TrackId{1}, kernel, "kernel", at + Nanoseconds(9'875), Nanoseconds(12'640), kernel_args);
    trace.flows.push_back({call, work, flow});
  }
  return trace;
}

#ifdef COHORT_BENCH_GUI
struct PaintTimes {
  double all = 0;
  double hundredth = 0;
  double near = 0;
  double hover = 0;
};

PaintTimes paint_times(const std::shared_ptr<const Timeline>& timeline) {
  constexpr int kRounds = 31;
  TimelineView view;
  view.resize(1600, 900);
  view.set_timeline(timeline);
  view.show();
  QCoreApplication::processEvents();
  const auto repaint = [&](TimeWindow range) {
    bool odd = false;
    return median_ms(kRounds, [&] {
      odd = !odd;
      view.set_visible_range({range.start + Nanoseconds(odd ? 1 : 0), range.end + Nanoseconds(odd ? 1 : 0)});
      view.repaint();
    });
  };
  const TimeWindow all = timeline->window();
  PaintTimes times;
  times.all = repaint({all.start, all.end - Nanoseconds(2)});
  const Nanoseconds middle = all.start + all.length() / 2;
  times.hundredth = repaint({middle, middle + all.length() / 100});
  times.near = repaint({middle, middle + Nanoseconds(200'000)});
  int x = 100;
  times.hover = median_ms(kRounds, [&] {
    x += 7;
    QMouseEvent move(QEvent::MouseMove, QPointF(x, 130), QPointF(x, 130), Qt::NoButton, Qt::NoButton, Qt::NoModifier);
    QCoreApplication::sendEvent(&view, &move);
    view.repaint();
  });
  return times;
}
#endif

void measure_building(std::size_t slices, int rows) {
  const auto trace = std::make_shared<const Trace>(made_up_trace(slices, rows));
  std::shared_ptr<const Timeline> timeline;
  const int rounds = slices > 2'000'000 ? 5 : 11;
  const double build = median_ms(rounds, [&] {
    timeline.reset();
    timeline = std::make_shared<const Timeline>(std::vector<TimelinePart>{{trace, Nanoseconds(0), ""}});
  });
  SliceColours colours;
  const double colour = median_ms(rounds, [&] { colours = colour_slices(*timeline, Colouring::kName); });
  const double curves = median_ms(3, [&] { static_cast<void>(timeline_curves(*timeline)); });
  const double found = median_ms(3, [&] { static_cast<void>(search(*timeline, "kernel_7")); });
  const double bytes = static_cast<double>(timeline->bytes()) / static_cast<double>(slices) + sizeof(Argb);
  fmt::print("| {:>10} | {:>4} | {:>6.0f} ms | {:>5.1f} | {:>5.0f} ms | {:>6.0f} ms | {:>5.0f} ms |", slices, rows,
             build, bytes, colour, curves, found);
#ifdef COHORT_BENCH_GUI
  const PaintTimes times = paint_times(timeline);
  fmt::print(" {:>5.2f} ms | {:>5.2f} ms | {:>5.2f} ms | {:>5.2f} ms |", times.all, times.hundredth, times.near,
             times.hover);
#endif
  fmt::print("\n");
}

int measure_opening(std::int64_t events) {
  const auto path = std::filesystem::temp_directory_path() / "cohort_timeline_speed.json.gz";
  if (const auto written = write_trace(path, recording(events), Overwrite::kAllow); !written) {
    fmt::print(stderr, "{}\n", written.error().message);
    return 1;
  }
  std::vector<std::array<double, 5>> rounds;
  for (int round = 0; round < 7; ++round) {
    const double processor = processor_ms(CLOCK_PROCESS_CPUTIME_ID);
    const auto begin = Clock::now();
    auto trace = read_trace(path);
    const auto after_read = Clock::now();
    if (!trace) std::abort();
    const auto timeline = std::make_shared<const Timeline>(
        std::vector<TimelinePart>{{std::make_shared<const Trace>(std::move(*trace)), Nanoseconds(0), ""}});
    const auto curves = timeline_curves(*timeline);
    const auto after_build = Clock::now();
#ifdef COHORT_BENCH_GUI
    TimelineView view;
    view.resize(1600, 900);
    view.set_timeline(timeline);
    static_cast<void>(view.grab());
#endif
    const auto ms = [](auto time) { return std::chrono::duration<double, std::milli>(time).count(); };
    const auto end = Clock::now();
    rounds.push_back({ms(end - begin), ms(after_read - begin), ms(after_build - after_read), ms(end - after_build),
                      processor_ms(CLOCK_PROCESS_CPUTIME_ID) - processor});
  }
  std::sort(rounds.begin(), rounds.end());
  const auto [all, read, built, painted, processor] = rounds[rounds.size() / 2];
  fmt::print(
      "\n| events | file | to the first picture | reading | rows, lanes, curves | colours, first picture | processor "
      "time |\n");
  fmt::print("|--:|--:|--:|--:|--:|--:|--:|\n");
  fmt::print("| {} | {} | {:.0f} ms | {:.0f} ms | {:.0f} ms | {:.0f} ms | {:.0f} ms |\n", events,
             format_bytes({static_cast<std::int64_t>(std::filesystem::file_size(path))}), all, read, built, painted,
             processor);
  std::filesystem::remove(path);
  return 0;
}

int run(int argc, char** argv) {
  std::vector<std::size_t> sizes = {1'000'000, 10'000'000};
  if (argc > 1) sizes = {static_cast<std::size_t>(std::strtoull(argv[1], nullptr, 10))};
  fmt::print("| slices | rows | build | bytes a slice | colours | curves | search |");
#ifdef COHORT_BENCH_GUI
  fmt::print(" paint all | paint 1% | paint 200 us | hover |");
#endif
  fmt::print("\n|--:|--:|--:|--:|--:|--:|--:|");
#ifdef COHORT_BENCH_GUI
  fmt::print("--:|--:|--:|--:|");
#endif
  fmt::print("\n");
  for (const std::size_t slices : sizes) {
    for (const int rows : {32, 256}) measure_building(slices, rows);
  }
  return measure_opening(1'000'000);
}

}  // namespace
}  // namespace cohort

int main(int argc, char** argv) {
#ifdef COHORT_BENCH_GUI
  if (!qEnvironmentVariableIsSet("QT_QPA_PLATFORM")) qputenv("QT_QPA_PLATFORM", "offscreen");
  const QApplication application(argc, argv);
#endif
  return cohort::run(argc, argv);
}
