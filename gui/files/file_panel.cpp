#include "gui/files/file_panel.hpp"

#include <QApplication>
#include <QDesktopServices>
#include <QFileInfo>
#include <QLabel>
#include <QListView>
#include <QMenu>
#include <QMouseEvent>
#include <QPainter>
#include <QPushButton>
#include <QStyledItemDelegate>
#include <QUrl>
#include <QVBoxLayout>

#include "gui/files/open_files.hpp"

namespace cohort {
namespace {

constexpr int kFileHeight = 40;
constexpr int kCrossWidth = 26;

QRect cross_of(const QRect& row) { return {row.right() - kCrossWidth, row.top(), kCrossWidth, row.height()}; }

/// Name and, below it, what the file is or how far it is.
class FileDelegate : public QStyledItemDelegate {
 public:
  using QStyledItemDelegate::QStyledItemDelegate;

  [[nodiscard]] QSize sizeHint(const QStyleOptionViewItem&, const QModelIndex&) const override {
    return {160, kFileHeight};
  }

  void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override {
    QStyleOptionViewItem row = option;
    initStyleOption(&row, index);
    row.text.clear();
    const QStyle* style = row.widget != nullptr ? row.widget->style() : QApplication::style();
    style->drawControl(QStyle::CE_ItemViewItem, &row, painter, row.widget);
    const bool is_chosen = (option.state & QStyle::State_Selected) != 0;
    const QColor text = option.palette.color(is_chosen ? QPalette::HighlightedText : QPalette::Text);
    const QColor dim = is_chosen ? text : option.palette.color(QPalette::PlaceholderText);
    const QRect inside = option.rect.adjusted(8, 4, -kCrossWidth, -4);
    const QRect upper(inside.left(), inside.top(), inside.width(), inside.height() / 2);
    const QRect lower(inside.left(), inside.center().y() + 1, inside.width(), inside.height() / 2);

    const auto stage = static_cast<FileStage>(index.data(OpenFiles::kStage).toInt());
    const bool is_bad = stage == FileStage::kBroken || stage == FileStage::kKept;
    const QColor bad = option.palette.color(QPalette::BrightText);
    painter->save();
    painter->setPen(text);
    const QFontMetrics metrics(option.font);
    painter->drawText(upper, Qt::AlignLeft | Qt::AlignVCenter,
                      metrics.elidedText(index.data(Qt::DisplayRole).toString(), Qt::ElideMiddle, upper.width()));
    painter->setPen(is_bad && !is_chosen ? bad : dim);
    painter->drawText(lower, Qt::AlignLeft | Qt::AlignVCenter,
                      metrics.elidedText(second_line(index, stage), Qt::ElideRight, lower.width()));
    if (index.data(OpenFiles::kIsLoading).toBool()) paint_progress(*painter, option, index);
    painter->setPen(dim);
    painter->drawText(cross_of(option.rect), Qt::AlignCenter, QStringLiteral("×"));
    painter->restore();
  }

 private:
  static QString second_line(const QModelIndex& index, FileStage stage) {
    if (index.data(OpenFiles::kIsLoading).toBool()) {
      const QVariant part = index.data(OpenFiles::kProgress);
      return part.isValid() ? FilePanel::tr("reading, %1%").arg(qRound(100 * part.toDouble()))
                            : FilePanel::tr("reading");
    }
    if (stage == FileStage::kBroken) return FilePanel::tr("cannot be read");
    if (stage == FileStage::kKept) return FilePanel::tr("gone or broken on disk");
    return index.data(OpenFiles::kDescription).toString();
  }

  static void paint_progress(QPainter& painter, const QStyleOptionViewItem& option, const QModelIndex& index) {
    QRect bar(option.rect.left(), option.rect.bottom() - 2, option.rect.width(), 3);
    const QVariant part = index.data(OpenFiles::kProgress);
    bar.setWidth(qRound(bar.width() * (part.isValid() ? part.toDouble() : 0.05)));
    painter.fillRect(bar, option.palette.color(QPalette::Link));
  }
};

}  // namespace

FilePanel::FilePanel(OpenFiles& files, QWidget* parent) : QWidget(parent), files_(files), view_(new QListView(this)) {
  view_->setModel(&files_);
  view_->setItemDelegate(new FileDelegate(view_));
  view_->setFrameShape(QFrame::NoFrame);
  view_->setUniformItemSizes(true);
  view_->setVerticalScrollMode(QAbstractItemView::ScrollPerPixel);
  view_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  view_->setContextMenuPolicy(Qt::CustomContextMenu);
  view_->setAccessibleName(tr("Open files"));
  view_->viewport()->installEventFilter(this);
  auto* empty =
      new QLabel(tr("No file is open.\nDrop traces, profiles, plans or models anywhere in this window."), view_);
  empty->setObjectName(QStringLiteral("empty"));
  empty->setWordWrap(true);
  empty->setAlignment(Qt::AlignCenter);
  auto* over = new QVBoxLayout(view_);
  over->addWidget(empty);
  const auto show_empty = [this, empty] { empty->setVisible(files_.rowCount() == 0); };
  connect(&files_, &QAbstractItemModel::rowsInserted, empty, show_empty);
  connect(&files_, &QAbstractItemModel::rowsRemoved, empty, show_empty);
  show_empty();

  auto* open = new QPushButton(tr("Open…"), this);
  connect(open, &QPushButton::clicked, this, &FilePanel::open_requested);
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  column->addWidget(view_, 1);
  auto* row = new QHBoxLayout;
  row->setContentsMargins(8, 6, 8, 8);
  row->addWidget(open);
  column->addLayout(row);

  connect(view_, &QWidget::customContextMenuRequested, this, &FilePanel::show_menu);
  connect(view_, &QAbstractItemView::activated, this,
          [this](const QModelIndex& index) { Q_EMIT show_requested(index.data(OpenFiles::kPath).toString()); });
}

QString FilePanel::current_path() const { return view_->currentIndex().data(OpenFiles::kPath).toString(); }

bool FilePanel::eventFilter(QObject* watched, QEvent* event) {
  if (watched == view_->viewport() && event->type() == QEvent::MouseButtonRelease) {
    const auto* mouse = static_cast<QMouseEvent*>(event);
    const QModelIndex index = view_->indexAt(mouse->pos());
    const bool is_cross = index.isValid() && cross_of(view_->visualRect(index)).contains(mouse->pos());
    if (is_cross && (mouse->button() == Qt::LeftButton)) {
      close_at(index);
      return true;
    }
    if (index.isValid() && mouse->button() == Qt::MiddleButton) {
      close_at(index);
      return true;
    }
    if (index.isValid() && mouse->button() == Qt::LeftButton)
      Q_EMIT show_requested(index.data(OpenFiles::kPath).toString());
  }
  return QWidget::eventFilter(watched, event);
}

void FilePanel::close_at(const QModelIndex& index) {
  const QString path = index.data(OpenFiles::kPath).toString();
  if (index.data(OpenFiles::kIsLoading).toBool())
    files_.cancel(path);
  else
    files_.close(path);
}

void FilePanel::show_menu(const QPoint& at) {
  const QModelIndex index = view_->indexAt(at);
  if (!index.isValid()) return;
  const QString path = index.data(OpenFiles::kPath).toString();
  QMenu menu(this);
  menu.addAction(tr("Show"), this, [this, path] { Q_EMIT show_requested(path); });
  menu.addAction(tr("Read again"), this, [this, path] { files_.reload(path); });
  menu.addAction(tr("Open its folder"), this,
                 [path] { QDesktopServices::openUrl(QUrl::fromLocalFile(QFileInfo(path).absolutePath())); });
  menu.addSeparator();
  menu.addAction(index.data(OpenFiles::kIsLoading).toBool() ? tr("Cancel reading") : tr("Close"), this,
                 [this, index = QPersistentModelIndex(index)] {
                   if (index.isValid()) close_at(index);
                 });
  menu.exec(view_->viewport()->mapToGlobal(at));
}

}  // namespace cohort
