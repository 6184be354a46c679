#include <fmt/format.h>

#include <cmath>

#include "experiments/output/number.h"
#include "experiments/output/wrap.h"
#include "experiments/studies/analysis/centre.h"
#include "experiments/studies/compare/comparison.h"

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
  if (m.pairs == 0 && std::isnan(m.low)) return fmt::format("{:.3g} (no seed in both)", m.change);
  if (std::isnan(m.low))
    return fmt::format("{:.3g} ({})", m.change, m.pairs == 1 ? "one pair" : "the same for every seed");
  return fmt::format("{:.3g} ({:.3g} to {:.3g})", m.change, m.low, m.high);
}

/// What the intervals of a table hold.
std::string change_heading(const Comparison& comparison, const std::vector<const ComparedMetric*>& metrics) {
  size_t intervals = 0, crossed = 0, unpaired = 0;
  for (const ComparedMetric* m : metrics) {
    intervals += !m->method.empty();
    crossed += m->method.starts_with("crossed");
    unpaired += m->method.starts_with("Welch");
  }
  const std::string change = fmt::format("{} {} {}", comparison.b.name,
                                         metrics[0]->kind == MeanKind::geometric ? '/' : '-', comparison.a.name);
  if (intervals == 0) return change;
  if (unpaired > 0) return change + (unpaired == intervals ? ", 95 % over other seeds" : ", 95 %");
  if (crossed == 0) return change + ", 95 % over paired seeds";
  return change + (crossed == intervals ? ", 95 % over paired seeds and test data" : ", 95 %");
}

}  // namespace

std::string comparison_sentence(const Comparison& comparison) {
  if (comparison.metrics.empty()) return "";
  const ComparedMetric& first = comparison.metrics[0];
  const std::string &a = comparison.a.name, &b = comparison.b.name;
  const bool is_ratio = first.kind == MeanKind::geometric;
  const double none = is_ratio ? 1 : 0;
  const auto size = [&](const ComparedMetric& m) { return std::abs(is_ratio ? std::log(m.change) : m.change); };
  size_t places = 0, lower = 0, higher = 0;
  const ComparedMetric *most = nullptr, *told = nullptr;  // with the largest change; of those told apart
  bool is_paired = false;
  for (const ComparedMetric& m : comparison.metrics) {
    if (m.metric != first.metric || m.kind != first.kind) continue;
    ++places;
    is_paired = is_paired || m.pairs > 0 || std::isfinite(m.low);
    if (std::isfinite(m.change) && (!most || size(m) > size(*most))) most = &m;
    if (!std::isfinite(m.low) || (m.low <= none && m.high >= none)) continue;
    ++(m.high < none ? lower : higher);
    if (!told || size(m) > size(*told)) told = &m;
  }
  const auto at = [&](const ComparedMetric& m) {
    const std::string place = place_text(comparison, m.x);
    return m.series.empty() ? place : place.empty() ? m.series : m.series + ", " + place;
  };
  const auto change = [&](const ComparedMetric& m) {
    const std::string interval = std::isfinite(m.low) ? fmt::format(" [{}, {}]", rounded(m.low), rounded(m.high)) : "";
    if (is_ratio) return fmt::format("{}× {}’s{}", rounded(m.change), a, interval);
    return fmt::format("{}’s {} {}{}", a, m.change < 0 ? "−" : "+", rounded(std::abs(m.change)), interval);
  };
  if (!is_paired)
    return !most ? ""
                 : fmt::format("No seed is in both, so no interval tells them apart; most at {}: {}’s {} is {}.",
                               at(*most), b, first.metric, change(*most));
  if (!told)
    return fmt::format("At none of {} does a 95 % interval tell {}’s {} from {}’s.", counted(places, "place"), b,
                       first.metric, a);
  return fmt::format("Of {}, {}’s {} is lower at {}, higher at {} and not told apart at {}; most at {}: {}.",
                     counted(places, "place"), b, first.metric, lower, higher, places - lower - higher, at(*told),
                     change(*told));
}

std::string comparison_text(const Comparison& comparison, size_t columns) {
  std::string text;
  for (const Comparison::Side* side : {&comparison.a, &comparison.b})
    text += fmt::format("{}  {} · {}   {} of {} trials finished   {}\n", side->name, side->run.study, side->run.profile,
                        side->finished, side->planned, side->title);
  if (const std::string sentence = comparison_sentence(comparison); !sentence.empty())
    text += "\n" + wrapped(sentence, columns) + "\n";
  std::vector<std::vector<std::string>> rows;
  std::vector<const ComparedMetric*> table;  // of one metric
  const auto flush = [&] {
    if (table.empty()) return;
    rows = {{"  series", "x", comparison.a.name, comparison.b.name, change_heading(comparison, table)}};
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
  rows = {{"  setting", comparison.a.name, comparison.b.name}};
  std::string long_ones;  // one value per line, so that the short ones stay in columns
  for (const ComparedSetting& s : comparison.settings) {
    const std::string a = s.a.empty() ? "–" : s.a, b = s.b.empty() ? "–" : s.b;
    constexpr size_t wide = 24;
    if (display_width(a) <= wide && display_width(b) <= wide) rows.push_back({"  " + s.key, a, b});
    else long_ones += fmt::format("  {}\n    {}  {}\n    {}  {}\n", s.key, comparison.a.name, a, comparison.b.name, b);
  }
  if (comparison.settings.empty()) text += "\nno setting differs\n";
  else text += "\n" + (rows.size() > 1 ? aligned(rows, columns) : "  settings that differ\n") + long_ones;
  if (!comparison.same.empty()) text += fmt::format("  {} more are the same\n", comparison.same.size());
  for (const std::string& remark : comparison.remarks) text += "\n" + remark + "\n";
  return text;
}

namespace {

Json json_of(const Comparison& comparison) {
  Json json = {{"runs", Json::array()},
               {"finding", comparison_sentence(comparison)},
               {"settings", Json::array()},
               {"same", Json::array()},
               {"metrics", Json::array()}};
  for (const Comparison::Side* side : {&comparison.a, &comparison.b})
    json["runs"].push_back({{"name", side->name},
                            {"study", side->run.study},
                            {"profile", side->run.profile},
                            {"title", side->title},
                            {"finished", side->finished},
                            {"failed", side->failed},
                            {"planned", side->planned}});
  for (const ComparedSetting& s : comparison.settings)
    json["settings"].push_back({{"key", s.key}, {"a", s.a}, {"b", s.b}});
  for (const ComparedSetting& s : comparison.same) json["same"].push_back({{"key", s.key}, {"value", s.a}});
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

}  // namespace

Json comparison_json(const std::vector<Comparison>& comparisons) {
  Json json = json_of(comparisons.at(0));
  for (size_t i = 1; i < comparisons.size(); ++i) json["others"].push_back(json_of(comparisons[i]));
  return json;
}

}  // namespace headroom::experiments
