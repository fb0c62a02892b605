#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/view/xml_check.hpp"
#include "view/chart/drawing.hpp"

namespace cohort {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

Drawing every_mark() {
  Drawing drawing{.size = {100, 50.5}, .title = "A <b> & \"c\""};
  drawing.marks = {DrawnLine{{1, 2}, {3, 4.25}, {Tone::kGrid}, 1, true},
                   DrawnPath{{{0, 0}, {5, 5}}, {Tone::kSeries, 1}},
                   DrawnPath{{{0, 0}, {5, 5}, {0, 5}}, {Tone::kSeries, 9, 0.5}, 0, true},
                   DrawnRectangle{{1, 1, 2, 2}, {Tone::kGood}, "bar <1>"},
                   DrawnCircle{{9, 9}, 3, {Tone::kHighlight}, false},
                   DrawnText{{10, 20}, "a<b", TextAnchor::kEnd, 11, {Tone::kText}, true, true, "the whole a<b"}};
  return drawing;
}

TEST(Svg, IsWrittenMarkByMark) {
  constexpr std::string_view kExpected = R"svg(<?xml version="1.0" encoding="UTF-8"?>
<svg xmlns="http://www.w3.org/2000/svg" width="100" height="50.5" viewBox="0 0 100 50.5" role="img" font-family="&#39;DejaVu Sans&#39;, &#39;Segoe UI&#39;, &#39;Helvetica Neue&#39;, Arial, sans-serif">
<title>A &lt;b&gt; &amp; &quot;c&quot;</title>
<rect width="100" height="50.5" fill="#ffffff"/>
<line x1="1" y1="2" x2="3" y2="4.25" stroke="#e4e8ec" stroke-width="1" stroke-dasharray="5 4"/>
<polyline points="0,0 5,5" fill="none" stroke="#d55e00" stroke-width="2" stroke-linejoin="round"/>
<polygon points="0,0 5,5 0,5" fill="#d55e00" fill-opacity="0.5"/>
<rect x="1" y="1" width="2" height="2" fill="#1a7f37"><title>bar &lt;1&gt;</title></rect>
<circle cx="9" cy="9" r="3" fill="none" pointer-events="all" stroke="#cf222e" stroke-width="2"/>
<text x="10" y="20" font-size="11" fill="#1b1f24" text-anchor="end" font-weight="bold" transform="rotate(-90 10 20)"><title>the whole a&lt;b</title>a&lt;b</text>
</svg>
)svg";
  EXPECT_EQ(to_svg(every_mark(), light_palette()), kExpected);
}

TEST(Svg, IsWellFormedWhateverNamesAre) {
  const std::string name = "<script>alert('&')</script>\x01\xff \"quoted\"";
  Chart chart{.title = name, .x = {.label = name, .categories = {name, "b"}}, .y = {.label = name}};
  chart.series = {
      {.name = name, .kind = SeriesKind::kBars, .points = {{.x = 0, .y = 1, .label = name, .highlight = true}}}};
  chart.limits = {{.value = 1, .label = name}};
  const Drawing drawing = layout(chart, {500, 300});
  std::vector<std::string> elements;
  std::string all_text;
  const XmlVisitor visitor{[&](const std::string& element, const auto&) { elements.push_back(element); },
                           [&](const std::string& text) { all_text += text; }};
  EXPECT_EQ(xml_fault(to_svg(drawing, dark_palette()), visitor), "");
  EXPECT_EQ(xml_fault(to_inline_svg(drawing), visitor), "");
  EXPECT_THAT(elements, Not(Contains("script")));
  EXPECT_THAT(all_text, HasSubstr("<script>")) << "as text";
}

TEST(InlineSvg, TakesItsColoursFromThePage) {
  const std::string svg = to_inline_svg(every_mark());
  EXPECT_THAT(svg, Not(testing::ContainsRegex("#[0-9a-f]{6}")));
  EXPECT_THAT(svg, Not(HasSubstr("http")));
  const std::string css = palette_css(light_palette());
  for (const char* name : {"grid", "series-1", "good", "highlight", "text"}) {
    EXPECT_THAT(svg, HasSubstr(std::string("var(--") + name + ")"));
    EXPECT_THAT(css, HasSubstr(std::string("--") + name + ":#"));
  }
}

TEST(XmlCheck, FindsFaults) {
  EXPECT_EQ(xml_fault("<a b=\"1\"><c/>x &amp; y</a>\n"), "");
  for (const char* broken : {"<a>", "<a></b>", "<a b=1/>", "<a b=\"1\" b=\"2\"/>", "<a>&nbsp;</a>", "<a>a & b</a>",
                             "<a/><b/>", "<a>\x01</a>", "", "<a b=\"<\"/>", "text <a/>"}) {
    EXPECT_NE(xml_fault(broken), "") << broken;
  }
}

}  // namespace
}  // namespace cohort
