#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "experiments/output/number.h"
#include "experiments/studies/analysis/centre.h"
#include "experiments/studies/analysis/tried.h"
#include "experiments/studies/pages/headline.h"
#include "experiments/studies/pages/page.h"
#include "experiments/studies/pages/verdict_change.h"
#include "experiments/studies/words/verdict_words.h"

/// A report's verdicts, failed trials and curves in numbers.
namespace headroom::experiments {
namespace {

/// Numbers as a narrow column shows them: "p = 2e-7" stays in one line.
std::string in_one_line(std::string numbers) {
  for (size_t at = numbers.find(" = "); at != std::string::npos; at = numbers.find(" = ", at + 1))
    numbers.replace(at, 3, "\u00a0=\u00a0");
  return numbers;
}

/// The verdict, the claim with all that is said of it on demand, its numbers.
VerdictRow verdict_row(const StudyResults& r, const Verdict& v, const std::string& turned) {
  VerdictRow row{name(v.status), {{in_words(v.claim)}}, {paragraph(sentence(v))}, in_one_line(summary(v)), turned,
                 whiskers(v)};
  if (v.status == VerdictStatus::fail && !v.why.empty())
    row.more.push_back(paragraph({{.text = "Why:", .is_strong = true}, {" " + v.why}}, Role::why));
  for (const std::string& note : v.notes) row.more.push_back(item(note, Role::notes));
  if (const std::string change = what_would_change(r, v); !change.empty())
    row.more.push_back(
        paragraph({{.text = "Margin, and what would change it:", .is_strong = true}, {" " + change + "."}}));
  if (!v.claim.worded_after.empty())
    row.more.push_back(paragraph(fmt::format("Worded after {} had been seen.", v.claim.worded_after)));
  if (!v.claim.because.empty())
    row.more.push_back(paragraph(
        {{.text = fmt::format("Why {}× is the smallest effect:", exact(v.claim.keys.factor)), .is_strong = true},
         {" " + v.claim.because + "."}}));
  row.more.push_back(paragraph(claim_name(v.claim), Role::source));
  if (!v.claim.series.empty()) {
    row.claim.push_back({" "});
    row.claim.push_back({.text = v.claim.series, .role = Role::series});
  }
  return row;
}

Blocks verdict_table_of(const Analysis& r, const SecondBest& second, ClaimSource of) {
  const std::vector<Verdict>& verdicts = r.verdicts();
  std::vector<VerdictRow> rows;
  for (size_t i = 0; i < verdicts.size(); ++i)
    if (source(verdicts[i].claim) == of) rows.push_back(verdict_row(r, verdicts[i], second.turned[i]));
  if (rows.empty()) return {};
  Block head = heading(plural(of) + std::string(" "), 3);
  head.line.push_back({.text = tally(verdicts, of), .role = Role::muted});
  return {std::move(head), verdict_table(plural(of), std::move(rows))};
}

/// A cell with something bad behind it; nothing bad where that is "".
Phrase marked(const std::string& text, const std::string& bad) {
  if (bad.empty()) return {{text}};
  return {{text}, {" "}, {.text = bad, .role = Role::bad}};
}

Phrase chosen_cell(const Point& p, const std::string& key) {
  const auto chosen = p.choice.find(key);
  if (chosen == p.choice.end()) return {};
  return marked(exact(chosen->second), std::count(p.edges.begin(), p.edges.end(), key) > 0 ? "edge" : "");
}

std::string interval_cell(const Centre& c) {
  return c.has_interval() ? fmt::format("{} – {}", rounded(c.low), rounded(c.high)) : "—";
}

Blocks curve_notes(const StudyResults& r, const Curve& c) {
  const std::string axis = last_part(r.report.x_key);
  std::vector<std::string> edges, notes;
  notes.push_back(
      fmt::format("mean: the {} over seeds; its 95 % interval by Student’s t{}. Shaded: the best value of {}, {}.",
                  name(c.kind), c.kind == MeanKind::geometric ? " on logarithms" : "", axis,
                  is_validated(c.all_points()) ? "chosen on the validation data" : "by that mean"));
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
        fmt::format("edge: at {} = {} the best value is the smallest or largest tried; a better one may lie beyond.",
                    axis, fmt::join(edges, ", ")));
  Blocks out;
  for (const std::string& note : notes) out.push_back(paragraph(note, Role::muted));
  return out;
}

std::string tried_cell(const std::map<int64_t, double>& metrics, const std::set<int64_t>& seeds, MeanKind kind) {
  std::vector<double> values;
  for (const int64_t seed : seeds) values.push_back(metrics.at(seed));
  const bool has_failed = std::any_of(values.begin(), values.end(), [](double value) { return !std::isfinite(value); });
  return values.empty() ? "" : has_failed ? "failed" : rounded(mean(values, kind));
}

}  // namespace

Blocks verdict_section(const Analysis& r) {
  const std::vector<Verdict>& verdicts = r.verdicts();
  if (verdicts.empty()) return {};
  const SecondBest second = second_best(r);
  Blocks parts{paragraph(headline(r), Role::muted)};
  for (const ClaimSource source : claim_sources) append(parts, verdict_table_of(r, second, source));
  if (!second.sentence.empty()) parts.push_back(paragraph(second.sentence));
  const std::string levels = interval_levels(verdicts);
  parts.push_back(paragraph(
      fmt::format(
          "Open a claim to read how it was tested. 3× is three times the value that it is compared with{}. A dot and "
          "its line show that number and interval on a logarithmic scale; the claim holds in the shaded range. p is "
          "adjusted for the number of claims (Holm).",
          levels.empty() ? "" : fmt::format("; brackets hold its confidence interval, at {}", levels)),
      Role::muted));
  return {section("Verdicts", std::move(parts), "verdicts")};
}

Blocks failed_section(const StudyResults& r) {
  std::vector<Fact> rows;
  for (const TrialRecord* trial : ordered_trials(r)) {
    const TrialRecord& t = *trial;
    if (t.status != TrialStatus::failed) continue;
    std::string where = t.series.empty() ? "" : t.series + " · ";
    where += fmt::format("{} = {}", last_part(r.report.x_key), exact(t.x));
    for (const auto& [key, value] : t.choice) where += fmt::format(", {} = {}", last_part(key), exact(value));
    rows.push_back({fmt::format("{}, seed {}", where, t.seed), {{t.message}}, {}});
  }
  if (rows.empty()) return {};
  const int64_t failed = count_failed(r);
  return {
      section("Failed trials",
              {paragraph(fmt::format("{} of {} trials failed. No mean below includes them. A value of a swept key at "
                                     "which a seed failed is chosen only if one failed at every other value, too.",
                                     failed, count_trials(r.trials))),
               fold("Each of them", {facts(std::move(rows))}, failed <= 8)},
              "failed")};
}

std::string series_words(const Analysis& r, const std::string& series) {
  const Curve& c = r.shown_curve(series, r.report.y_metric);
  const Point* best = c.choose(c.all_points());
  if (!best) return "no trial has finished";
  return fmt::format("best at {} = {}: {}", last_part(r.report.x_key), exact(best->x), in_words(centre(*best, c.kind)));
}

Blocks curve_table(const Analysis& r, const std::string& series) {
  const Curve& c = r.shown_curve(series, r.report.y_metric);
  if (c.points.empty()) return {paragraph("No trial has run yet.", Role::muted)};
  const Overlay* overlay = overlay_of(r, series);
  std::vector<std::string> keys;
  for (const Point& p : c.points)
    for (const auto& chosen : p.choice)
      if (std::find(keys.begin(), keys.end(), chosen.first) == keys.end()) keys.push_back(chosen.first);
  std::vector<std::string> heads = {last_part(r.report.x_key), "mean", "95 % interval", "best seed", "seeds"};
  for (const std::string& key : keys) heads.push_back("best " + last_part(key));
  std::vector<const Curve*> others;
  for (const Measure& measure : shown_measures(r.report)) {
    if (measure.metric == r.report.y_metric) continue;
    heads.push_back(measure.label);
    others.push_back(&r.shown_curve(series, measure.metric));
  }
  if (overlay) heads.push_back(overlay->label);
  const Point* best = c.choose(c.all_points());
  std::vector<std::vector<Phrase>> rows;
  for (const Point& p : c.points) {
    const Centre middle = centre(p, c.kind);
    std::vector<Phrase> cells = text_cells({exact(p.x), rounded(middle.mean), interval_cell(middle), rounded(p.best)});
    cells.push_back(marked(fmt::format("{}", p.values.size()),
                           p.failed.empty() ? "" : fmt::format("+ {} failed", p.failed.size())));
    for (const std::string& key : keys) cells.push_back(chosen_cell(p, key));
    for (const Curve* other : others) {
      const Point* at = other->at(p.x);
      cells.push_back({{at ? rounded(centre(*at, other->kind).mean) : "—"}});
    }
    if (overlay) cells.push_back({{rounded(overlay_at(*overlay, p.x))}});
    rows.push_back(std::move(cells));
  }
  Blocks out{table(fmt::format("{} in numbers", series.empty() ? "The curve" : series), heads, std::move(rows), {})};
  for (size_t i = 0; i < c.points.size(); ++i)
    if (&c.points[i] == best) out[0].best_row = i;
  append(out, curve_notes(r, c));
  return out;
}

Blocks tried_choices(const Analysis& r) {
  const std::string key = choice_key(r), name = last_part(key);
  if (key.empty()) return {};
  const bool has_names = !series_names(r)[0].empty();
  std::set<double> values;
  std::vector<std::pair<std::vector<std::string>, std::map<double, Phrase>>> found;  // names and cells of a row
  for (const std::string& series : series_names(r)) {
    const Curve& chosen = r.curve(series);
    for (const auto& [x, tried] : tried_by_x(r, series, key)) {
      if (tried.size() < 2) continue;
      const std::set<int64_t> seeds = common_seeds(tried);
      auto& [names, cells] = found.emplace_back();
      if (has_names) names.push_back(series);
      names.push_back(exact(x));
      for (const auto& [value, metrics] : tried) {
        values.insert(value);
        const bool is_chosen = chosen.at(x)->choice.at(key) == value;
        cells[value] = {{.text = tried_cell(metrics, seeds, chosen.kind), .is_strong = is_chosen}};
      }
    }
  }
  if (found.empty()) return {};
  std::vector<std::string> head;
  if (has_names) head.emplace_back("series");
  head.push_back(last_part(r.report.x_key));
  for (const double value : values) head.push_back(exact(value));
  std::vector<std::vector<Phrase>> rows;
  for (auto& [names, cells] : found) {
    rows.push_back(text_cells(names));
    for (const double value : values) rows.back().push_back(cells[value]);  // empty where it was not tried
  }
  const std::string summary = fmt::format("Validation at every {}: {}", name, r.report.y_label);
  return {fold(summary, {paragraph(fmt::format(
                             "A column per {0}; the chosen one is bold. Means over the seeds that were trained "
                             "at every {0} of a row.",
                             name)),
                         table(summary, head, std::move(rows))})};
}

}  // namespace headroom::experiments
