#include "gui/window/shortcut_sheet.hpp"

#include <QFrame>
#include <QGridLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QPushButton>
#include <QScrollArea>
#include <QVBoxLayout>
#include <array>

#include "gui/window/scrolling.hpp"

namespace cohort {
namespace {

QLabel* sheet_label(const QString& text, const char* name, QWidget* parent) {
  auto* label = new QLabel(text, parent);
  label->setObjectName(QLatin1String(name));
  label->setTextFormat(Qt::PlainText);
  return label;
}

QWidget* make_group(const ShortcutSheet::Group& group, QWidget* parent) {
  auto* box = new QWidget(parent);
  auto* grid = new QGridLayout(box);
  grid->setContentsMargins(0, 0, 16, 12);
  grid->setHorizontalSpacing(14);
  grid->setVerticalSpacing(3);
  grid->addWidget(sheet_label(group.first, "groupTitle", box), 0, 0, 1, 2);
  int row = 1;
  for (const Shortcut& shortcut : group.second) {
    grid->addWidget(sheet_label(shortcut.keys, "keys", box), row, 0, Qt::AlignTop);
    auto* meaning = sheet_label(shortcut.meaning, "meaning", box);
    meaning->setWordWrap(true);
    grid->addWidget(meaning, row, 1, Qt::AlignTop);
    ++row;
  }
  grid->setColumnStretch(1, 1);
  return box;
}

}  // namespace

ShortcutSheet::ShortcutSheet(const std::vector<Group>& groups, QWidget* parent) : QDialog(parent) {
  setWindowTitle(tr("Keys and mouse"));
  auto* sheet = new QWidget;
  auto* columns = new QHBoxLayout(sheet);
  // The next group goes where the least stands.
  std::array<QVBoxLayout*, 2> places = {new QVBoxLayout, new QVBoxLayout};
  std::array<std::size_t, 2> heights = {0, 0};
  for (const Group& group : groups) {
    const std::size_t column = heights[0] <= heights[1] ? 0 : 1;
    places[column]->addWidget(make_group(group, sheet));
    heights[column] += group.second.size() + 2;
  }
  for (QVBoxLayout* place : places) {
    place->addStretch(1);
    columns->addLayout(place, 1);
  }
  QScrollArea* const area = scrolling(sheet);
  area->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  auto* close = new QPushButton(tr("Close"), this);
  connect(close, &QPushButton::clicked, this, &QDialog::reject);
  auto* column = new QVBoxLayout(this);
  column->addWidget(area, 1);
  column->addWidget(close, 0, Qt::AlignRight);
  resize(900, 620);
}

void ShortcutSheet::keyPressEvent(QKeyEvent* event) {
  if (event->text() == QLatin1String("?")) return reject();
  QDialog::keyPressEvent(event);
}

}  // namespace cohort
