#include "gui/window/banners.hpp"

#include <QFrame>
#include <QHBoxLayout>
#include <QLabel>
#include <QToolButton>
#include <QVBoxLayout>

namespace cohort {

Banners::Banners(QWidget* parent) : QWidget(parent), column_(new QVBoxLayout(this)) {
  column_->setContentsMargins(0, 0, 0, 0);
  column_->setSpacing(1);
}

void Banners::show_failure(const QString& key, const QString& message) {
  remove(key);
  auto* banner = new QFrame(this);
  banner->setObjectName(QStringLiteral("banner"));
  auto* text = new QLabel(message, banner);
  text->setObjectName(QStringLiteral("message"));
  text->setTextFormat(Qt::PlainText);
  text->setWordWrap(true);
  text->setTextInteractionFlags(Qt::TextSelectableByMouse);
  auto* close = new QToolButton(banner);
  close->setText(QStringLiteral("×"));
  close->setAutoRaise(true);
  close->setToolTip(tr("Close this message"));
  close->setAccessibleName(tr("Close this message"));
  connect(close, &QToolButton::clicked, this, [this, key] { remove(key); });
  auto* row = new QHBoxLayout(banner);
  row->setContentsMargins(12, 5, 6, 5);
  row->addWidget(text, 1);
  row->addWidget(close, 0, Qt::AlignTop);
  column_->addWidget(banner);
  banners_[key] = banner;
}

void Banners::remove(const QString& key) {
  const auto found = banners_.find(key);
  if (found == banners_.end()) return;
  column_->removeWidget(found->second);
  found->second->hide();
  found->second->deleteLater();
  banners_.erase(found);
}

QStringList Banners::messages() const {
  QStringList messages;
  for (int i = 0; i < column_->count(); ++i) {
    const auto* text = column_->itemAt(i)->widget()->findChild<QLabel*>(QStringLiteral("message"));
    messages += text->text();
  }
  return messages;
}

}  // namespace cohort
