#pragma once

#include <QString>
#include <QWidget>
#include <optional>
#include <vector>

namespace cohort {

/// Something that can be dragged from lane to lane.
struct BoardChip {
  QString label;
  QString tip;
  int lane = 0;
  std::vector<int> allowed = {};  ///< lanes it may be moved to; empty: all
};

/// Lanes with chips on them: members on streams, ops by strategy. A chip is moved with the mouse, or with the keys:
/// Left and Right choose a chip, Up and Down move it to the lane above or below.
class ChipBoard : public QWidget {
  Q_OBJECT

 public:
  explicit ChipBoard(QWidget* parent = nullptr);

  void set_content(QStringList lanes, std::vector<BoardChip> chips);
  [[nodiscard]] const std::vector<BoardChip>& chips() const { return chips_; }
  [[nodiscard]] const QStringList& lanes() const { return lanes_; }
  /// Where a chip and a lane are drawn.
  [[nodiscard]] QRect chip_rectangle(int chip) const;
  [[nodiscard]] QRect lane_rectangle(int lane) const;
  [[nodiscard]] std::optional<int> chosen() const { return chosen_; }

  [[nodiscard]] QSize sizeHint() const override;
  [[nodiscard]] QSize minimumSizeHint() const override { return {120, sizeHint().height()}; }
  [[nodiscard]] bool hasHeightForWidth() const override { return true; }
  [[nodiscard]] int heightForWidth(int width) const override;

 Q_SIGNALS:
  void chip_moved(int chip, int lane);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  bool event(QEvent* event) override;

 private:
  struct Places {
    std::vector<QRect> lanes;
    std::vector<QRect> chips;
    int height = 0;
  };
  [[nodiscard]] Places lay_out(int width) const;
  void update_places();
  [[nodiscard]] std::optional<int> chip_at(QPoint point) const;
  [[nodiscard]] std::optional<int> lane_at(QPoint point) const;
  [[nodiscard]] bool may_move(int chip, int lane) const;
  void move_by_key(int lanes);

  QStringList lanes_;
  std::vector<BoardChip> chips_;
  Places places_;
  std::optional<int> chosen_;
  std::optional<int> dragged_;
  QPoint pressed_;
  QPoint pointer_;
  bool moving_ = false;
};

}  // namespace cohort
