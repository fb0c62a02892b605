#include "gui/files/choose_files.hpp"

#include <QFileDialog>

namespace cohort {

QStringList choose_files_to_open(QWidget* parent, const QString& folder) {
  return QFileDialog::getOpenFileNames(
      parent, QFileDialog::tr("Open traces, profiles, plans and models"), folder,
      QFileDialog::tr("Traces, profiles, plans and models (*.json *.json.gz *.sqlite *.onnx);;All files (*)"));
}

}  // namespace cohort
