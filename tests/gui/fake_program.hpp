#pragma once

#include <QFile>
#include <QString>
#include <QTemporaryDir>

namespace cohort {

/// A small shell script that the viewer takes for `cohort` while this lives.
class FakeProgram {
 public:
  explicit FakeProgram(const QByteArray& script) {
    QFile file(program());
    if (file.open(QIODevice::WriteOnly)) file.write("#!/bin/sh\n" + script);
    file.setPermissions(QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner);
    file.close();
    qputenv("COHORT_PROGRAM", program().toLocal8Bit());
  }
  FakeProgram(const FakeProgram&) = delete;
  FakeProgram& operator=(const FakeProgram&) = delete;
  ~FakeProgram() { qunsetenv("COHORT_PROGRAM"); }

  [[nodiscard]] QString folder() const { return folder_.path(); }
  [[nodiscard]] QString program() const { return folder_.filePath(QStringLiteral("cohort")); }

 private:
  QTemporaryDir folder_;
};

}  // namespace cohort
