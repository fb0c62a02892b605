#pragma once

#include <QFile>
#include <QString>
#include <QTemporaryDir>

#include "simulator/plan/plan.hpp"
#include "tracer/file/trace_file.hpp"

namespace cohort {

/// A trace of so many slices of 1 us one after another.
inline Trace small_trace(int slices, TraceKind kind = TraceKind::kRecorded) {
  using std::chrono::microseconds;
  Trace trace;
  trace.info.kind = kind;
  const TrackId track = trace.add_track("cpu", "worker 0");
  for (int i = 0; i < slices; ++i) trace.add_slice(track, "relu", "op", microseconds(2 * i), microseconds(1));
  return trace;
}

inline Plan small_plan() {
  Plan plan;
  Member member;
  member.name = "mlp";
  member.source.model = "mlp";
  plan.members = {member};
  Group group;
  group.name = "all";
  group.members = {0};
  plan.groups = {group};
  return plan;
}

/// A folder with files that a test writes.
class FileFolder {
 public:
  [[nodiscard]] QString path(const QString& name) const { return folder_.filePath(name); }
  QString write(const QString& name, const QByteArray& content) const {
    QFile file(path(name));
    if (file.open(QIODevice::WriteOnly)) file.write(content);
    return path(name);
  }
  QString write(const QString& name, const Trace& trace) const {
    const std::string bytes = trace_bytes(name.toStdString(), trace);
    return write(name, QByteArray::fromStdString(bytes));
  }
  QString write(const QString& name, const Plan& plan) const {
    return write(name, QByteArray::fromStdString(write_plan(plan)));
  }
  QString write_trace_of(const QString& name, int slices, TraceKind kind = TraceKind::kRecorded) const {
    return write(name, small_trace(slices, kind));
  }

 private:
  QTemporaryDir folder_;
};

}  // namespace cohort
