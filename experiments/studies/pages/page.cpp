#include "experiments/studies/pages/page.h"

#include <fmt/format.h>

#include "experiments/output/html.h"
#include "experiments/studies/claims/curve.h"
#include "experiments/studies/pages/law_section.h"
#include "experiments/studies/pages/page_sections.h"

namespace headroom::experiments {
namespace {

constexpr size_t kOpenSeries = 1;  ///< a study of so few series shows their numbers at once

Block report_figure(const PageFigure& f) { return figure(f.figure.plot, f.figure.caption, f.drawing, f.file); }

/// The figures of `series` that stand further down.
Blocks further_figures(const PageParts& parts, const std::string& series) {
  Blocks out;
  for (const PageFigure& one : parts.figures)
    if (!one.figure.is_main && one.figure.series == series) out.push_back(report_figure(one));
  return out;
}

Block main_figures(const PageParts& parts, size_t series) {
  Blocks out;
  for (const PageFigure& one : parts.figures)
    if (one.figure.is_main) out.push_back(report_figure(one));
  if (!parts.without_figures.empty())
    out.push_back(paragraph(
        fmt::format("Figures are missing: {} The tables hold the same numbers.", parts.without_figures), Role::notes));
  if (series > most_series_drawn)
    out.push_back(paragraph(
        fmt::format("Figures show the first {} of {} series. The tables hold all of them.", most_series_drawn, series),
        Role::notes));
  Block all = section("", std::move(out), "main-figure");
  all.name = "The figure";
  return all;
}

/// One series: a line that says what came of it, and on demand its figures and numbers.
Block series_fold(const StudyResults& r, const PageParts& parts, const std::string& series, const std::string& id,
                  bool is_open) {
  Blocks body = further_figures(parts, series);
  append(body, curve_table(r, series));
  Block out = fold("", std::move(body), is_open);
  out.line = {{.text = series_words(r, series), .role = Role::muted}};
  out.name = series;
  out.id = id;
  return out;
}

Block series_section(const StudyResults& r, const PageParts& parts, const std::vector<std::string>& names) {
  if (names[0].empty()) return section("In numbers", {section("", curve_table(r, ""), "series-1")}, "series");
  Blocks series;
  for (size_t i = 0; i < names.size(); ++i)
    series.push_back(series_fold(r, parts, names[i], fmt::format("series-{}", i + 1), names.size() <= kOpenSeries));
  return section("Each series", std::move(series), "series");
}

}  // namespace

std::string page(const StudyResults& results, const PageParts& parts) {
  Document page{fmt::format("{} · {}", results.title, results.profile), opening_section(results, parts.verdicts),
                "output/assets/report.css", true};
  const auto names = series_names(results);
  if (Block figures = main_figures(parts, names.size()); !figures.parts.empty())
    page.blocks.push_back(std::move(figures));
  append(page.blocks, verdict_section(results, parts.verdicts));
  append(page.blocks, law_section(results));
  append(page.blocks, failed_section(results));
  page.blocks.push_back(series_section(results, parts, names));
  if (Blocks more = further_figures(parts, ""); !more.empty())
    page.blocks.push_back(section("More figures", std::move(more), "more"));
  page.blocks.push_back(about_section(results));
  return as_html(page);
}

}  // namespace headroom::experiments
