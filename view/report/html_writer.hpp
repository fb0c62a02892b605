#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "view/chart/chart.hpp"
#include "view/chart/drawing.hpp"

namespace cohort {

/// A cell of a table: numbers stand on the right.
struct HtmlCell {
  std::string text;
  bool number = false;
  std::string mark = {};  ///< a class: "good", "bad", "faint"
};
using HtmlRow = std::vector<HtmlCell>;

HtmlCell number_cell(std::string text, std::string mark = {});

/// Writes the body of a page. Everything given to it is text, which it escapes; in paragraphs, lists and captions what
/// stands between backticks becomes code.
class HtmlWriter {
 public:
  void open_section(std::string_view title, int level = 2);
  void close_section();
  void heading(std::string_view text, int level);
  void paragraph(std::string_view text, std::string_view mark = {});
  void list(const std::vector<std::string>& items);
  /// The first column is on the left, `headings` say which others hold numbers.
  void table(std::string_view caption, const HtmlRow& headings, const std::vector<HtmlRow>& rows);
  /// Pairs of a name and what it is.
  void facts(const std::vector<std::pair<std::string, std::string>>& facts);
  /// Boxes with one large number each.
  struct Tile {
    std::string number, what, more;
  };
  void tiles(const std::vector<Tile>& tiles);
  /// A drawing with a sentence below it that says what it shows.
  void figure(const Drawing& drawing, std::string_view says);
  /// A chart at the page's width; nothing where it is empty.
  void chart(const Chart& chart, double height, std::string_view says);
  /// Text that is folded away until it is asked for; in print it is left out.
  void folded(std::string_view title, std::string_view preformatted);

  [[nodiscard]] std::string take() { return std::move(out_); }

 private:
  std::string out_;
};

/// The width of charts and timelines on the page, pixels.
inline constexpr double kPageWidth = 900;

/// The text escaped, with what stands between backticks as code.
std::string with_code(std::string_view text);

}  // namespace cohort
