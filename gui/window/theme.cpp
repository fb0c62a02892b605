#include "gui/window/theme.hpp"

namespace cohort {
namespace {

constexpr int kFaint = 190;  ///< opacity of what is not available: less than that of the rest, yet to be read

}  // namespace

Theme theme_of(ThemeKind kind) {
  Theme theme;
  theme.kind = kind;
  if (kind == ThemeKind::kLight) {
    theme.window = QColor(0xf4, 0xf5, 0xf7);
    theme.surface = QColor(0xff, 0xff, 0xff);
    theme.raised = QColor(0xe9, 0xeb, 0xef);
    theme.text = QColor(0x1b, 0x1f, 0x24);
    theme.dim_text = QColor(0x57, 0x5f, 0x6b);
    theme.border = QColor(0xc9, 0xce, 0xd6);
    theme.accent = QColor(0x1f, 0x5f, 0xbf);
    theme.accent_text = QColor(0xff, 0xff, 0xff);
    theme.good = QColor(0x1a, 0x73, 0x34);
    theme.warning = QColor(0x8a, 0x55, 0x00);
    theme.bad = QColor(0xb3, 0x26, 0x1e);
  } else {
    theme.window = QColor(0x1d, 0x20, 0x26);
    theme.surface = QColor(0x27, 0x2b, 0x33);
    theme.raised = QColor(0x32, 0x37, 0x41);
    theme.text = QColor(0xe6, 0xe8, 0xeb);
    theme.dim_text = QColor(0xa3, 0xab, 0xb8);
    theme.border = QColor(0x45, 0x4c, 0x58);
    theme.accent = QColor(0x6a, 0xa5, 0xff);
    theme.accent_text = QColor(0x0d, 0x16, 0x26);
    theme.good = QColor(0x6f, 0xcf, 0x87);
    theme.warning = QColor(0xf0, 0xb4, 0x4c);
    theme.bad = QColor(0xff, 0x8a, 0x80);
  }
  return theme;
}

ThemeKind system_theme(const QPalette& palette) {
  const int behind = palette.color(QPalette::Window).lightness();
  return behind < palette.color(QPalette::WindowText).lightness() ? ThemeKind::kDark : ThemeKind::kLight;
}

QPalette palette_of(const Theme& theme) {
  QPalette palette(theme.raised, theme.window);
  palette.setColor(QPalette::WindowText, theme.text);
  palette.setColor(QPalette::Base, theme.surface);
  palette.setColor(QPalette::AlternateBase, theme.window);
  palette.setColor(QPalette::Text, theme.text);
  palette.setColor(QPalette::PlaceholderText, theme.dim_text);
  palette.setColor(QPalette::Button, theme.raised);
  palette.setColor(QPalette::ButtonText, theme.text);
  palette.setColor(QPalette::BrightText, theme.bad);
  palette.setColor(QPalette::ToolTipBase, theme.raised);
  palette.setColor(QPalette::ToolTipText, theme.text);
  palette.setColor(QPalette::Highlight, theme.accent);
  palette.setColor(QPalette::HighlightedText, theme.accent_text);
  palette.setColor(QPalette::Link, theme.accent);
  palette.setColor(QPalette::LinkVisited, theme.accent);
  for (const auto role : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText, QPalette::HighlightedText}) {
    QColor faint = theme.dim_text;
    faint.setAlpha(kFaint);
    palette.setColor(QPalette::Disabled, role, faint);
  }
  palette.setColor(QPalette::Disabled, QPalette::Highlight, theme.raised);
  return palette;
}

QString style_sheet_of(const Theme& theme) {
  QString rules = QStringLiteral(R"(
QToolTip { color: {text}; background: {raised}; border: 1px solid {border}; padding: 3px; }
QLineEdit { border: 1px solid {border}; border-radius: 3px; padding: 2px 4px; background: {surface}; }
QLineEdit:focus { border-color: {accent}; }
QAbstractSpinBox QLineEdit, QComboBox QLineEdit { border: 0; padding: 0; background: transparent; }
#top { border: 0; padding: 0; spacing: 0; background: {raised}; }
#stations { background: {raised}; border-bottom: 1px solid {border}; }
#stations #hint { color: {dim}; }
#stations #arrow { color: {dim}; font-size: 17px; padding: 0 2px; }
#stations QToolButton { border: 1px solid transparent; border-radius: 5px; padding: 5px 12px; color: {text}; }
#stations QToolButton[station="true"] { font-weight: bold; }
#stations QToolButton:hover { background: {window}; border-color: {border}; }
#stations QToolButton:focus { border-color: {accent}; }
#stations QToolButton:checked { background: {accent}; color: {on_accent}; }
#stations QToolButton:disabled { color: {faint}; }
#banner { background: {surface}; border-left: 4px solid {bad}; border-bottom: 1px solid {border}; }
#banner #message { color: {bad}; }
#empty { color: {dim}; }
#card { background: {card}; border: 1px solid {border}; border-radius: 6px; }
#heading { font-size: 20px; font-weight: bold; }
#cardTitle { font-weight: bold; font-size: 14px; }
#dim { color: {dim}; }
#bad { color: {bad}; }
#good { color: {good}; }
#figure { font-size: 26px; font-weight: bold; }
#groupTitle { font-weight: bold; color: {accent}; padding-bottom: 3px; }
#keys { color: {text}; font-weight: bold; }
#meaning { color: {dim}; }
#start { background: {accent}; color: {on_accent}; border: 1px solid {accent}; border-radius: 5px; padding: 6px 20px; font-weight: bold; }
#start:hover, #start:focus { border-color: {text}; }
#start:disabled { background: {raised}; color: {faint}; border-color: {border}; }
#recent, #examples { background: transparent; }
#recent::item, #examples::item { padding: 5px 4px; color: {text}; border-radius: 3px; }
#recent::item:hover, #examples::item:hover, #recent::item:selected, #examples::item:selected { background: {raised}; }
#palette { background: {raised}; border: 1px solid {border}; }
)");
  QColor faint = theme.dim_text;
  faint.setAlpha(kFaint);
  const std::pair<const char*, QColor> colours[] = {
      {"{text}", theme.text},
      {"{raised}", theme.raised},
      {"{border}", theme.border},
      {"{dim}", theme.dim_text},
      {"{window}", theme.window},
      {"{accent}", theme.accent},
      {"{surface}", theme.surface},
      {"{bad}", theme.bad},
      {"{on_accent}", theme.accent_text},
      {"{good}", theme.good},
      {"{card}", theme.dark() ? theme.window : theme.surface},  // fields must stand out from it
  };
  for (const auto& [name, colour] : colours) rules.replace(QLatin1String(name), colour.name());
  return rules.replace(QLatin1String("{faint}"), faint.name(QColor::HexArgb));
}

}  // namespace cohort
