#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "experiments/claims/number.h"
#include "experiments/compare/comparison.h"

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

std::string ratio_text(const ComparedMetric& m) {
  if (!m.ratio) return "–";
  if (m.pairs == 0) return fmt::format("{:.3g} (no seed in both)", *m.ratio);
  if (!std::isfinite(m.low)) return fmt::format("{:.3g} (one pair)", *m.ratio);
  return fmt::format("{:.3g} ({:.3g} to {:.3g})", *m.ratio, m.low, m.high);
}

/// Code points, not bytes: what a terminal shows of "±" is one column.
size_t columns(const std::string& text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](unsigned char c) { return (c & 0xC0) != 0x80; }));
}

/// Rows of cells under each other, two spaces apart; the first row holds the heads.
std::string in_columns(const std::vector<std::vector<std::string>>& rows) {
  std::vector<size_t> widths;
  for (const auto& row : rows)
    for (size_t i = 0; i < row.size(); ++i) {
      if (widths.size() <= i) widths.push_back(0);
      widths[i] = std::max(widths[i], columns(row[i]));
    }
  std::string text;
  for (const auto& row : rows) {
    std::string line = " ";
    for (size_t i = 0; i < row.size(); ++i) line += " " + row[i] + std::string(widths[i] - columns(row[i]) + 1, ' ');
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

}  // namespace

std::string comparison_text(const Comparison& comparison) {
  std::string text;
  for (const auto& [name, side] : {std::pair{"A", &comparison.a}, {"B", &comparison.b}})
    text += fmt::format("{}  {} · {}   {} of {} trials finished   {}\n", name, side->run.study, side->run.profile,
                        side->finished, side->planned, side->title);
  std::vector<std::vector<std::string>> rows{{"setting", "A", "B"}};
  std::string long_ones;  // under each other, so that short ones stay beside each other
  for (const SettingDifference& s : comparison.settings) {
    const std::string a = s.a.empty() ? "–" : s.a, b = s.b.empty() ? "–" : s.b;
    constexpr size_t wide = 24;
    if (columns(a) <= wide && columns(b) <= wide) rows.push_back({s.key, a, b});
    else long_ones += fmt::format("  {}\n    A  {}\n    B  {}\n", s.key, a, b);
  }
  if (comparison.settings.empty()) text += "\nno setting differs\n";
  else text += "\n" + (rows.size() > 1 ? in_columns(rows) : "  settings that differ\n") + long_ones;
  std::string metric;
  rows.clear();
  const auto flush = [&] {
    if (!rows.empty()) text += fmt::format("\n{} on the test data\n{}", metric, in_columns(rows));
    rows.clear();
  };
  for (const ComparedMetric& m : comparison.metrics) {
    if (m.metric != metric) flush();
    metric = m.metric;
    if (rows.empty()) rows.push_back({"series", "x", "A", "B", "B / A, 95 % over paired seeds"});
    rows.push_back({m.series, place_text(comparison, m.x), side_text(m.a), side_text(m.b), ratio_text(m)});
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
                               {"pairs", m.pairs},
                               {"ratio", m.ratio ? finite_or_null(*m.ratio) : Json(nullptr)},
                               {"low", finite_or_null(m.low)},
                               {"high", finite_or_null(m.high)}});
  json["remarks"] = comparison.remarks;
  return json;
}

}  // namespace headroom::experiments
