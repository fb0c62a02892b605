#include "gui/start/profile_form.hpp"

#include <QComboBox>
#include <QDir>
#include <QFileDialog>
#include <QFileInfo>
#include <QFormLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QRegularExpression>
#include <QSpinBox>
#include <QVBoxLayout>

#include "gui/window/qt_text.hpp"
#include "models/networks/networks.hpp"

namespace cohort {
namespace {

const QString kChooseFile = QStringLiteral("choose…");  ///< no name of a network, nor of a file
const QString kSmallNetwork = QStringLiteral("lenet5");

const Network* find_network(const QString& name) {
  for (const Network& network : networks()) {
    if (qt(network.name) == name) return &network;
  }
  return nullptr;
}

}  // namespace

ProfileForm::ProfileForm(QWidget* parent)
    : QWidget(parent),
      model_(new QComboBox(this)),
      description_(new QLabel(this)),
      arguments_(new QWidget(this)),
      minibatch_(new QSpinBox(this)),
      device_(new QComboBox(this)),
      budget_(new QComboBox(this)),
      output_(new QLineEdit(this)),
      output_note_(new QLabel(this)),
      form_(new QFormLayout(this)),
      folder_(QDir::currentPath()) {
  form_->setContentsMargins(0, 0, 0, 0);
  form_->setFieldGrowthPolicy(QFormLayout::ExpandingFieldsGrow);
  make_model_row(*form_);
  make_file_rows();
  minibatch_->setObjectName(QStringLiteral("minibatch"));
  minibatch_->setRange(1, 65536);
  minibatch_->setToolTip(tr("Samples in a step of each model"));
  form_->addRow(tr("Minibatch"), minibatch_);

  device_->setObjectName(QStringLiteral("device"));
  device_->addItem(QStringLiteral("cpu:0"), QStringLiteral("cpu:0"));
  device_->setSizeAdjustPolicy(QComboBox::AdjustToContents);
  form_->addRow(tr("Device"), device_);
  connect(&devices_, &DeviceList::changed, this, [this] {
    if (devices_.is_loaded()) fill_with_devices(*device_, devices_);
    Q_EMIT settled();
  });
  devices_.load();

  budget_->setObjectName(QStringLiteral("budget"));
  const QString seconds = QStringLiteral("--budget");
  budget_->addItem(tr("usual: 9 s, large networks up to 27 s"), QStringList());
  budget_->addItem(tr("quick: 3 s"), QStringList{seconds, QStringLiteral("3")});
  budget_->addItem(tr("a minute"), QStringList{seconds, QStringLiteral("60")});
  budget_->addItem(tr("thorough: everything, in minutes"), QStringList{QStringLiteral("--thorough")});
  budget_->setToolTip(
      tr("What there is no time for is left out, and the profile says so. A GPU's is always thorough."));
  form_->addRow(tr("Time for it"), budget_);
  make_output_row(*form_);
  choose_model(kSmallNetwork);
}

void ProfileForm::make_model_row(QFormLayout& form) {
  model_->setObjectName(QStringLiteral("model"));
  for (const Network& network : networks()) model_->addItem(qt(network.name), qt(network.name));
  model_->insertSeparator(model_->count());
  model_->addItem(tr("an ONNX file…"), kChooseFile);
  description_->setObjectName(QStringLiteral("dim"));
  description_->setWordWrap(true);
  description_->setMinimumWidth(360);
  description_->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Preferred);
  arguments_->setLayout(new QFormLayout);
  arguments_->layout()->setContentsMargins(0, 0, 0, 0);
  form.addRow(tr("Model"), model_);
  form.addRow(QString(), description_);
  form.addRow(QString(), arguments_);
  connect(model_, &QComboBox::currentIndexChanged, this, &ProfileForm::model_changed);
}

void ProfileForm::make_file_rows() {
  const auto add = [this](const QString& label, const char* name, const QString& example, const QString& tip,
                          FileField field) {
    field.edit = new QLineEdit(this);
    field.edit->setObjectName(QLatin1String(name));
    field.edit->setPlaceholderText(example);
    field.edit->setToolTip(tip + QStringLiteral(" (") + field.option + QLatin1Char(')'));
    form_->addRow(label, field.edit);
    file_fields_.push_back(field);
  };
  add(tr("Open dimensions"), "dimensions", tr("batch=1, length=128"),
      tr("Extents of the file's open dimensions, by their names in it, or INPUT:POSITION=extent"),
      {nullptr, QStringLiteral("--dim"), QStringLiteral("[,\\s]+"), "open dimensions are given as name=extent"});
  add(tr("Constant inputs"), "inputs", tr("rate=16000 sizes=1,2,3"),
      tr("Inputs and other tensors of the file that are constant: a number, or numbers with commas between them"),
      {nullptr, QStringLiteral("--set-input"), QStringLiteral("\\s+"), "constant inputs are given as name=value"});
  add(tr("Computed from"), "from", tr("the file's inputs"),
      tr("Tensors of the file that are inputs instead of being computed, with spaces between them"),
      {nullptr, QStringLiteral("--from"), QStringLiteral("\\s+"), {}});
  add(tr("Computed up to"), "until", tr("all of the file"),
      tr("Tensors of the file that are computed in place of its outputs, with spaces between them"),
      {nullptr, QStringLiteral("--until"), QStringLiteral("\\s+"), {}});
}

void ProfileForm::make_output_row(QFormLayout& form) {
  output_->setObjectName(QStringLiteral("output"));
  output_note_->setObjectName(QStringLiteral("dim"));
  auto* browse = new QPushButton(tr("…"), this);
  browse->setAccessibleName(tr("Choose where the profile is written"));
  browse->setFixedWidth(32);
  connect(browse, &QPushButton::clicked, this, [this] {
    const QString path = QFileDialog::getSaveFileName(this, tr("Profile"), output(), tr("Profiles (*.trace.json.gz)"),
                                                      nullptr, QFileDialog::DontConfirmOverwrite);
    if (!path.isEmpty()) output_->setText(path);
  });
  connect(output_, &QLineEdit::textChanged, this, &ProfileForm::note_output);
  auto* row = new QHBoxLayout;
  row->addWidget(output_, 1);
  row->addWidget(browse);
  form.addRow(tr("Profile to write"), row);
  form.addRow(QString(), output_note_);
}

void ProfileForm::choose_model(const QString& network_or_file) {
  {
    const QSignalBlocker quiet(model_);  // the row of "an ONNX file…" moves, which would ask for one again
    int row = model_->findData(network_or_file);
    if (row < 0) {
      row = model_->count() - 1;
      model_->insertItem(row, QFileInfo(network_or_file).fileName(), network_or_file);
      model_->setItemData(row, network_or_file, Qt::ToolTipRole);
    }
    model_->setCurrentIndex(row);
  }
  model_changed();
}

QString ProfileForm::model() const { return model_->currentData().toString(); }

void ProfileForm::set_folder(const QString& folder) {
  folder_ = folder;
  propose_output();
}

QString ProfileForm::folder() const { return QFileInfo(output()).absolutePath(); }

QString ProfileForm::output() const {
  return QDir::cleanPath(QDir(folder_).absoluteFilePath(output_->text().trimmed()));
}

void ProfileForm::model_changed() {
  if (model() == kChooseFile) return choose_onnx_file();
  last_network_ = model_->currentIndex();
  show_arguments();
  propose_output();
}

void ProfileForm::choose_onnx_file() {
  const QString path =
      QFileDialog::getOpenFileName(this, tr("An ONNX file"), folder_, tr("ONNX models (*.onnx);;All files (*)"));
  if (path.isEmpty())
    model_->setCurrentIndex(last_network_);
  else
    choose_model(path);
}

void ProfileForm::show_arguments() {
  auto* form = static_cast<QFormLayout*>(arguments_->layout());
  while (form->rowCount() > 0) form->removeRow(0);
  argument_fields_.clear();
  const Network* network = find_network(model());
  description_->setText(network != nullptr ? qt(network->description) : model());
  if (network != nullptr) {
    for (const NetworkArgument& argument : network->arguments) {
      auto* edit = new QLineEdit(qt(argument.default_value), arguments_);
      edit->setObjectName(QStringLiteral("argument_") + qt(argument.name));
      edit->setToolTip(qt(argument.help));
      form->addRow(qt(argument.name), edit);
      form->labelForField(edit)->setToolTip(qt(argument.help));
      argument_fields_[qt(argument.name)] = {edit, qt(argument.default_value)};
    }
  }
  arguments_->setVisible(!argument_fields_.empty());
  const bool is_other_file = network == nullptr && model() != file_;
  if (network == nullptr) file_ = model();
  for (const FileField& field : file_fields_) {
    if (is_other_file) field.edit->clear();  // they are of the file before
    field.edit->setVisible(network == nullptr);
    form_->labelForField(field.edit)->setVisible(network == nullptr);
  }
}

void ProfileForm::propose_output() {
  output_->setText(QDir(folder_).filePath(QFileInfo(model()).completeBaseName() + QStringLiteral(".trace.json.gz")));
  note_output();
}

void ProfileForm::note_output() {
  output_note_->setText(QFileInfo::exists(output()) ? tr("The file that is there will be replaced.") : QString());
}

Result<QStringList> ProfileForm::words() const {
  QStringList words = {QStringLiteral("profile"), model(), QStringLiteral("--minibatch"),
                       QString::number(minibatch_->value())};
  for (const auto& [name, field] : argument_fields_) {
    const QString value = field.edit->text().trimmed();
    if (value.isEmpty()) return fail(ErrorCode::kUsage, "{} of {} is empty", name.toStdString(), model().toStdString());
    if (value != field.default_value) words += {QStringLiteral("--set"), name + QLatin1Char('=') + value};
  }
  if (argument_fields_.empty() && find_network(model()) == nullptr) {
    for (const FileField& field : file_fields_) {
      const QStringList values = field.edit->text().split(QRegularExpression(field.between), Qt::SkipEmptyParts);
      for (const QString& value : values) {
        if (!field.form.empty() && !value.contains(QLatin1Char('=')))
          return fail(ErrorCode::kUsage, "{}, not {}", field.form, value.toStdString());
        words += {field.option, value};
      }
    }
  }
  words += {QStringLiteral("--device"), device_->currentData().toString()};
  words += budget_->currentData().toStringList();
  if (output_->text().trimmed().isEmpty()) return fail(ErrorCode::kUsage, "the profile to write has no name");
  words += {QStringLiteral("--output"), output(), QStringLiteral("--progress")};
  // Only what the form has told: a file that came since then is refused.
  if (!output_note_->text().isEmpty()) words += QStringLiteral("--force");
  return words;
}

}  // namespace cohort
