#include "view/report/html_writer.hpp"

#include <fmt/format.h>

#include <iterator>
#include <utility>

namespace cohort {
namespace {

template <class... Args>
void add(std::string& out, fmt::format_string<Args...> format, Args&&... args) {
  fmt::format_to(std::back_inserter(out), format, std::forward<Args>(args)...);
}

std::string class_of(const HtmlCell& cell) {
  std::string classes = cell.number ? "number" : "";
  if (!cell.mark.empty()) classes += (classes.empty() ? "" : " ") + cell.mark;
  return classes.empty() ? classes : fmt::format(" class=\"{}\"", classes);
}

}  // namespace

HtmlCell number_cell(std::string text, std::string mark) { return {std::move(text), true, std::move(mark)}; }

std::string with_code(std::string_view text) {
  std::string out;
  while (true) {
    const std::size_t opened = text.find('`');
    const std::size_t closed = opened == std::string_view::npos ? opened : text.find('`', opened + 1);
    if (closed == std::string_view::npos) return out + escape_xml(text);
    out += escape_xml(text.substr(0, opened));
    add(out, "<code>{}</code>", escape_xml(text.substr(opened + 1, closed - opened - 1)));
    text.remove_prefix(closed + 1);
  }
}

void HtmlWriter::open_section(std::string_view title, int level) {
  out_ += "<section>\n";
  heading(title, level);
}

void HtmlWriter::close_section() { out_ += "</section>\n"; }

void HtmlWriter::heading(std::string_view text, int level) { add(out_, "<h{0}>{1}</h{0}>\n", level, escape_xml(text)); }

void HtmlWriter::paragraph(std::string_view text, std::string_view mark) {
  add(out_, "<p{}>{}</p>\n", mark.empty() ? "" : fmt::format(" class=\"{}\"", mark), with_code(text));
}

void HtmlWriter::list(const std::vector<std::string>& items) {
  if (items.empty()) return;
  out_ += "<ul>\n";
  for (const std::string& item : items) add(out_, "<li>{}</li>\n", with_code(item));
  out_ += "</ul>\n";
}

void HtmlWriter::table(std::string_view caption, const HtmlRow& headings, const std::vector<HtmlRow>& rows) {
  if (rows.empty()) return;
  constexpr std::size_t kShort = 10;  // rows: kept on one page of print
  out_ += rows.size() <= kShort ? "<table class=\"short\">\n" : "<table>\n";
  if (!caption.empty()) add(out_, "<caption>{}</caption>\n", with_code(caption));
  out_ += "<thead><tr>";
  for (const HtmlCell& cell : headings) add(out_, "<th scope=\"col\"{}>{}</th>", class_of(cell), escape_xml(cell.text));
  out_ += "</tr></thead>\n<tbody>\n";
  for (const HtmlRow& row : rows) {
    out_ += "<tr>";
    for (const HtmlCell& cell : row) add(out_, "<td{}>{}</td>", class_of(cell), escape_xml(cell.text));
    out_ += "</tr>\n";
  }
  out_ += "</tbody>\n</table>\n";
}

void HtmlWriter::facts(const std::vector<std::pair<std::string, std::string>>& facts) {
  if (facts.empty()) return;
  out_ += "<dl>\n";
  for (const auto& [name, value] : facts) {
    add(out_, "<dt>{}</dt><dd>{}</dd>\n", escape_xml(name), escape_xml(value));
  }
  out_ += "</dl>\n";
}

void HtmlWriter::tiles(const std::vector<Tile>& tiles) {
  if (tiles.empty()) return;
  out_ += "<div class=\"tiles\">\n";
  for (const Tile& tile : tiles) {
    add(out_, "<div><strong>{}</strong> <span>{}</span>", escape_xml(tile.number), escape_xml(tile.what));
    if (!tile.more.empty()) add(out_, " <small>{}</small>", escape_xml(tile.more));
    out_ += "</div>\n";
  }
  out_ += "</div>\n";
}

void HtmlWriter::figure(const Drawing& drawing, std::string_view says) {
  add(out_, "<figure>\n{}<figcaption>{}</figcaption>\n</figure>\n", to_inline_svg(drawing), with_code(says));
}

void HtmlWriter::chart(const Chart& chart, double height, std::string_view says) {
  if (!chart.empty()) figure(layout(chart, {kPageWidth, height}), says);
}

void HtmlWriter::folded(std::string_view title, std::string_view preformatted) {
  add(out_, "<details>\n<summary>{}</summary>\n<pre>{}</pre>\n</details>\n", escape_xml(title),
      escape_xml(preformatted));
}

}  // namespace cohort
