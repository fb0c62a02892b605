#include "tests/simulator/gpu_trace_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "simulator/engine/flat_run.hpp"

namespace cohort {
namespace {

std::string category_of(const std::string& lane, std::string& name) {
  if (lane == "sync") return "cuda_sync";
  if (lane[0] == 's' && lane.find_first_not_of("0123456789", 1) == std::string::npos) {
    std::replace(name.begin(), name.end(), '_', ' ');
    if (name.rfind("Memcpy", 0) == 0) return "gpu_memcpy";
    if (name.rfind("Memset", 0) == 0) return "gpu_memset";
    return "kernel";
  }
  if (name[0] == '@' || name[0] == '#') {
    const std::string category = name[0] == '@' ? "cpu_op" : "user_annotation";
    name = name.substr(1);
    return category;
  }
  return name.rfind("cu", 0) == 0 && name.rfind("cuda", 0) != 0 ? "cuda_driver" : "cuda_runtime";
}

}  // namespace

Trace gpu_trace_from(std::string_view text) {
  Trace trace;
  trace.info.device.name = "a GPU";
  std::map<std::string, TrackId> tracks;
  std::istringstream lines{std::string(text)};
  std::string line;
  while (std::getline(lines, line)) {
    std::istringstream words(line);
    std::string lane;
    std::string name;
    double start = 0;
    double end = 0;
    if (!(words >> lane >> name >> start >> end)) continue;
    const std::string category = category_of(lane, name);
    const bool device = category == "kernel" || category == "gpu_memcpy" || category == "gpu_memset";
    if (tracks.count(lane) == 0) tracks[lane] = trace.add_track(device ? "GPU" : "python", lane);
    std::vector<Trace::NamedArg> args;
    std::vector<std::string> keys;
    keys.reserve(8);
    if (device) args.emplace_back("stream", std::int64_t{std::stol(lane.substr(1))});
    for (std::string word; words >> word;) {
      if (word[0] == 'c' && word.find('=') == std::string::npos) {
        args.emplace_back("correlation", std::int64_t{std::stol(word.substr(1))});
        continue;
      }
      const std::size_t equals = word.find('=');
      keys.push_back(word.substr(0, equals));
      std::replace(keys.back().begin(), keys.back().end(), '~', ' ');
      args.emplace_back(keys.back(), std::int64_t{std::stol(word.substr(equals + 1))});
    }
    const auto ns = [](double us) { return Nanoseconds(static_cast<std::int64_t>(us * 1000 + 0.5)); };
    trace.add_slice(tracks[lane], name, category, ns(start), ns(end) - ns(start), args);
  }
  return trace;
}

std::string replayed(const TraceGraph& trace_graph) {
  const Result<std::vector<TaskTimes>> times = run_flat(trace_graph.graph);
  if (!times) return times.error().message;
  std::string text;
  const std::vector<Task>& tasks = trace_graph.graph.tasks;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (!trace_graph.recorded[i]) continue;
    Nanoseconds end = (*times)[i].end;
    if (i + 1 < tasks.size() && tasks[i + 1].kind == TaskKind::kWait) end = (*times)[i + 1].end;
    text += fmt::format("{} {}-{}\n", trace_graph.graph.label(TaskId(i)),
                        static_cast<double>((*times)[i].start.count()) / 1000, static_cast<double>(end.count()) / 1000);
  }
  return text;
}

std::string replay_of(std::string_view text) {
  const Result<TraceGraph> trace_graph = build_trace_graph(gpu_trace_from(text));
  return trace_graph ? replayed(*trace_graph) : trace_graph.error().message;
}

}  // namespace cohort
