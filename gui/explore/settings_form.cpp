#include "gui/explore/settings_form.hpp"

#include <fmt/format.h>

#include <QCheckBox>
#include <QComboBox>
#include <QDoubleSpinBox>
#include <QFormLayout>
#include <QGroupBox>
#include <QLabel>
#include <QLineEdit>
#include <QSignalBlocker>
#include <QVBoxLayout>
#include <algorithm>
#include <cmath>
#include <utility>

#include "gui/window/qt_text.hpp"
#include "view/explore/group_edit.hpp"

namespace cohort {
namespace {

constexpr double kMebibyte = 1024.0 * 1024.0;

Bytes mebibytes(double value) { return {static_cast<std::int64_t>(std::llround(value * kMebibyte))}; }

int whole(const NumberField& field) { return static_cast<int>(std::lround(field.value())); }

QStringList names_from(const QString& text) {
  QStringList names;
  for (const QString& part : text.split(QLatin1Char(','), Qt::SkipEmptyParts)) {
    if (!part.trimmed().isEmpty()) names << part.trimmed();
  }
  return names;
}

// What a form shows without telling of it; fields that a device or a trace does not have are null.

void show_check(QCheckBox* box, bool on) {
  if (box == nullptr) return;
  const QSignalBlocker quiet(box);
  box->setChecked(on);
}

void show_choice(QComboBox* box, int index) {
  if (box == nullptr) return;
  const QSignalBlocker quiet(box);
  box->setCurrentIndex(index);
}

void show_number(NumberField* field, double value) {
  if (field != nullptr) field->set_value(value);
}

void show_text(QLineEdit* edit, const QString& text) {
  if (edit != nullptr && edit->text() != text) edit->setText(text);
}

}  // namespace

std::optional<std::vector<std::pair<std::string, double>>> factors_from(const QString& text) {
  std::vector<std::pair<std::string, double>> factors;
  for (const QString& part : names_from(text)) {
    const auto equals = part.lastIndexOf(QLatin1Char('='));
    bool is_number = false;
    const double factor = part.mid(equals + 1).trimmed().toDouble(&is_number);
    if (equals <= 0 || !is_number || !std::isfinite(factor) || factor <= 0) return std::nullopt;
    factors.emplace_back(part.left(equals).trimmed().toStdString(), factor);
  }
  return factors;
}

SettingsForm::SettingsForm(QWidget* parent) : QWidget(parent) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  problems_ = new QLabel;
  problems_->setObjectName("problems");
  problems_->setWordWrap(true);
  problems_->hide();
  column->addWidget(problems_);
}

QFormLayout& SettingsForm::section(const QString& title) {
  auto* box = new QGroupBox(title);
  auto* form = new QFormLayout(box);
  form->setContentsMargins(8, 6, 8, 6);
  form->setVerticalSpacing(4);
  form->setFieldGrowthPolicy(QFormLayout::AllNonFixedFieldsGrow);
  content_->layout()->addWidget(box);
  return *form;
}

NumberField& SettingsForm::number(QFormLayout& form, const char* name, const QString& label,
                                  const NumberField::Range& range) {
  auto* field = new NumberField(range);
  field->setObjectName(QLatin1String(name));
  form.addRow(label, field);
  connect(field, &NumberField::value_changed, this, &SettingsForm::change);
  return *field;
}

QCheckBox& SettingsForm::check(QFormLayout& form, const char* name, const QString& text) {
  auto* box = new QCheckBox(text);
  box->setObjectName(QLatin1String(name));
  form.addRow(box);
  connect(box, &QCheckBox::toggled, this, &SettingsForm::change);
  return *box;
}

void SettingsForm::set_facts(const ExploreFacts& facts) {
  facts_ = facts;
  models_.clear();
  limits_.clear();
  minibatch_ = nullptr;
  any_minibatch_ = recorded_minibatch_ = streams_ = launch_threads_ = buffers_ = decode_workers_ = copy_speed_ =
      interconnect_speed_ = nullptr;
  graphs_ = shared_input_ = other_minibatch_ = mixed_precision_ = nullptr;
  data_ = fused_ = faster_ = nullptr;
  fuse_ = processes_ = nullptr;
  delete content_;
  content_ = new QWidget;
  auto* column = new QVBoxLayout(content_);
  column->setContentsMargins(0, 0, 0, 0);
  layout()->addWidget(content_);
  add_members();
  add_device();
  add_input();
  add_limits();
  if (facts_.kind == ExploreFacts::Kind::kTraces) add_changes();
}

void SettingsForm::add_members() {
  QFormLayout& form = section(tr("Models"));
  for (const ExploredModel& model : facts_.models) {
    auto* field = new NumberField({1, static_cast<double>(facts_.most_models)});
    field->setObjectName(QStringLiteral("models %1").arg(models_.size()));
    form.addRow(facts_.models.size() == 1 ? tr("number") : qt(model.name), field);
    connect(field, &NumberField::value_changed, this, &SettingsForm::read_models);
    models_.push_back(field);
  }
  add_minibatch(form);
}

void SettingsForm::add_minibatch(QFormLayout& form) {
  if (facts_.any_minibatch) {
    other_minibatch_ = &check(form, "other minibatch", tr("another minibatch than recorded"));
    recorded_minibatch_ = &number(form, "recorded minibatch", tr("recorded with"), {0, 65536});
    recorded_minibatch_->setToolTip(tr("Samples of a step in the trace, which it does not tell"));
    any_minibatch_ = &number(form, "minibatch", tr("minibatch"), {1, 65536});
    return;
  }
  if (facts_.minibatches.size() < 2) return;
  minibatch_ = new QComboBox;
  minibatch_->setObjectName("minibatch");
  for (const std::int64_t minibatch : facts_.minibatches) {
    minibatch_->addItem(QString::number(minibatch), static_cast<qlonglong>(minibatch));
  }
  form.addRow(tr("minibatch"), minibatch_);
  connect(minibatch_, &QComboBox::currentIndexChanged, this, &SettingsForm::change);
}

void SettingsForm::add_device() {
  QFormLayout& form = section(facts_.on_gpu ? tr("Streams and launches") : tr("Workers"));
  streams_ = &number(form, "streams", facts_.on_gpu ? tr("streams") : tr("workers"),
                     {1, static_cast<double>(std::max(1, facts_.most_streams))});
  if (!facts_.launches) return;
  if (facts_.kind == ExploreFacts::Kind::kTraces) add_processes(form);
  graphs_ = &check(form, "graphs", tr("one graph launch a step"));
  launch_threads_ = &number(form, "launch threads", tr("launch threads"),
                            {1, static_cast<double>(std::max(1, facts_.most_launch_threads))});
}

void SettingsForm::add_processes(QFormLayout& form) {
  processes_ = new QComboBox;
  processes_->setObjectName("processes");
  processes_->addItems({tr("one for all members"), tr("one each, under MPS"), tr("one each, in time slices")});
  processes_->setToolTip(tr("Processes share neither streams, launch threads, input nor kernels"));
  form.addRow(tr("processes"), processes_);
  connect(processes_, &QComboBox::currentIndexChanged, this, &SettingsForm::change);
}

void SettingsForm::add_input() {
  if (!facts_.shares_input && !facts_.reads_input) return;
  QFormLayout& form = section(tr("Input"));
  if (facts_.shares_input) shared_input_ = &check(form, "shared input", tr("one input for all members"));
  buffers_ = &number(form, "buffers", tr("buffers"), {1, 16});
  buffers_->setToolTip(tr("Minibatches in flight; 2 is double buffering"));
  // Of a trace of a run all that can be asked is how many buffers there are.
  if (!facts_.reads_input || facts_.kind == ExploreFacts::Kind::kTraces) return;
  data_ = new QLineEdit;
  data_->setObjectName("data");
  data_->setPlaceholderText(tr("folder of JPEGs; made-up input unless given"));
  form.addRow(tr("images"), data_);
  connect(data_, &QLineEdit::editingFinished, this, &SettingsForm::change);
  decode_workers_ = &number(form, "decode workers", tr("decode workers"), {0, 256});
  decode_workers_->setToolTip(tr("0: as many as the host has cores"));
}

void SettingsForm::add_limit(QFormLayout& form, const char* name, const QString& label,
                             std::optional<Bytes> Limits::*limit) {
  auto* on = new QCheckBox(label);
  on->setObjectName(QStringLiteral("limit %1").arg(QLatin1String(name)));
  const double most = facts_.device_memory ? static_cast<double>(facts_.device_memory->value) / kMebibyte : 1024 * 1024;
  auto* amount = new NumberField({0.01, std::max(1.0, most), 2, tr(" MiB")});
  amount->setObjectName(QLatin1String(name));
  amount->setEnabled(false);
  form.addRow(on, amount);
  connect(on, &QCheckBox::toggled, amount, &QWidget::setEnabled);
  connect(on, &QCheckBox::toggled, this, &SettingsForm::change);
  connect(amount, &NumberField::value_changed, this, &SettingsForm::change);
  limits_.push_back({on, amount, limit, amount->value()});
}

void SettingsForm::add_limits() {
  if (!facts_.limits_memory && !facts_.limits_workspace) return;
  QFormLayout& form = section(tr("Limits"));
  if (facts_.limits_memory) add_limit(form, "memory", tr("memory"), &Limits::memory);
  if (facts_.limits_workspace) add_limit(form, "workspace", tr("workspace"), &Limits::workspace);
}

void SettingsForm::add_fusion(QFormLayout& form) {
  fuse_ = new QComboBox;
  fuse_->setObjectName("fuse");
  fuse_->addItems({tr("nothing"), tr("what pays"), tr("by name")});
  form.addRow(tr("fused across members"), fuse_);
  fused_ = new QLineEdit;
  fused_->setObjectName("fused");
  fused_->setPlaceholderText(tr("kernels or ops, * for any text"));
  form.addRow(QString(), fused_);
  connect(fuse_, &QComboBox::currentIndexChanged, this, [this] {
    fused_->setVisible(fuse_->currentIndex() == static_cast<int>(FuseChoice::kNamed));
    change();
  });
  connect(fused_, &QLineEdit::editingFinished, this, &SettingsForm::change);
}

void SettingsForm::add_changes() {
  QFormLayout& form = section(tr("What if"));
  add_fusion(form);
  faster_ = new QLineEdit;
  faster_->setObjectName("faster");
  faster_->setPlaceholderText(tr("gemm*=1.5"));
  faster_->setToolTip(tr("Kernels, ops or layers that are so many times faster: softmax=2, gemm*=1.5"));
  form.addRow(tr("faster"), faster_);
  connect(faster_, &QLineEdit::editingFinished, this, &SettingsForm::change);
  mixed_precision_ = &check(form, "mixed precision", tr("mixed precision"));
  copy_speed_ = &number(form, "copy speed", tr("copies"), {0.1, 10, 2, tr("x")});
  interconnect_speed_ = &number(form, "interconnect", tr("interconnect"), {0.1, 10, 2, tr("x")});
}

void SettingsForm::set_settings(const ExploreSettings& settings) {
  settings_ = settings;
  if (content_ == nullptr) return;
  // Fields tell of a change only to this form: with its signals blocked, none leaves.
  const QSignalBlocker blocker(this);
  const ExploreSettings kept = settings;
  for (std::size_t i = 0; i < models_.size(); ++i) {
    models_[i]->set_value(kept.models[std::min(i, kept.models.size() - 1)]);
    models_[i]->setEnabled(kept.members.empty());
  }
  show_minibatch(kept);
  show_number(streams_, kept.streams);
  show_check(graphs_, kept.graphs);
  show_choice(processes_, static_cast<int>(kept.processes));
  show_number(launch_threads_, kept.launch_threads);
  show_check(shared_input_, kept.shared_input);
  show_number(buffers_, kept.buffers.value_or(2));
  show_number(decode_workers_, kept.decode_workers);
  show_text(data_, qt(kept.data));
  for (LimitField& field : limits_) {
    const std::optional<Bytes>& limit = kept.limits.*field.limit;
    show_check(field.on, limit.has_value());
    field.amount->setEnabled(limit.has_value());
    if (limit) field.amount->set_value(static_cast<double>(limit->value) / kMebibyte);
    field.shown = field.amount->value();
  }
  show_check(mixed_precision_, kept.mixed_precision);
  show_number(copy_speed_, kept.copy_speed);
  show_number(interconnect_speed_, kept.interconnect_speed);
  if (fuse_ != nullptr) show_fusion(kept);
  enable_what_applies();
}

void SettingsForm::show_minibatch(const ExploreSettings& settings) {
  if (minibatch_ != nullptr) {
    const std::int64_t shown = settings.minibatch.value_or(facts_.minibatches.front());
    show_choice(minibatch_, minibatch_->findData(static_cast<qlonglong>(shown)));
  }
  if (any_minibatch_ == nullptr) return;
  const bool other = settings.minibatch.has_value();
  show_check(other_minibatch_, other);
  any_minibatch_->setEnabled(other);
  recorded_minibatch_->setEnabled(other);
  if (settings.recorded_minibatch) recorded_minibatch_->set_value(*settings.recorded_minibatch);
  if (other) any_minibatch_->set_value(static_cast<double>(*settings.minibatch));
}

/// What was typed is kept while it does not apply.
void SettingsForm::read_minibatch(ExploreSettings& settings) {
  if (minibatch_ != nullptr && minibatch_->currentIndex() >= 0)
    settings.minibatch = minibatch_->currentData().toLongLong();
  if (any_minibatch_ == nullptr) return;
  const bool other = other_minibatch_->isChecked();
  any_minibatch_->setEnabled(other);
  recorded_minibatch_->setEnabled(other);
  settings.minibatch.reset();
  settings.recorded_minibatch.reset();
  if (!other) return;
  settings.minibatch = std::llround(any_minibatch_->value());
  if (whole(*recorded_minibatch_) > 0) settings.recorded_minibatch = whole(*recorded_minibatch_);
}

void SettingsForm::show_fusion(const ExploreSettings& settings) {
  show_choice(fuse_, static_cast<int>(settings.fuse));
  fused_->setVisible(settings.fuse == FuseChoice::kNamed);
  QStringList fused;
  for (const std::string& name : settings.fused) fused << qt(name);
  show_text(fused_, fused.join(QStringLiteral(", ")));
  QStringList faster;
  for (const auto& [name, factor] : settings.scale) faster << qt(fmt::format("{}={:g}", name, factor));
  show_text(faster_, faster.join(QStringLiteral(", ")));
  faster_is_wrong_ = false;
}

void SettingsForm::suggest_limits(const Limits& taken) {
  for (const LimitField& field : limits_) {
    const std::optional<Bytes>& now = taken.*field.limit;
    if (!field.on->isChecked() && now) {
      field.amount->set_value(std::ceil(100 * static_cast<double>(now->value) / kMebibyte) / 100);
    }
  }
}

void SettingsForm::enable_what_applies() {
  if (launch_threads_ == nullptr) return;
  const bool one_process = processes_ == nullptr || processes_->currentIndex() == static_cast<int>(Processes::kOne);
  launch_threads_->setEnabled(one_process && !graphs_->isChecked());
  streams_->setEnabled(one_process);
}

void SettingsForm::read_models() {
  std::vector<int> models;
  for (const NumberField* field : models_) models.push_back(whole(*field));
  Q_EMIT models_asked(models);
}

void SettingsForm::change() {
  if (signalsBlocked()) return;
  ExploreSettings settings = settings_;
  read_minibatch(settings);
  if (streams_ != nullptr && whole(*streams_) != settings.streams)
    settings = with_streams(std::move(settings), facts_, whole(*streams_));
  if (graphs_ != nullptr) settings.graphs = graphs_->isChecked();
  if (processes_ != nullptr) settings.processes = static_cast<Processes>(processes_->currentIndex());
  if (launch_threads_ != nullptr) settings.launch_threads = whole(*launch_threads_);
  if (shared_input_ != nullptr) settings.shared_input = shared_input_->isChecked();
  if (buffers_ != nullptr && (settings.buffers || whole(*buffers_) != 2)) settings.buffers = whole(*buffers_);
  if (decode_workers_ != nullptr) settings.decode_workers = whole(*decode_workers_);
  if (data_ != nullptr) settings.data = data_->text().trimmed().toStdString();
  for (const LimitField& field : limits_) {
    std::optional<Bytes>& limit = settings.limits.*field.limit;
    // A limit that nobody has touched keeps its bytes, though the field shows fewer digits.
    const bool is_kept = field.on->isChecked() && limit && field.amount->value() == field.shown;
    if (is_kept) continue;
    limit = field.on->isChecked() ? std::optional(mebibytes(field.amount->value())) : std::nullopt;
  }
  bool was_wrong = false;
  if (fuse_ != nullptr) {
    settings.fuse = static_cast<FuseChoice>(fuse_->currentIndex());
    settings.fused.clear();
    for (const QString& name : names_from(fused_->text())) settings.fused.push_back(name.toStdString());
    const auto factors = factors_from(faster_->text());
    was_wrong = std::exchange(faster_is_wrong_, !factors);
    if (!factors) return show_problems({{"faster", "names and factors are given as softmax=2, gemm*=1.5"}});
    if (was_wrong) show_problems({});
    settings.scale = *factors;
    settings.mixed_precision = mixed_precision_->isChecked();
    settings.copy_speed = copy_speed_->value();
    settings.interconnect_speed = interconnect_speed_->value();
  }
  for (LimitField& field : limits_) field.shown = field.amount->value();
  enable_what_applies();
  if (settings == settings_ && !was_wrong) return;  // else whoever listens says anew what is wrong with settings
  settings_ = std::move(settings);
  Q_EMIT changed();
}

void SettingsForm::show_problems(const std::vector<SettingsProblem>& problems) {
  QStringList lines;
  for (const SettingsProblem& problem : problems) {
    lines << QStringLiteral("<b>%1</b>: %2")
                 .arg(qt(problem.field).toHtmlEscaped().replace('_', ' '), qt(problem.why).toHtmlEscaped());
  }
  problems_->setText(lines.join(QStringLiteral("<br>")));
  problems_->setVisible(!lines.isEmpty());
}

}  // namespace cohort
