#include "gui/compare/pairing.hpp"

#include <algorithm>

namespace cohort {
namespace {

std::vector<const OpenFile*> last_opened(const std::vector<OpenFile>& files, TraceKind kind) {
  std::vector<const OpenFile*> found;
  for (auto file = files.rbegin(); file != files.rend(); ++file) {
    if (file->trace && file->trace->info.kind == kind) found.push_back(&*file);
  }
  return found;
}

}  // namespace

std::optional<ComparedPaths> likely_pair(const std::vector<OpenFile>& files) {
  const std::vector<const OpenFile*> predicted = last_opened(files, TraceKind::kPredicted);
  const std::vector<const OpenFile*> measured = last_opened(files, TraceKind::kMeasured);
  for (const OpenFile* p : predicted) {
    if (p->trace->info.plan.empty()) continue;
    for (const OpenFile* m : measured) {
      if (m->trace->info.plan == p->trace->info.plan) return ComparedPaths{p->path, m->path};
    }
  }
  if (!predicted.empty() && !measured.empty()) return ComparedPaths{predicted.front()->path, measured.front()->path};
  std::vector<const OpenFile*> traces;
  for (const OpenFile& file : files) {
    if (file.trace) traces.push_back(&file);
  }
  if (traces.size() < 2) return std::nullopt;
  // A profile is of ops one by one: nothing else is like it.
  std::stable_partition(traces.begin(), traces.end(),
                        [](const OpenFile* file) { return file->trace->info.kind != TraceKind::kProfile; });
  // One that is predicted stands on the side of the prediction, whatever the other is.
  if (traces[1]->trace->info.kind == TraceKind::kPredicted && traces[0]->trace->info.kind != TraceKind::kPredicted) {
    std::swap(traces[0], traces[1]);
  }
  return ComparedPaths{traces[0]->path, traces[1]->path};
}

const OpenFile* open_trace(const std::vector<OpenFile>& files, const QString& path) {
  const auto found =
      std::find_if(files.begin(), files.end(), [&](const OpenFile& file) { return file.trace && file.path == path; });
  return found != files.end() ? &*found : nullptr;
}

}  // namespace cohort
