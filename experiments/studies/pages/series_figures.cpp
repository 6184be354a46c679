#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "experiments/output/number.h"
#include "experiments/studies/analysis/centre.h"
#include "experiments/studies/analysis/statistics.h"
#include "experiments/studies/analysis/tried.h"
#include "experiments/studies/pages/figure.h"

/// Further figures of one series: its heat map, its learning curves, its predictions.
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

constexpr size_t kMostPoints = 80;  ///< of a line: more cannot be told apart, and a page must stay small

using Track = std::pair<std::string, std::string>;  // (split, metric)

/// What to follow: the study's metric on validation, else any on validation, else any.
std::optional<Track> track_of(const StudyResults& r, const std::string& series) {
  std::optional<Track> best;
  const auto rank = [&](const Track& t) { return t.first != "validation" ? 2 : t.second != r.report.y_metric ? 1 : 0; };
  for (const TrialRecord& t : r.trials) {
    if (t.series != series) continue;
    for (const HistoryPoint& p : t.history) {
      const Track track{p.split, p.metric};
      if (!best || std::make_pair(rank(track), track) < std::make_pair(rank(*best), *best)) best = track;
    }
  }
  return best;
}

/// step → mean over the trials that have it.
std::map<int64_t, double> followed(const std::vector<const TrialRecord*>& trials, const Track& track, MeanKind kind) {
  std::map<int64_t, std::vector<double>> values;
  for (const TrialRecord* t : trials)
    for (const HistoryPoint& p : t->history)
      if (p.split == track.first && p.metric == track.second && std::isfinite(p.value))
        values[p.step].push_back(p.value);
  std::map<int64_t, double> means;
  const size_t stride = (values.size() + kMostPoints - 1) / kMostPoints;
  size_t i = 0;
  for (const auto& [step, list] : values) {
    const bool is_last = i + 1 == values.size();
    if (i++ % std::max<size_t>(stride, 1) == 0 || is_last) means[step] = mean(list, kind);
  }
  return means;
}

constexpr size_t kMostDots = 200;

/// The correlation of targets and outputs; NaN where one of them does not vary.
double correlation(const std::vector<std::pair<double, double>>& pairs) {
  double mean_a = 0, mean_b = 0, ab = 0, aa = 0, bb = 0;
  const auto n = static_cast<double>(pairs.size());
  for (const auto& [a, b] : pairs) {
    mean_a += a / n;
    mean_b += b / n;
  }
  for (const auto& [a, b] : pairs) {
    ab += (a - mean_a) * (b - mean_b);
    aa += (a - mean_a) * (a - mean_a);
    bb += (b - mean_b) * (b - mean_b);
  }
  return ab / std::sqrt(aa * bb);
}

}  // namespace

std::optional<Figure> heat_map(const Analysis& r, const std::string& series) {
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
  const Curve& chosen = r.curve(series);
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
  const std::string title = fmt::format("{}: {} over {} and {}", r.title, report.y_label, axis, other);
  Figure figure = without_layers("figure-heat-map", title, report.x_label, other, series);
  Plot& plot = figure.plot;
  plot.x = category_axis(x_labels);
  plot.y = category_axis(value_labels);
  Layer field, frame;
  field.kind = Layer::Kind::cells;
  frame.kind = Layer::Kind::boxes;
  frame.legend = "chosen on validation";
  frame.colour = category(1);  // seen on both ends of viridis
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
      "high ({}){}. Framed: the choice at each {}.",
      report.y_label, name(chosen.kind), other, axis, other, rounded(low), rounded(high),
      log ? ", on a logarithmic scale" : "", axis);
  return figure;
}

std::optional<Figure> learning_curves(const Analysis& r, const std::string& series) {
  const auto track = track_of(r, series);
  if (!track) return std::nullopt;
  const std::string axis = last_part(r.report.x_key);
  const bool own = track->second == r.report.y_metric;
  const std::string label = own ? r.report.y_label : track->second;
  Figure figure = without_layers("figure-learning", r.title + ": learning curves", "step",
                                 fmt::format("{}, {}", label, track->first), series);
  Plot& plot = figure.plot;
  plot.description = fmt::format("{} on the {} data along training, a line per {}.", label, track->first, axis);
  const Curve& c = r.curve(series);
  // What the report shows is followed by the report's own mean; losses by the plain one.
  const MeanKind kind = own ? c.kind : MeanKind::arithmetic;
  std::vector<double> steps, values;
  for (size_t i = 0; i < c.points.size(); ++i) {
    const Point& point = c.points[i];
    Layer layer;
    layer.colour = ramp(c.points.size() > 1 ? static_cast<double>(i) / static_cast<double>(c.points.size() - 1) : 0);
    layer.style = static_cast<int>(i % 3 == 0 ? 0 : i % 3 + 1);
    layer.points = false;
    layer.legend = fmt::format("{} = {}", axis, exact(point.x));
    for (const auto& [step, value] : followed(chosen_trials(r, series, point), *track, kind)) {
      layer.marks.push_back(
          {static_cast<double>(step), value, 0, 0, fmt::format("{}, step {}: {}", layer.legend, step, rounded(value))});
      steps.push_back(static_cast<double>(step));
      values.push_back(value);
    }
    if (layer.marks.empty()) continue;
    plot.description +=
        fmt::format(" {}: from {} to {}.", layer.legend, rounded(layer.marks.front().y), rounded(layer.marks.back().y));
    layer.points = layer.marks.size() == 1;
    plot.layers.push_back(std::move(layer));
  }
  if (plot.layers.empty()) return std::nullopt;
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  plot.x = fit_axis(Scale::linear, steps);
  plot.y = fit_axis(own ? r.report.y_scale : *low > 0 && *high / *low > 20 ? Scale::log10 : Scale::linear, values);
  if (plot.y.scale != Scale::linear) plot.other_y = fit_axis(Scale::linear, values);
  figure.caption = fmt::format("{} on the {} data along training, at the chosen values, {} over seeds.", label,
                               track->first, name(kind));
  return figure;
}

std::optional<Figure> prediction_figure(const Analysis& r, const std::string& series) {
  const Curve& c = r.shown_curve(series, r.report.y_metric);
  const Point* best = c.choose(c.all_points());
  if (!best) return std::nullopt;
  std::vector<std::pair<double, double>> pairs;
  for (const TrialRecord* t : chosen_trials(r, series, *best))
    for (const auto& pair : t->predictions)
      if (std::isfinite(pair.first) && std::isfinite(pair.second)) pairs.push_back(pair);
  if (pairs.empty()) return std::nullopt;

  const std::string at = fmt::format("{} = {}", last_part(r.report.x_key), exact(best->x));
  const std::string title = fmt::format("{}: output against target at {}", r.title, at);
  Figure figure = without_layers("figure-predictions", title, "target", "output", series);
  Plot& plot = figure.plot;
  plot.square = true;
  plot.description = fmt::format("{} test values of the model at {}: output against target, correlation {}.",
                                 pairs.size(), at, rounded(correlation(pairs)));
  Layer dots, line;
  dots.kind = Layer::Kind::dots;
  dots.colour = category(0);
  dots.legend = fmt::format("test values, {}", at);
  std::vector<double> values;
  const size_t stride = (pairs.size() + kMostDots - 1) / kMostDots;
  for (size_t i = 0; i < pairs.size(); i += stride) {
    const auto& [target, output] = pairs[i];
    dots.marks.push_back({target, output, 0, 0, fmt::format("target {}, output {}", rounded(target), rounded(output))});
    values.insert(values.end(), {target, output});
  }
  plot.x = plot.y = fit_axis(Scale::linear, values);
  line.colour = Colour::muted;
  line.style = 1;
  line.points = false;
  line.legend = "output = target";
  line.marks = {{plot.x.low, plot.x.low}, {plot.x.high, plot.x.high}};
  plot.layers = {std::move(line), std::move(dots)};
  figure.caption = fmt::format("Output against target on the test data at {}, the best; correlation {}.", at,
                               rounded(correlation(pairs)));
  return figure;
}

}  // namespace headroom::experiments
