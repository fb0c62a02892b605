#include <fmt/format.h>

#include <array>
#include <iterator>
#include <string>
#include <string_view>

#include "view/chart/drawing.hpp"

namespace cohort {
namespace {

/// Two decimals at most, none of them for nothing.
std::string number(double value) {
  std::string text = fmt::format("{:.2f}", value);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text == "-0" ? "0" : text;
}

std::string tone_name(const Ink& ink) {
  switch (ink.tone) {
    case Tone::kBackground:
      return "background";
    case Tone::kText:
      return "text";
    case Tone::kFaintText:
      return "faint-text";
    case Tone::kGrid:
      return "grid";
    case Tone::kAxis:
      return "axis";
    case Tone::kLimit:
      return "limit";
    case Tone::kHighlight:
      return "highlight";
    case Tone::kGood:
      return "good";
    case Tone::kBad:
      return "bad";
    case Tone::kSeries:
      return fmt::format("series-{}", ink.series % kSeriesColours);
  }
  return "text";
}

class SvgWriter {
 public:
  /// `palette`: null for colours of the page.
  SvgWriter(std::string& out, const Palette* palette) : out_(out), palette_(palette) {}

  void write(const DrawnLine& line) {
    add("<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\"{} stroke-width=\"{}\"{}/>\n", number(line.from.x),
        number(line.from.y), number(line.to.x), number(line.to.y), paint("stroke", line.ink), number(line.width),
        line.dashed ? " stroke-dasharray=\"5 4\"" : "");
  }

  void write(const DrawnPath& path) {
    if (path.positions.empty()) return;
    std::string points;
    for (const DrawnPosition position : path.positions) {
      if (!points.empty()) points += ' ';
      points += number(position.x) + ',' + number(position.y);
    }
    if (path.filled) {
      add("<polygon points=\"{}\"{}/>\n", points, paint("fill", path.ink));
    } else {
      add("<polyline points=\"{}\" fill=\"none\"{} stroke-width=\"{}\" stroke-linejoin=\"round\"/>\n", points,
          paint("stroke", path.ink), number(path.width));
    }
  }

  void write(const DrawnRectangle& rectangle) {
    const DrawnBox& box = rectangle.box;
    add("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"{}", number(box.x), number(box.y), number(box.width),
        number(box.height), paint("fill", rectangle.ink));
    close("rect", rectangle.title);
  }

  void write(const DrawnCircle& circle) {
    add("<circle cx=\"{}\" cy=\"{}\" r=\"{}\"", number(circle.centre.x), number(circle.centre.y),
        number(circle.radius));
    if (circle.filled) {
      out_ += paint("fill", circle.ink);
    } else {
      add(" fill=\"none\" pointer-events=\"all\"{} stroke-width=\"2\"", paint("stroke", circle.ink));
    }
    close("circle", circle.title);
  }

  void write(const DrawnText& text) {
    constexpr std::array<std::string_view, 3> kAnchors = {"start", "middle", "end"};
    const std::string x = number(text.position.x);
    const std::string y = number(text.position.y);
    add("<text x=\"{}\" y=\"{}\" font-size=\"{}\"{}", x, y, number(text.size), paint("fill", text.ink));
    if (text.anchor != TextAnchor::kStart) add(" text-anchor=\"{}\"", kAnchors[static_cast<std::size_t>(text.anchor)]);
    if (text.bold) out_ += " font-weight=\"bold\"";
    if (text.upwards) add(" transform=\"rotate(-90 {} {})\"", x, y);
    out_ += '>';
    if (!text.title.empty()) add("<title>{}</title>", escape_xml(text.title));
    add("{}</text>\n", escape_xml(text.text));
  }

  template <class... Args>
  void add(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Args>(args)...);
  }

 private:
  void close(std::string_view element, std::string_view title) {
    if (title.empty()) {
      out_ += "/>\n";
    } else {
      add("><title>{}</title></{}>\n", escape_xml(title), element);
    }
  }

  [[nodiscard]] std::string paint(std::string_view property, const Ink& ink) const {
    std::string text = palette_ != nullptr ? fmt::format(" {}=\"{}\"", property, hex(colour_of(*palette_, ink)))
                                           : fmt::format(" style=\"{}:var(--{})\"", property, tone_name(ink));
    if (ink.opacity < 1) text += fmt::format(" {}-opacity=\"{}\"", property, number(ink.opacity));
    return text;
  }

  std::string& out_;
  const Palette* palette_;
};

void write_marks(SvgWriter& writer, const Drawing& drawing) {
  for (const DrawnMark& mark : drawing.marks) {
    std::visit([&](const auto& one) { writer.write(one); }, mark);
  }
}

}  // namespace

std::string to_svg(const Drawing& drawing, const Palette& palette) {
  std::string out;
  SvgWriter writer(out, &palette);
  const std::string width = number(drawing.size.width);
  const std::string height = number(drawing.size.height);
  out += "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
  writer.add(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}\" height=\"{}\" viewBox=\"0 0 {} {}\" role=\"img\" "
      "font-family=\"{}\">\n",
      width, height, width, height, escape_xml(kFontFamily));
  if (!drawing.title.empty()) writer.add("<title>{}</title>\n", escape_xml(drawing.title));
  writer.add("<rect width=\"{}\" height=\"{}\" fill=\"{}\"/>\n", width, height, hex(palette.background));
  write_marks(writer, drawing);
  out += "</svg>\n";
  return out;
}

std::string to_inline_svg(const Drawing& drawing) {
  std::string out;
  SvgWriter writer(out, nullptr);
  const std::string width = number(drawing.size.width);
  const std::string height = number(drawing.size.height);
  writer.add(
      "<svg width=\"{}\" height=\"{}\" viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\" font-family=\"{}\">\n",
      width, height, width, height, escape_xml(drawing.title), escape_xml(kFontFamily));
  write_marks(writer, drawing);
  out += "</svg>\n";
  return out;
}

std::string palette_css(const Palette& palette) {
  std::string css;
  const auto add = [&](std::string_view name, Colour colour) {
    fmt::format_to(std::back_inserter(css), "--{}:{};", name, hex(colour));
  };
  for (std::size_t tone = 0; tone + 1 < kTones; ++tone) {
    const Ink ink{static_cast<Tone>(tone)};
    add(tone_name(ink), colour_of(palette, ink));
  }
  add("panel", palette.panel);
  for (std::size_t i = 0; i < kSeriesColours; ++i) {
    const Ink ink{Tone::kSeries, i};
    add(tone_name(ink), colour_of(palette, ink));
  }
  return css;
}

}  // namespace cohort
