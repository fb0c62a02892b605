#include "gui/start/start_page.hpp"

#include <QCoreApplication>
#include <QFileInfo>
#include <QFrame>
#include <QHBoxLayout>
#include <QLabel>
#include <QListWidget>
#include <QPushButton>
#include <QScrollArea>
#include <QSettings>
#include <QVBoxLayout>
#include <algorithm>

#include "gui/files/choose_files.hpp"
#include "gui/process/progress_panel.hpp"
#include "gui/start/examples.hpp"
#include "gui/start/profile_form.hpp"
#include "gui/window/scrolling.hpp"

namespace cohort {
namespace {

const QString kProfileFolderKey = QStringLiteral("folder");
constexpr int kRecentRows = 6;
constexpr QSize kMostSize(1320, 1000);  ///< on a large screen lines that are longer are hard to read

QLabel* text_label(const QString& text, const char* name, QWidget* parent) {
  auto* made = new QLabel(text, parent);
  made->setObjectName(QLatin1String(name));
  made->setWordWrap(true);
  return made;
}

/// A frame with a title; its layout is a column.
QFrame* make_card(const QString& title, QWidget* parent) {
  auto* card = new QFrame(parent);
  card->setObjectName(QStringLiteral("card"));
  auto* column = new QVBoxLayout(card);
  column->setContentsMargins(16, 12, 16, 14);
  column->setSpacing(8);
  column->addWidget(text_label(title, "cardTitle", card));
  return card;
}

QListWidget* make_list(QWidget* parent) {
  auto* list = new QListWidget(parent);
  list->setFrameShape(QFrame::NoFrame);
  list->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  list->setTextElideMode(Qt::ElideMiddle);
  list->setMouseTracking(true);
  list->setCursor(Qt::PointingHandCursor);
  return list;
}

}  // namespace

StartPage::StartPage(RecentFiles& recent, QWidget* parent) : Page(parent), recent_(recent) {
  auto* inside = new QWidget;
  auto* columns = new QHBoxLayout;
  columns->setSpacing(16);
  columns->addWidget(make_profile_card(), 3);
  auto* right = new QVBoxLayout;
  right->setSpacing(16);
  right->addWidget(make_open_card(), 2);
  right->addWidget(make_example_card(), 3);
  columns->addLayout(right, 2);
  auto* column = new QVBoxLayout(inside);
  column->setContentsMargins(24, 18, 24, 18);
  column->setSpacing(10);
  column->addWidget(text_label(tr("What would models gain by running together?"), "heading", inside));
  column->addWidget(
      text_label(tr("Cohort times one model, predicts every way to run several of them together, runs the one you "
                    "choose, and shows where prediction and reality differ."),
                 "dim", inside));
  column->addLayout(columns, 1);

  inside->setMaximumSize(kMostSize);
  QScrollArea* const area = scrolling(inside);
  area->setAlignment(Qt::AlignHCenter);
  auto* outer = new QVBoxLayout(this);
  outer->setContentsMargins(0, 0, 0, 0);
  outer->addWidget(area);

  connect(&program_, &ChildProgram::finished, this, &StartPage::finish_profile);
  connect(&recent_, &RecentFiles::changed, this, &StartPage::fill_recent);
  fill_recent();
}

QWidget* StartPage::make_profile_card() {
  auto* card = make_card(tr("Profile a model on this machine"), this);
  form_ = new ProfileForm(card);
  start_ = new QPushButton(tr("Profile"), card);
  start_->setObjectName(QStringLiteral("start"));
  start_->setDefault(true);
  trouble_ = text_label({}, "bad", card);
  trouble_->setTextFormat(Qt::PlainText);
  trouble_->hide();
  progress_ = new ProgressPanel(program_, card);
  auto* column = static_cast<QVBoxLayout*>(card->layout());
  column->addWidget(form_);
  connect(form_, &ProfileForm::settled, this, &Page::state_changed);
  auto* row = new QHBoxLayout;
  row->addWidget(start_);
  row->addStretch(1);
  column->addLayout(row);
  column->addWidget(trouble_);
  column->addWidget(progress_, 1);
  column->addStretch(0);
  connect(start_, &QPushButton::clicked, this, &StartPage::start_profile);
  return card;
}

QWidget* StartPage::make_open_card() {
  auto* card = make_card(tr("Open a trace, profile, plan or model"), this);
  auto* open = new QPushButton(tr("Open files…"), card);
  open->setObjectName(QStringLiteral("open"));
  connect(open, &QPushButton::clicked, this, &StartPage::choose_files);
  auto* row = new QHBoxLayout;
  row->addWidget(open);
  row->addWidget(
      text_label(tr("or drop them anywhere in this window: Cohort's own, PyTorch's profiler, Nsight Systems (SQLite), "
                    "and ONNX models to profile"),
                 "dim", card),
      1);
  no_recent_ = text_label(tr("Files that you open are listed here."), "dim", card);
  recent_list_ = make_list(card);
  recent_list_->setObjectName(QStringLiteral("recent"));
  const auto show = [this](const QListWidgetItem* item) {
    Q_EMIT requested({std::nullopt, {item->data(Qt::UserRole).toString()}});
  };
  connect(recent_list_, &QListWidget::itemClicked, this, show);
  connect(recent_list_, &QListWidget::itemActivated, this, show);
  auto* column = static_cast<QVBoxLayout*>(card->layout());
  column->addLayout(row);
  column->addWidget(no_recent_);
  column->addWidget(recent_list_, 1);
  column->addStretch(0);
  return card;
}

QWidget* StartPage::make_example_card() {
  auto* card = make_card(tr("Look at recorded examples"), this);
  auto* column = static_cast<QVBoxLayout*>(card->layout());
  const std::vector<Example> examples = examples_in(find_examples(QCoreApplication::applicationDirPath()));
  if (examples.empty()) {
    column->addWidget(text_label(tr("They are not installed beside this program."), "dim", card));
    column->addStretch(1);
    return card;
  }
  auto* list = make_list(card);
  list->setObjectName(QStringLiteral("examples"));
  for (const Example& example : examples) {
    auto* item = new QListWidgetItem(example.title, list);
    item->setToolTip(example.text);
  }
  const auto show = [this, list, examples](const QListWidgetItem* item) {
    Q_EMIT requested(examples[static_cast<std::size_t>(list->row(item))].request);
  };
  connect(list, &QListWidget::itemClicked, this, show);
  column->addWidget(list, 1);
  return card;
}

PageState StartPage::state() const {
  if (program_.running()) return {true, tr("Profiling: a few seconds, then Explore opens with the result.")};
  if (has_profile_) return {true, tr("Go on to Explore with the profile that is open, or profile another model.")};
  if (has_files_) return {true, tr("Go on to a station that has something to show, or profile a model.")};
  return {true, tr("Choose a model and profile it here, open a file, or look at a recorded example.")};
}

bool StartPage::settled() const { return !program_.running() && form_->is_settled(); }

void StartPage::set_files(const std::vector<OpenFile>& files) {
  has_files_ = !files.empty();
  has_profile_ = std::any_of(files.begin(), files.end(), [](const OpenFile& file) {
    return file.trace != nullptr && file.trace->info.kind == TraceKind::kProfile;
  });
}

void StartPage::show_model(const QString& path) {
  if (program_.running())
    Q_EMIT failed(tr("%1: another model is being profiled; open it again after that").arg(path));
  else
    form_->choose_model(path);
}

void StartPage::save(QSettings& settings) const { settings.setValue(kProfileFolderKey, form_->folder()); }

void StartPage::restore(QSettings& settings) {
  const QString folder = settings.value(kProfileFolderKey).toString();
  if (QFileInfo(folder).isDir()) form_->set_folder(folder);
}

void StartPage::fill_recent() {
  recent_list_->clear();
  for (const QString& path : recent_.paths().mid(0, kRecentRows)) {
    const QFileInfo file(path);
    auto* item = new QListWidgetItem(file.fileName() + QStringLiteral("   ") + file.absolutePath(), recent_list_);
    item->setData(Qt::UserRole, path);
    item->setToolTip(path);
  }
  no_recent_->setVisible(recent_list_->count() == 0);
  recent_list_->setVisible(recent_list_->count() > 0);
}

void StartPage::start_profile() {
  if (program_.running()) return;
  const auto cohort = find_cohort();
  const auto words = form_->words();
  trouble_->setVisible(!cohort || !words);
  if (!cohort || !words) {
    trouble_->setText(QString::fromStdString(!cohort ? cohort.error().message : words.error().message));
    return;
  }
  profile_ = form_->output();
  start_->setEnabled(false);
  form_->setEnabled(false);
  progress_->begin(QStringLiteral("cohort ") + words->join(QLatin1Char(' ')));
  program_.start(*cohort, *words);
  Q_EMIT state_changed();
}

void StartPage::finish_profile(const ChildOutcome& outcome) {
  start_->setEnabled(true);
  form_->setEnabled(true);
  form_->note_output();
  if (outcome.done() && outcome.cancelled) {
    progress_->finish(tr("Stopped: %1 holds what was timed until then.").arg(profile_));
    recent_.add(profile_);
  } else if (outcome.done()) {
    progress_->finish(tr("Done: %1").arg(profile_));
    Q_EMIT requested({PageId::kExplore, {profile_}});
  } else if (outcome.cancelled) {
    progress_->finish(tr("Cancelled; no profile was written."));
  } else {
    progress_->finish(tr("The profile was not made."));
    trouble_->setText(outcome.message);
    trouble_->show();
  }
  Q_EMIT state_changed();
}

void StartPage::choose_files() {
  const QStringList paths = choose_files_to_open(this, form_->folder());
  if (!paths.isEmpty()) Q_EMIT requested({std::nullopt, paths});
}

}  // namespace cohort
