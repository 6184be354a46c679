#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "experiments/output/number.h"
#include "experiments/studies/pages/centre.h"
#include "experiments/studies/pages/measured.h"
#include "experiments/studies/pages/page_sections.h"

namespace headroom::experiments {
namespace {

Phrase chosen_cell(const Point& p, const std::string& key) {
  const auto chosen = p.choice.find(key);
  if (chosen == p.choice.end()) return {};
  Phrase cell{{exact(chosen->second)}};
  if (std::count(p.edges.begin(), p.edges.end(), key) > 0) {
    cell.push_back({" "});
    cell.push_back({.text = "edge", .role = Role::bad});
  }
  return cell;
}

Phrase seeds_cell(const Point& p) {
  Phrase cell{{fmt::format("{}", p.values.size())}};
  if (p.failed.empty()) return cell;
  cell.push_back({" "});
  cell.push_back({.text = fmt::format("+ {} failed", p.failed.size()), .role = Role::bad});
  return cell;
}

/// A metric beside the main one.
struct Beside {
  std::string label;
  Curve curve;
};

std::string interval_cell(const Centre& c) {
  return c.has_interval() ? fmt::format("{} – {}", rounded(c.low), rounded(c.high)) : "—";
}

std::string beside_cell(const Beside& beside, double x) {
  const Point* p = beside.curve.at(x);
  return p ? rounded(centre(*p, beside.curve.kind).mean) : "—";
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

}  // namespace

std::string series_words(const StudyResults& r, const std::string& series) {
  const Curve c = metric_curve(r, series, r.report.y_metric);
  const Point* best = c.choose(c.all_points());
  if (!best) return "no trial has finished";
  return fmt::format("best at {} = {}: {}", last_part(r.report.x_key), exact(best->x), in_words(centre(*best, c.kind)));
}

Blocks curve_table(const StudyResults& r, const std::string& series) {
  const Curve c = metric_curve(r, series, r.report.y_metric);
  if (c.points.empty()) return {paragraph("No trial has run yet.", Role::muted)};
  const Overlay* overlay = overlay_of(r, series);
  std::vector<std::string> keys;
  for (const Point& p : c.points)
    for (const auto& chosen : p.choice)
      if (std::find(keys.begin(), keys.end(), chosen.first) == keys.end()) keys.push_back(chosen.first);
  std::vector<Beside> besides;
  for (const Measure& measure : shown_measures(r.report))
    if (measure.metric != r.report.y_metric) {
      Curve other = metric_curve(r, series, measure.metric);
      besides.push_back({measure.label, std::move(other)});
    }

  std::vector<std::string> heads = {last_part(r.report.x_key), "mean", "95 % interval", "best seed", "seeds"};
  for (const std::string& key : keys) heads.push_back("best " + last_part(key));
  for (const Beside& beside : besides) heads.push_back(beside.label);
  if (overlay) heads.push_back(overlay->label);
  const Point* best = c.choose(c.all_points());
  std::vector<std::vector<Phrase>> rows;
  for (const Point& p : c.points) {
    const Centre middle = centre(p, c.kind);
    std::vector<Phrase> cells = text_cells({exact(p.x), rounded(middle.mean), interval_cell(middle), rounded(p.best)});
    cells.push_back(seeds_cell(p));
    for (const std::string& key : keys) cells.push_back(chosen_cell(p, key));
    for (const Beside& beside : besides) cells.push_back({{beside_cell(beside, p.x)}});
    if (overlay) cells.push_back({{rounded(overlay_at(*overlay, p.x))}});
    rows.push_back(std::move(cells));
  }
  Blocks out{table(fmt::format("{} in numbers", series.empty() ? "The curve" : series), heads, std::move(rows), {})};
  for (size_t i = 0; i < c.points.size(); ++i)
    if (&c.points[i] == best) out[0].best_row = i;
  append(out, curve_notes(r, c));
  return out;
}

}  // namespace headroom::experiments
