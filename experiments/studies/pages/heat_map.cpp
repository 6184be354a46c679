#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "experiments/output/number.h"
#include "experiments/output/plot/svg.h"
#include "experiments/studies/pages/centre.h"
#include "experiments/studies/pages/figure.h"
#include "experiments/studies/pages/measured.h"
#include "experiments/studies/pages/tried.h"

namespace headroom::experiments {
namespace {

/// Viridis (Smith & van der Walt, 2015) at `share` from 0 to 1: legible without colour vision, in print, on any page.
uint32_t viridis(double share) {
  static const int stops[][3] = {{68, 1, 84},    {71, 45, 123}, {59, 82, 139},  {44, 114, 142}, {33, 145, 140},
                                 {40, 174, 128}, {94, 201, 98}, {173, 220, 48}, {253, 231, 37}};
  const double at = std::clamp(share, 0.0, 1.0) * 8;
  const auto below = static_cast<size_t>(std::min(at, 7.0));
  uint32_t colour = 0;
  for (int i = 0; i < 3; ++i) {
    const double mix = at - static_cast<double>(below);
    colour = colour << 8 | static_cast<uint32_t>(std::lround(stops[below][i] * (1 - mix) + stops[below + 1][i] * mix));
  }
  return colour;
}

/// Mean over those seeds that did not fail; NaN where all did.
double cell_value(const std::map<int64_t, double>& metrics, const std::set<int64_t>& seeds, MeanKind kind) {
  std::vector<double> values;
  for (const int64_t seed : seeds)
    if (const double value = metrics.at(seed); std::isfinite(value)) values.push_back(value);
  return mean(values, kind);
}

struct Cell {
  size_t column = 0, row = 0;
  double value = 0;
  bool chosen = false;
};

}  // namespace

std::optional<Figure> heat_map(const StudyResults& r, const std::string& series) {
  const ReportConfig& report = r.report;
  const std::string key = choice_key(r, &series);
  if (key.empty()) return std::nullopt;
  const std::map<double, Tried> by_x = tried_by_x(r, series, key);
  std::set<double> xs, values;
  for (const auto& [x, tried] : by_x) {
    xs.insert(x);
    for (const auto& [value, metrics] : tried) values.insert(value);
  }
  const std::string axis = last_part(report.x_key), other = last_part(key);
  const Curve chosen = curve(r, series);
  std::vector<Cell> cells;
  double low = INFINITY, high = -INFINITY;
  for (const auto& [x, tried] : by_x) {
    const Point* point = chosen.at(x);
    const std::set<int64_t> seeds = common_seeds(tried);
    for (const auto& [swept, metrics] : tried) {
      const double value = cell_value(metrics, seeds, chosen.kind);
      if (!std::isfinite(value)) continue;
      const bool is_chosen = point && point->choice.contains(key) && point->choice.at(key) == swept;
      cells.push_back({static_cast<size_t>(std::distance(xs.begin(), xs.find(x))),
                       static_cast<size_t>(std::distance(values.begin(), values.find(swept))), value, is_chosen});
      low = std::min(low, value);
      high = std::max(high, value);
    }
  }
  if (cells.empty()) return std::nullopt;

  const bool log = low > 0 && high / low > 20;
  const auto share = [&](double v) {
    if (!(high > low)) return 1.0;
    return log ? std::log(high / v) / std::log(high / low) : (high - v) / (high - low);
  };
  std::vector<std::string> x_labels, value_labels;
  for (double x : xs) x_labels.push_back(exact(x));
  for (double v : values) value_labels.push_back(exact(v));
  Figure figure;
  figure.series = series;
  Plot& plot = figure.plot;
  plot.id = "figure-heat-map";
  plot.title = fmt::format("{}: {} over {} and {}", r.title, report.y_label, axis, other);
  plot.x_label = report.x_label;
  plot.y_label = other;
  plot.x = category_axis(x_labels);
  plot.y = category_axis(value_labels);
  Layer field, frame;
  field.kind = Layer::Kind::cells;
  frame.kind = Layer::Kind::boxes;
  frame.legend = "chosen on validation";
  frame.colour = svg::category(1);  // seen on both ends of viridis
  plot.description =
      fmt::format("A map of {} over {} and {}, a colour per cell, light is low.", report.y_label, axis, other);
  for (const Cell& cell : cells) {
    Mark mark{static_cast<double>(cell.column), static_cast<double>(cell.row)};
    mark.size_x = mark.size_y = 0.5;
    mark.fill = viridis(share(cell.value));
    mark.hover = fmt::format("{} = {}, {} = {}: {}", axis, x_labels[cell.column], other, value_labels[cell.row],
                             rounded(cell.value));
    plot.description += fmt::format(" {}{}.", mark.hover, cell.chosen ? ", chosen" : "");
    if (cell.chosen) {
      frame.marks.push_back(mark);
      frame.marks.back().hover.clear();
      frame.marks.back().size_x = frame.marks.back().size_y = 0.44;  // within the cell
    }
    field.marks.push_back(std::move(mark));
  }
  plot.layers = {std::move(field), std::move(frame)};
  figure.caption = fmt::format(
      "{} on the validation data ({} over the seeds that every {} has) for every {} and {}: light is low ({}), dark is "
      "high ({}){}. "
      "Framed: "
      "the choice at each {}.",
      report.y_label, name(chosen.kind), other, axis, other, rounded(low), rounded(high),
      log ? ", on a logarithmic scale" : "", axis);
  return figure;
}

}  // namespace headroom::experiments
