#include "experiments/studies/pages/study_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "experiments/output/markdown.h"
#include "experiments/output/number.h"
#include "experiments/studies/claims/smallest_effect.h"
#include "experiments/studies/pages/centre.h"
#include "experiments/studies/pages/headline.h"
#include "experiments/studies/pages/law_section.h"
#include "experiments/studies/pages/measured.h"
#include "experiments/studies/pages/second_choices.h"
#include "experiments/studies/pages/settings_line.h"
#include "experiments/studies/pages/tried_choices.h"
#include "experiments/studies/pages/verdict_change.h"

namespace headroom::experiments {
namespace {

/// A table with more columns than this is turned.
constexpr size_t most_columns = 10;

/// "**pass** in a pilot": what a pilot says is not what the paper's own experiment would.
std::string status_cell(const StudyResults& r, const Verdict& v) {
  const bool is_decided = v.status == VerdictStatus::pass || v.status == VerdictStatus::fail;
  const bool is_the_papers = source(v.claim) == ClaimSource::paper;
  return fmt::format("**{}**{}", name(v.status), is_decided && is_the_papers && is_pilot(r) ? " in a pilot" : "");
}

/// Whether the claim was there before the data.
std::string disclosure(const Verdict& v) {
  return v.claim.worded_after.empty()
             ? ""
             : fmt::format(". *Worded after {} had been seen*", markdown(v.claim.worded_after));
}

std::string claim_table(const StudyResults& r, const std::vector<Verdict>& verdicts) {
  std::vector<std::vector<std::string>> rows;
  for (const ClaimSource source : claim_sources)
    for (const Verdict& v : verdicts)
      if (experiments::source(v.claim) == source)
        rows.push_back({status_cell(r, v), name(source),
                        markdown(in_words(v.claim) + subject_in_brackets(v.claim)) + disclosure(v), markdown(v.summary),
                        markdown(what_would_change(r, v))});
  return markdown_table({"verdict", "whose", "claim", "numbers", "margin, and what would change it"}, rows);
}

/// Why smallest effects are not the usual ones.
std::string effects(const std::vector<Verdict>& verdicts) {
  std::vector<std::pair<std::string, std::vector<std::string>>> reasons;  // each with its claims
  for (const Verdict& v : verdicts) {
    if (v.claim.because.empty()) continue;
    const std::string reason = fmt::format("{}×: {}", exact(*stated_effect(v.claim)), v.claim.because);
    auto found = std::find_if(reasons.begin(), reasons.end(), [&](const auto& entry) { return entry.first == reason; });
    if (found == reasons.end()) found = reasons.insert(found, {reason, {}});
    const std::string words = fmt::format("“{}”", in_words(v.claim));
    if (std::count(found->second.begin(), found->second.end(), words) == 0) found->second.push_back(words);
  }
  if (reasons.empty()) return "";
  std::string out =
      "Smallest effects that are not the usual ones (1.1 for errors, 1.01 for cross-entropies and accuracies):\n\n";
  for (const auto& [reason, claims] : reasons)
    out += fmt::format("- {} ({})\n", markdown(reason), markdown(fmt::format("{}", fmt::join(claims, ", "))));
  return out + "\n";
}

/// Every claim that does not hold, and every trial that failed, in plain words.
std::string failures(const Finding& f) {
  std::string out;
  std::map<std::string, int> not_run;  // reason → claims
  for (const Verdict& v : f.verdicts) {
    if (v.status == VerdictStatus::not_run) ++not_run[v.sentence];
    if (v.status == VerdictStatus::pass || v.status == VerdictStatus::not_run) continue;
    out += fmt::format("- **{}**: {}. {}", name(v.status), markdown(in_words(v.claim) + subject_in_brackets(v.claim)),
                       markdown(v.sentence));
    if (v.status == VerdictStatus::fail && !v.why.empty()) out += " *Why:* " + markdown(v.why);
    for (const std::string& note : v.notes) out += fmt::format(" ({})", markdown(note));
    out += "\n";
  }
  for (const auto& [reason, count] : not_run)
    out += fmt::format("- **{}**: {} {}. {}\n", name(VerdictStatus::not_run), count, count == 1 ? "claim" : "claims",
                       markdown(reason));
  std::map<std::string, int> broken;
  for (const TrialRecord& t : f.results.trials)
    if (t.status == TrialStatus::failed)
      ++broken[fmt::format("{}{} = {}", t.series.empty() ? "" : t.series + ", ", last_part(f.results.report.x_key),
                           exact(t.x))];
  for (const auto& [where, count] : broken)
    out += fmt::format("- {} {} failed at {}, and no mean includes them.\n", count, count == 1 ? "trial" : "trials",
                       markdown(where));
  return out.empty() ? "" : "What does not hold, or is not decided, and why:\n\n" + out + "\n";
}

/// Cells by row and column.
struct Matrix {
  std::vector<std::string> rows, columns;
  std::vector<std::vector<std::string>> cells;  ///< "" where there is no number

  Matrix turned() const {
    Matrix out{columns, rows, {}};
    for (size_t j = 0; j < columns.size(); ++j) {
      std::vector<std::string> row;
      for (size_t i = 0; i < rows.size(); ++i) row.push_back(cells[i][j]);
      out.cells.push_back(std::move(row));
    }
    return out;
  }
};

/// One metric: a row per series that has it, a column per x.
Matrix matrix_of(const StudyResults& r, const std::string& metric) {
  std::map<double, size_t> columns;
  std::vector<std::pair<std::string, Curve>> curves;
  for (const std::string& series : series_names(r)) {
    Curve c = metric_curve(r, series, metric);
    std::erase_if(c.points, [](const Point& p) { return !std::isfinite(p.mean); });
    if (c.points.empty()) continue;
    for (const Point& p : c.points) columns[p.x] = 0;
    curves.emplace_back(series, std::move(c));
  }
  Matrix out;
  for (auto& [x, index] : columns) {
    index = out.columns.size();
    out.columns.push_back(exact(x));
  }
  for (const auto& [series, c] : curves) {
    out.rows.push_back(markdown(series));
    out.cells.emplace_back(out.columns.size());
    const MeanKind kind = c.kind;
    for (const Point& p : c.points) {
      const Centre middle = centre(p, kind);
      out.cells.back()[columns.at(p.x)] = with_error(middle.mean, middle.standard_error);
    }
  }
  return out;
}

/// One metric as a table under its name; "" where no trial has it.
std::string measure_table(const StudyResults& r, const Measure& measure) {
  Matrix m = matrix_of(r, measure.metric);
  if (m.rows.empty()) return "";
  std::string corner = markdown(r.report.x_label);
  if (m.columns.size() > std::max(most_columns, m.rows.size())) m = m.turned();
  else if (m.rows.size() > 1 || !m.rows[0].empty()) corner = "series \\ " + corner;
  if (m.columns.size() == 1 && m.columns[0].empty()) m.columns[0] = markdown(measure.label);  // a turned single curve
  if (m.rows.size() == 1 && m.rows[0].empty()) m.rows[0] = markdown(measure.label);
  std::vector<std::string> head{corner};
  head.insert(head.end(), m.columns.begin(), m.columns.end());
  std::vector<std::vector<std::string>> rows;
  for (size_t i = 0; i < m.rows.size(); ++i) {
    rows.push_back({m.rows[i]});
    rows.back().insert(rows.back().end(), m.cells[i].begin(), m.cells[i].end());
  }
  return fmt::format("**{}**\n\n", markdown(measure.label)) + markdown_table(head, rows);
}

/// "Words: one; two." as a paragraph; "" for no lines.
std::string paragraph(const std::string& words, const std::vector<std::string>& lines) {
  return lines.empty() ? "" : fmt::format("{}: {}.\n\n", words, markdown(fmt::format("{}", fmt::join(lines, "; "))));
}

/// "round 2: 114 more trials" of each line, without the values and seeds behind the second colon.
std::vector<std::string> in_short(const std::vector<std::string>& rounds) {
  std::vector<std::string> out;
  for (const std::string& line : rounds) {
    const size_t first = line.find(": ");
    out.push_back(first == std::string::npos ? line : line.substr(0, line.find(": ", first + 2)));
  }
  return out;
}

}  // namespace

std::string study_page(const Finding& f, const std::vector<StudyFigure>& figures) {
  const StudyResults& r = f.results;
  const std::string settings = settings_line(r);
  std::string out = fmt::format("# {}\n\n", markdown(r.title));
  if (!f.verdicts.empty()) out += markdown(finding(r, f.verdicts)) + "\n\n";
  out += markdown(headline(r, f.verdicts)) + "\n\n";
  for (const StudyFigure& figure : figures) {
    out += fmt::format("![{}]({})\n\n", markdown(figure.title), figure.file);
    if (figures.size() > 1) out += markdown(figure.caption) + "\n\n";
  }
  out += fmt::format("{} · profile {}{}{} · {}\n\n", markdown_code(r.id), markdown_code(r.profile),
                     is_pilot(r) ? ", a pilot" : "", r.paper.empty() ? "" : " · " + markdown(r.paper), progress_of(r));
  if (!settings.empty()) out += fmt::format("Settings: {}.\n\n", markdown(settings));
  out += paragraph("Not as in the paper", r.deviations) +
         paragraph("In place of the study’s own settings, which are in brackets", r.changes) +
         paragraph("Rounds", in_short(r.rounds));
  if (!f.verdicts.empty()) out += "## Claims\n\n" + claim_table(r, f.verdicts) + effects(f.verdicts) + failures(f);
  if (const std::string levels = interval_levels(f.verdicts); !levels.empty())
    out += fmt::format("In brackets: confidence intervals at {}, as each test needs.\n\n", levels);
  if (const std::string seconds = second_choices(r, f.verdicts); !seconds.empty()) out += markdown(seconds) + "\n\n";
  if (const Blocks law = law_section(r); !law.empty()) out += as_markdown(law) + "\n";
  out += "## Numbers\n\n";
  if (r.trials.empty()) return out + "No trial has run.\n";
  std::vector<std::string> geometric;
  for (const Measure& measure : geometric_measures(r)) geometric.push_back(measure.label);
  out += "Means over seeds ± their standard error, on the test data where a model was trained";
  if (!geometric.empty())
    out += fmt::format("; geometric means, which the claims compare, of {}",
                       markdown(fmt::format("{}", fmt::join(geometric, ", "))));
  out += ".\n\n";
  for (const Measure& measure : shown_measures(r.report)) out += measure_table(r, measure);
  if (const Blocks tried = tried_choices(r); !tried.empty()) out += as_markdown(tried) + "\n";
  while (out.ends_with("\n\n")) out.pop_back();
  return out;
}

}  // namespace headroom::experiments
