#include "experiments/studies/pages/page.h"
#include "experiments/output/html.h"

#include <fmt/format.h>

#include "experiments/output/page_assets.h"
#include "experiments/output/text.h"
#include "experiments/studies/claims/curve.h"
#include "experiments/studies/pages/figure.h"
#include "experiments/studies/pages/law_section.h"
#include "experiments/studies/pages/page_sections.h"

namespace headroom::experiments {
namespace {

constexpr size_t kOpenSeries = 1;  ///< a study of so few series shows their numbers at once

/// The figures of `series` that stand further down.
std::string further_figures(const PageParts& parts, const std::string& series) {
  std::string out;
  for (const PageFigure& figure : parts.figures)
    if (!figure.is_main && figure.series == series) out += figure_block(figure);
  return out;
}

/// One series: a line that says what came of it, and on demand its figures and numbers.
std::string series_block(const StudyResults& r, const PageParts& parts, const std::string& series,
                         const std::string& id, bool open) {
  const std::string body = (series.empty() ? "" : further_figures(parts, series)) + curve_table(r, series);
  if (series.empty()) return fmt::format("<div id=\"{}\">\n{}</div>\n", id, body);
  return fmt::format(
      "<details class=\"series\" id=\"{}\"{}>\n<summary><h3>{}</h3> <span class=\"muted\">{}</span>"
      "</summary>\n{}</details>\n",
      id, open ? " open=\"open\"" : "", escape(series), escape(series_words(r, series)), body);
}

/// Collects the sections of the page with their entries of the contents.
class Sections {
 public:
  void add(const std::string& id, const std::string& heading, const std::string& html, int level = 1) {
    if (html.empty()) return;
    entries_.push_back({id, heading, level});
    html_ += html;
  }
  void add_section(const std::string& id, const std::string& heading, const std::string& body) {
    if (body.empty()) return;
    add(id, heading, fmt::format("<section id=\"{}\">\n<h2>{}</h2>\n{}</section>\n", id, escape(heading), body));
  }
  void mention(const std::string& id, const std::string& text) { entries_.push_back({id, text, 2}); }
  std::string text() const {
    return fmt::format("<div class=\"report\">\n{}<main>\n{}</main>\n</div>\n", contents(entries_), html_);
  }

 private:
  std::vector<ContentsEntry> entries_;
  std::string html_;
};

}  // namespace

std::string page(const StudyResults& results, const PageParts& parts) {
  Sections all;
  all.add("finding", "Summary", opening_section(results, parts));
  std::string figure;
  for (const PageFigure& one : parts.figures)
    if (one.is_main) figure += figure_block(one);
  if (!parts.without_figures.empty())
    figure += fmt::format("<p class=\"notes\">Figures are missing: {} The tables hold the same numbers.</p>\n",
                          escape(parts.without_figures));
  const auto names = series_names(results);
  if (names.size() > most_series_drawn)
    figure +=
        fmt::format("<p class=\"notes\">Figures show the first {} of {} series. The tables hold all of them.</p>\n",
                    most_series_drawn, names.size());
  if (!figure.empty())
    all.add("main-figure", "The figure",
            "<section id=\"main-figure\" aria-label=\"The figure\">\n" + figure + "</section>\n");
  all.add("verdicts", "Verdicts", verdict_section(results, parts.verdicts));
  all.add("law", "The law", law_html(results));
  all.add("failed", "What failed", failed_section(results));
  std::string series;
  for (size_t i = 0; i < names.size(); ++i)
    series += series_block(results, parts, names[i], fmt::format("series-{}", i + 1), names.size() <= kOpenSeries);
  all.add_section("series", names[0].empty() ? "In numbers" : "Each series", series);
  if (!names[0].empty())
    for (size_t i = 0; i < names.size(); ++i) all.mention(fmt::format("series-{}", i + 1), names[i]);
  all.add_section("more", "More figures", further_figures(parts, ""));
  all.add("about", "Where this comes from", about_section(results));
  return document(fmt::format("{} · {}", results.title, results.profile), all.text(),
                  page_asset("output/assets/report.css"));
}

}  // namespace headroom::experiments
