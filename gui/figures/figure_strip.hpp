#pragma once

#include <QFrame>
#include <QString>
#include <vector>

class QHBoxLayout;
class QLabel;

namespace cohort {

/// One number in large, with what it is above and what belongs to it below.
struct Figure {
  QString title;
  QString value;
  QString detail;
  QString tip = {};
};

/// Figures beside each other, for what must always be in view. Where there is no room for all, the last are left out:
/// the most important comes first.
class FigureStrip : public QFrame {
  Q_OBJECT

 public:
  explicit FigureStrip(QWidget* parent = nullptr);

  void set_figures(const std::vector<Figure>& figures);
  [[nodiscard]] const std::vector<Figure>& figures() const { return figures_; }
  /// "title: value; detail", a line a figure.
  [[nodiscard]] QString text() const;
  [[nodiscard]] QSize minimumSizeHint() const override;

 protected:
  void resizeEvent(QResizeEvent* event) override;

 private:
  struct Tile {
    QWidget* box = nullptr;
    QLabel* title = nullptr;
    QLabel* value = nullptr;
    QLabel* detail = nullptr;
  };
  void add_tile();
  void show_what_fits();

  QHBoxLayout* row_;
  std::vector<Tile> tiles_;
  std::vector<Figure> figures_;
};

}  // namespace cohort
