#include <fmt/format.h>

#include <string>

#include "view/chart/palette.hpp"
#include "view/report/sections.hpp"

namespace cohort {
namespace {

constexpr std::string_view kStyle = R"(
body{margin:0 auto;max-width:940px;padding:24px 20px 60px;background:var(--background);color:var(--text);
font:15px/1.5 'DejaVu Sans','Segoe UI','Helvetica Neue',Arial,sans-serif}
h1{font-size:26px;line-height:1.25;margin:0 0 4px}
h2{font-size:20px;margin:44px 0 8px;padding-bottom:6px;border-bottom:1px solid var(--grid)}
h3{font-size:16px;margin:30px 0 6px}
p{margin:6px 0}
.faint,figcaption,caption,small,footer{color:var(--faint-text)}
.good{color:var(--good)}
.bad{color:var(--bad)}
code,pre{font-family:'DejaVu Sans Mono',Consolas,Menlo,monospace;font-size:13px}
code{background:var(--panel);padding:1px 4px;border-radius:3px;overflow-wrap:anywhere}
pre{background:var(--panel);padding:10px;overflow:auto;max-height:420px;white-space:pre-wrap;overflow-wrap:anywhere}
ul{margin:6px 0;padding-left:22px}
dl{display:grid;grid-template-columns:minmax(120px,max-content) 1fr;gap:3px 18px;margin:10px 0}
dt{color:var(--faint-text)}
dd{margin:0;overflow-wrap:anywhere}
table{border-collapse:collapse;width:100%;margin:14px 0;font-size:13px}
caption{text-align:left;padding-bottom:4px}
th,td{text-align:left;vertical-align:top;padding:4px 10px 4px 0;border-bottom:1px solid var(--grid);
overflow-wrap:anywhere}
th{font-weight:600;overflow-wrap:normal}
.number{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums;overflow-wrap:normal}
th.number{white-space:normal}
.number+td:not(.number),.number+th:not(.number){padding-left:14px}
figure{margin:16px 0;break-inside:avoid}
figure svg{display:block;max-width:100%;height:auto}
figcaption{font-size:13px;margin-top:2px}
.tiles{display:flex;flex-wrap:wrap;gap:12px;margin:14px 0}
.tiles div{background:var(--panel);border:1px solid var(--grid);border-radius:6px;padding:10px 16px;flex:1 1 200px}
.tiles strong{display:block;font-size:26px;line-height:1.2}
.tiles span,.tiles small{display:block;font-size:13px}
summary{cursor:pointer;margin:8px 0}
footer{margin-top:40px;font-size:13px}
@media print{body{max-width:none;padding:0;font-size:11pt}
h1,h2,h3,caption{break-after:avoid}
tr,dl,ul,.tiles,.short{break-inside:avoid}
details{display:none}
*{-webkit-print-color-adjust:exact;print-color-adjust:exact}}
)";

std::string style() {
  return fmt::format(
      ":root{{color-scheme:light;{}}}\n@media screen and "
      "(prefers-color-scheme:dark){{:root{{color-scheme:dark;{}}}}}{}",
      palette_css(light_palette()), palette_css(dark_palette()), kStyle);
}

void write_missing(HtmlWriter& html, const Report& report) {
  if (report.missing.empty()) return;
  html.open_section("What these files do not say");
  html.list(report.missing);
  html.close_section();
}

std::string body_of(const Report& report) {
  HtmlWriter html;
  for (const PlanSection& section : report.plans) write_plan(html, section);
  for (const ProfileSection& section : report.profiles) write_profile(html, section);
  for (const RecordingSection& section : report.recordings) write_recording(html, section);
  for (const ProcessesSection& section : report.processes) write_processes(html, section);
  write_missing(html, report);
  write_provenance(html, report);
  return html.take();
}

}  // namespace

std::string to_html(const Report& report) {
  const std::string title = escape_xml(report.title);
  std::string page = "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n";
  page += "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n";
  page += fmt::format("<title>{}</title>\n<style>\n{}</style>\n</head>\n<body>\n", title, style());
  page += "<header>\n<h1>Cohort report</h1>\n";
  page += fmt::format("<p class=\"faint\">{}: from {} file{}, named below.</p>\n</header>\n<main>\n", title,
                      report.files.size(), report.files.size() == 1 ? "" : "s");
  page += body_of(report);
  page += "</main>\n";
  if (!report.made.empty()) page += fmt::format("<footer>{}</footer>\n", escape_xml(report.made));
  return page + "</body>\n</html>\n";
}

}  // namespace cohort
