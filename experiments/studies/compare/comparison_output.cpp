#include <fmt/format.h>

#include <cmath>

#include "experiments/output/number.h"
#include "experiments/studies/compare/comparison.h"
#include "experiments/studies/pages/centre.h"

namespace headroom::experiments {
namespace {

using Json = nlohmann::ordered_json;

Json finite_or_null(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

/// "heads = 4"; "" where the study has no x.
std::string place_text(const Comparison& comparison, double x) {
  if (comparison.a.x_key.empty()) return "";
  return fmt::format("{} = {}", last_part(comparison.a.x_key), exact(x));
}

std::string side_text(const ComparedSide& side) {
  return std::isfinite(side.error) ? fmt::format("{:.4g} ± {:.2g}", side.mean, side.error)
                                   : fmt::format("{:.4g} (one seed)", side.mean);
}

std::string change_text(const ComparedMetric& m) {
  if (!std::isfinite(m.change)) return "–";
  if (m.pairs == 0) return fmt::format("{:.3g} (no seed in both)", m.change);
  if (std::isnan(m.low))
    return fmt::format("{:.3g} ({})", m.change, m.pairs == 1 ? "one pair" : "the same for every seed");
  return fmt::format("{:.3g} ({:.3g} to {:.3g})", m.change, m.low, m.high);
}

/// What the intervals of a table hold.
std::string change_heading(const std::vector<const ComparedMetric*>& metrics) {
  size_t intervals = 0, crossed = 0;
  for (const ComparedMetric* m : metrics) {
    intervals += !m->method.empty();
    crossed += m->method.starts_with("crossed");
  }
  const std::string change = metrics[0]->kind == MeanKind::geometric ? "B / A" : "B - A";
  if (intervals == 0) return change;
  if (crossed == 0) return change + ", 95 % over paired seeds";
  return change + (crossed == intervals ? ", 95 % over paired seeds and test data" : ", 95 %");
}

}  // namespace

std::string comparison_text(const Comparison& comparison, size_t columns) {
  std::string text;
  for (const auto& [name, side] : {std::pair{"A", &comparison.a}, {"B", &comparison.b}})
    text += fmt::format("{}  {} · {}   {} of {} trials finished   {}\n", name, side->run.study, side->run.profile,
                        side->finished, side->planned, side->title);
  std::vector<std::vector<std::string>> rows{{"  setting", "A", "B"}};
  std::string long_ones;  // one value per line, so that the short ones stay in columns
  for (const SettingDifference& s : comparison.settings) {
    const std::string a = s.a.empty() ? "–" : s.a, b = s.b.empty() ? "–" : s.b;
    constexpr size_t wide = 24;
    if (display_width(a) <= wide && display_width(b) <= wide) rows.push_back({"  " + s.key, a, b});
    else long_ones += fmt::format("  {}\n    A  {}\n    B  {}\n", s.key, a, b);
  }
  if (comparison.settings.empty()) text += "\nno setting differs\n";
  else text += "\n" + (rows.size() > 1 ? aligned(rows, columns) : "  settings that differ\n") + long_ones;
  std::vector<const ComparedMetric*> table;  // of one metric
  const auto flush = [&] {
    if (table.empty()) return;
    rows = {{"  series", "x", "A", "B", change_heading(table)}};
    for (const ComparedMetric* m : table)
      rows.push_back(
          {"  " + m->series, place_text(comparison, m->x), side_text(m->a), side_text(m->b), change_text(*m)});
    text += fmt::format("\n{} on the test data, {}s ± standard error\n{}", table[0]->metric, name(table[0]->kind),
                        aligned(rows, columns));
    table.clear();
  };
  for (const ComparedMetric& m : comparison.metrics) {
    if (!table.empty() && (table[0]->metric != m.metric || table[0]->kind != m.kind)) flush();
    table.push_back(&m);
  }
  flush();
  for (const std::string& remark : comparison.remarks) text += "\n" + remark + "\n";
  return text;
}

Json comparison_json(const Comparison& comparison) {
  Json json = {{"runs", Json::array()}, {"settings", Json::array()}, {"metrics", Json::array()}};
  for (const Comparison::Side* side : {&comparison.a, &comparison.b})
    json["runs"].push_back({{"study", side->run.study},
                            {"profile", side->run.profile},
                            {"title", side->title},
                            {"finished", side->finished},
                            {"failed", side->failed},
                            {"planned", side->planned}});
  for (const SettingDifference& s : comparison.settings)
    json["settings"].push_back({{"key", s.key}, {"a", s.a}, {"b", s.b}});
  const auto side_json = [](const ComparedSide& side) {
    return Json{{"seeds", side.seeds}, {"mean", finite_or_null(side.mean)}, {"error", finite_or_null(side.error)}};
  };
  for (const ComparedMetric& m : comparison.metrics)
    json["metrics"].push_back({{"series", m.series},
                               {"x", finite_or_null(m.x)},
                               {"place", place_text(comparison, m.x)},
                               {"metric", m.metric},
                               {"a", side_json(m.a)},
                               {"b", side_json(m.b)},
                               {"means", m.kind == MeanKind::geometric ? "geometric" : "arithmetic"},
                               {"pairs", m.pairs},
                               {"ratio", m.kind == MeanKind::geometric ? finite_or_null(m.change) : Json(nullptr)},
                               {"difference", m.kind == MeanKind::geometric ? Json(nullptr) : finite_or_null(m.change)},
                               {"low", finite_or_null(m.low)},
                               {"high", finite_or_null(m.high)},
                               {"method", m.method}});
  json["remarks"] = comparison.remarks;
  return json;
}

}  // namespace headroom::experiments
