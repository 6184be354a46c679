#include "experiments/report/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "experiments/claims/curve.h"
#include "experiments/claims/number.h"
#include "experiments/report/overlay.h"
#include "experiments/report/text.h"

namespace headroom::experiments {
namespace {

std::string element(const std::string& name, const std::string& html) {
  return fmt::format("<{0}>{1}</{0}>", name, html);
}

std::string header(const StudyResults& r) {
  const auto failed = std::count_if(r.trials.begin(), r.trials.end(),
                                    [](const TrialRecord& t) { return t.status == TrialStatus::failed; });
  std::string out = fmt::format("<header>\n<p class=\"over\">{} · {}</p>\n<h1>{}</h1>\n", escape(r.id),
                                escape(r.profile), escape(r.title));
  const auto done = std::ssize(r.trials);
  out += fmt::format("<p class=\"muted\">{}{} of {} trials done, {} failed</p>\n</header>\n",
                     r.paper.empty() ? "" : escape(r.paper) + " · ", done, std::max<int64_t>(r.planned, done), failed);
  return out;
}

std::string verdict_list(const std::vector<Verdict>& verdicts) {
  if (verdicts.empty()) return "<p class=\"muted\">This profile judges no claim.</p>\n";
  std::string out = "<ul class=\"verdicts\" aria-label=\"Verdicts\">\n";
  for (const Verdict& v : verdicts) {
    const std::string status = name(v.status);
    const std::string claim = v.claim.paper.empty() ? claim_name(v.claim) : v.claim.paper;
    out += fmt::format(
        "<li class=\"{}\"><div class=\"verdict\"><span class=\"status\">{}</span> <span class=\"claim\">{}</span>",
        slug(status), escape(status), escape(claim));
    if (!v.claim.series.empty()) out += fmt::format(" <span class=\"claim\">({})</span>", escape(v.claim.series));
    out += fmt::format("</div>\n<p>{}</p>\n<p class=\"muted mono\">{}{}</p>", escape(v.sentence),
                       escape(claim_name(v.claim)),
                       v.summary.empty() ? "" : "<span class=\"numbers\">" + escape(v.summary) + "</span>");
    if (!v.notes.empty()) {
      out += "\n<ul class=\"notes\">";
      for (const std::string& note : v.notes) out += element("li", escape(note));
      out += "</ul>";
    }
    out += "</li>\n";
  }
  return out + "</ul>\n";
}

std::string figure(const DrawnFigure& drawn, const std::string& caption) {
  if (drawn.wide.empty()) return "";
  return fmt::format(
      "<figure>\n<div class=\"wide\">{}</div>\n<div class=\"narrow\">{}</div>\n"
      "<figcaption>{} <a href=\"{}\">The figure as a file</a>.</figcaption>\n</figure>\n",
      drawn.wide, drawn.narrow, escape(caption), escape(drawn.file));
}

/// One row per x: the figure in numbers, and what the figure cannot show.
std::string curve_table(const StudyResults& r, const Curve& c, const Overlay* overlay) {
  const auto best = std::min_element(c.points.begin(), c.points.end(), [](const Point& a, const Point& b) {
    return std::isfinite(a.mean) && !(a.mean >= b.mean);  // a NaN is never the smallest
  });
  std::vector<std::string> keys;
  for (const Point& p : c.points)
    for (const auto& chosen : p.choice)
      if (std::find(keys.begin(), keys.end(), chosen.first) == keys.end()) keys.push_back(chosen.first);

  std::vector<std::string> heads = {last_part(r.report.x_key), "mean", "± SE", "geo. mean", "best seed", "seeds"};
  for (const std::string& key : keys) heads.push_back("best " + last_part(key));
  if (overlay) heads.push_back(overlay->label);
  std::string out =
      "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Table of the curve\">\n<table>\n<thead><tr>";
  for (const std::string& head : heads) out += fmt::format("<th scope=\"col\">{}</th>", escape(head));
  out += "</tr></thead>\n<tbody>\n";
  for (const Point& p : c.points) {
    out += &p == &*best && std::isfinite(p.mean) ? "<tr class=\"best\">" : "<tr>";
    out += fmt::format("<th scope=\"row\">{}</th>", exact(p.x));
    for (double v : {p.mean, p.standard_error, p.geometric_mean, p.best}) out += element("td", rounded(v));
    out += p.failed.empty()
               ? element("td", fmt::format("{}", p.values.size()))
               : fmt::format("<td>{} <span class=\"bad\">+ {} failed</span></td>", p.values.size(), p.failed.size());
    for (const std::string& key : keys) {
      const auto chosen = p.choice.find(key);
      const bool edge = std::count(p.edges.begin(), p.edges.end(), key) > 0;
      out += element("td", chosen == p.choice.end()
                               ? ""
                               : exact(chosen->second) + (edge ? " <span class=\"bad\">edge</span>" : ""));
    }
    if (overlay) out += element("td", rounded(overlay_at(*overlay, p.x)));
    out += "</tr>\n";
  }
  return out + "</tbody>\n</table>\n</div>\n";
}

std::string curve_notes(const StudyResults& r, const Curve& c) {
  const std::string axis = last_part(r.report.x_key);
  std::vector<std::string> edges, notes;
  for (const Point& p : c.points) {
    if (!p.edges.empty()) edges.push_back(exact(p.x));
    if (!p.missing.empty())
      notes.push_back(fmt::format("At {} = {} seed {} was not run.", axis, exact(p.x), fmt::join(p.missing, ", ")));
    if (p.failed_elsewhere > 0)
      notes.push_back(fmt::format("At {} = {} trials also failed at choices that were not taken: {}.", axis, exact(p.x),
                                  p.failed_elsewhere));
  }
  if (!edges.empty())
    notes.push_back(
        fmt::format("edge: at {} = {} the best value stands at an end of those tried; a better one may lie beyond.",
                    axis, fmt::join(edges, ", ")));
  std::string out;
  for (const std::string& note : notes) out += fmt::format("<p class=\"muted\">{}</p>\n", escape(note));
  return out;
}

std::string series_section(const StudyResults& r, const PageParts& parts, const std::string& series) {
  const Curve c = curve(r, series);
  const Overlay* overlay = overlay_of(r, series);
  std::string out = fmt::format("<section>\n<h2>{}</h2>\n", series.empty() ? "Curve" : escape(series));
  if (c.points.empty()) return out + "<p class=\"muted\">No trial has run yet.</p>\n</section>\n";
  std::string caption =
      fmt::format("{} on the test data against {}: mean ± standard error over seeds, and the best seed.",
                  r.report.y_label, r.report.x_label);
  const auto drawn = parts.figures.find(series);
  if (drawn != parts.figures.end()) out += figure(drawn->second, caption);
  out += curve_table(r, c, overlay) + curve_notes(r, c);
  return out + "</section>\n";
}

std::string failed_trials(const StudyResults& r) {
  std::string rows;
  for (const TrialRecord& t : ordered_trials(r)) {
    if (t.status != TrialStatus::failed) continue;
    std::string where = t.series.empty() ? "" : t.series + " · ";
    where += fmt::format("{} = {}", last_part(r.report.x_key), exact(t.x));
    for (const auto& [key, value] : t.choice) where += fmt::format(", {} = {}", last_part(key), exact(value));
    rows += fmt::format("<tr><th scope=\"row\">{}, seed {}</th><td>{}</td></tr>\n", escape(where), t.seed,
                        escape(t.message));
  }
  if (rows.empty()) return "";
  return "<section>\n<h2>Failed trials</h2>\n<p class=\"muted\">They are in none of the means above.</p>\n"
         "<table class=\"words\"><tbody>\n" +
         rows + "</tbody></table>\n</section>\n";
}

std::string provenance(const StudyResults& r) {
  std::string out = "<section>\n<h2>Where this comes from</h2>\n<table class=\"words\"><tbody>\n";
  for (const auto& [key, value] : r.provenance)
    out += fmt::format("<tr><th scope=\"row\">{}</th><td>{}</td></tr>\n", escape(key), escape(value));
  out +=
      "<tr><th scope=\"row\">data</th><td><a href=\"results.csv\">results.csv</a>, one row per trial · "
      "<a href=\"metrics.csv\">metrics.csv</a>, the same without times · <a href=\"verdicts.json\">verdicts.json</a> · "
      "<a href=\"config.toml\">config.toml</a></td></tr>\n</tbody></table>\n";
  out += fmt::format(
      "<details>\n<summary>Resolved configuration</summary>\n<pre><code>{}</code></pre>\n</details>\n</section>\n",
      escape(r.resolved_config));
  return out;
}

}  // namespace

std::string page(const StudyResults& results, const PageParts& parts) {
  std::string out = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n<title>{} · {}</title>\n"
      "<style>{}</style>\n</head>\n<body>\n",
      escape(results.title), escape(results.profile), kPageStyle);
  out += header(results) + "<main>\n" + verdict_list(parts.verdicts);
  if (!parts.without_figures.empty())
    out += fmt::format("<p class=\"notes\">Figures are missing: {} The tables hold the same numbers.</p>\n",
                       escape(parts.without_figures));
  for (const std::string& series : series_names(results)) out += series_section(results, parts, series);
  return out + failed_trials(results) + provenance(results) + "</main>\n</body>\n</html>\n";
}

}  // namespace headroom::experiments
