#include "experiments/report/page.h"

#include <fmt/format.h>

#include "experiments/claims/curve.h"
#include "experiments/report/figure.h"
#include "experiments/report/headline.h"
#include "experiments/report/page_sections.h"
#include "experiments/report/text.h"

namespace headroom::experiments {
namespace {

std::string header(const StudyResults& r) {
  return fmt::format("<header>\n<p class=\"over\">{} · {}</p>\n<h1>{}</h1>\n<p class=\"muted\">{}{}</p>\n</header>\n",
                     escape(r.id), escape(r.profile), escape(r.title), r.paper.empty() ? "" : escape(r.paper) + " · ",
                     escape(progress_of(r)));
}

std::string series_section(const StudyResults& r, const PageParts& parts, const std::string& series) {
  const std::string heading = series.empty() ? "Curve" : escape(series);
  // The figures of a study without series carry the name "", as those of several series do: they stand here, once.
  return fmt::format("<section>\n<h2>{}</h2>\n{}{}</section>\n", heading, figures_of(parts, series),
                     curve_table(r, series));
}

}  // namespace

std::string element(const std::string& name, const std::string& html) {
  return fmt::format("<{0}>{1}</{0}>", name, html);
}

std::string document(const std::string& title, const std::string& body, const std::string& own_rules) {
  // The policy keeps the page from fetching anything, whatever found its way into it.
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src &#39;none&#39;; style-src "
      "&#39;unsafe-inline&#39;; script-src &#39;unsafe-inline&#39;; img-src data:\"/>\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n<title>{}</title>\n"
      "<style>{}</style>\n</head>\n<body>\n{}<script>{}</script>\n</body>\n</html>\n",
      escape(title), page_style() + own_rules, body, kPageScript);
}

std::string page(const StudyResults& results, const PageParts& parts) {
  std::string out = header(results) + "<main>\n" + verdict_section(parts.verdicts) + failed_section(results);
  if (!parts.without_figures.empty())
    out += fmt::format("<p class=\"notes\">Figures are missing: {} The tables hold the same numbers.</p>\n",
                       escape(parts.without_figures));
  const auto names = series_names(results);
  if (names.size() > most_series_drawn)
    out += fmt::format("<p class=\"notes\">Figures show the first {} of {} series. The tables hold all of them.</p>\n",
                       most_series_drawn, names.size());
  const std::string together = names[0].empty() ? "" : figures_of(parts, "");
  if (!together.empty()) out += "<section>\n<h2>All series</h2>\n" + together + "</section>\n";
  for (const std::string& series : names) out += series_section(results, parts, series);
  return document(fmt::format("{} · {}", results.title, results.profile), out + about_section(results) + "</main>\n");
}

}  // namespace headroom::experiments
