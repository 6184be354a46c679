#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "experiments/claims/number.h"
#include "experiments/claims/overlay.h"
#include "experiments/report/figure.h"
#include "experiments/report/measured.h"
#include "experiments/report/svg.h"

namespace headroom::experiments {
namespace {

double error_of(const Point& p) { return std::isfinite(p.standard_error) ? p.standard_error : 0; }

std::string hover(const std::string& axis, const Point& p) {
  std::string text = fmt::format("{} = {}: {}", axis, exact(p.x), rounded(p.mean));
  if (error_of(p) > 0) text += " ± " + rounded(p.standard_error);
  text += fmt::format(" ({} {})", p.values.size(), p.values.size() == 1 ? "seed" : "seeds");
  for (const auto& [key, value] : p.choice) text += fmt::format(", {} = {}", last_part(key), exact(value));
  return text;
}

Layer mean_layer(const Curve& c, const std::string& axis, const std::string& colour) {
  Layer layer;
  layer.colour = colour;
  for (const Point& p : c.points)
    if (std::isfinite(p.mean))
      layer.marks.push_back({p.x, p.mean, p.mean - error_of(p), p.mean + error_of(p), hover(axis, p)});
  return layer;
}

/// All that a y axis must show of the layers on one side.
Axis fit_y(const std::vector<Layer>& layers, bool right, Scale scale) {
  std::vector<double> values;
  for (const Layer& layer : layers) {
    if (layer.right != right || layer.kind == Layer::Kind::crosses) continue;
    for (const Mark& m : layer.marks) {
      values.push_back(m.y);
      if (!(m.high > m.low)) continue;
      values.push_back(m.high);
      // On a logarithmic axis a band that reaches 0 is cut at the axis; it must not stretch it to nothing.
      if (scale == Scale::linear) values.push_back(m.low);
    }
  }
  return fit_axis(scale, values.empty() ? std::vector<double>{1} : values);
}

Axis fit_x(Scale scale, const std::vector<double>& xs) {
  Axis axis = fit_axis(scale, xs);
  std::vector<double> distinct = xs;
  std::sort(distinct.begin(), distinct.end());
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  if (distinct.size() <= 12) axis.ticks = distinct;
  return axis;
}

std::string in_words(const Curve& c, const std::string& axis) {
  const auto value = [&](const Point& p) { return fmt::format("{} at {} = {}", rounded(p.mean), axis, exact(p.x)); };
  const Point* best = c.best();
  if (!best) return "No trial finished.";
  const auto drawn = [](const Point& p) { return std::isfinite(p.mean); };
  const auto first = std::find_if(c.points.begin(), c.points.end(), drawn);
  const auto last = std::find_if(c.points.rbegin(), c.points.rend(), drawn);
  return fmt::format("The mean over seeds is {}, {}, and best, {}.", value(*first), value(*last), value(*best));
}

/// The overlay's points between the ends of the measured curve, against the right axis.
void add_overlay(Plot& plot, const Overlay& overlay, const Curve& c) {
  Layer layer;
  layer.colour = svg::kTheory;
  layer.style = 1;
  layer.points = false;
  layer.right = true;
  layer.legend = overlay.label + " (right)";
  std::vector<double> values;
  for (const auto& [x, y] : overlay.points) {
    if (!(x >= c.points.front().x && x <= c.points.back().x) || !std::isfinite(y)) continue;
    layer.marks.push_back({x, y, y, y, fmt::format("{}: {}", overlay.label, rounded(y))});
    values.push_back(y);
  }
  if (values.empty()) return;
  std::sort(layer.marks.begin(), layer.marks.end(), [](const Mark& a, const Mark& b) { return a.x < b.x; });
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  plot.right = fit_axis(*low > 0 && *high / *low > 100 ? Scale::log10 : Scale::linear, values);
  plot.right_label = overlay.label;
  plot.right_colour = svg::kTheory;
  plot.layers.push_back(std::move(layer));
  plot.description += fmt::format(" Dashed, on an axis of its own: {}.", overlay.label);
}

/// A second metric against the right axis.
void add_right(Plot& plot, const Measure& measure, const Curve& c, const std::string& axis) {
  Layer layer = mean_layer(c, axis, svg::category(1));
  if (layer.marks.empty()) return;
  layer.style = 1;
  layer.right = true;
  layer.legend = measure.label + " (right)";
  plot.layers.push_back(std::move(layer));
  plot.right = fit_y(plot.layers, true, measure.scale);
  plot.right_label = measure.label;
  plot.right_colour = svg::category(1);
  plot.description += fmt::format(" Dashed, on an axis of its own: {}. {}", measure.label, in_words(c, axis));
}

/// Puts every point of a curve at what another metric measured at its x. Points where that has no mean are left out.
void put_over(Curve& c, const Curve& over) {
  std::vector<Point> points;
  for (Point& p : c.points) {
    const Point* at = over.at(p.x);
    if (!at || !std::isfinite(at->mean)) continue;
    p.x = at->mean;
    points.push_back(std::move(p));
  }
  std::stable_sort(points.begin(), points.end(), [](const Point& a, const Point& b) { return a.x < b.x; });
  c.points = std::move(points);
}

/// Formulas have no test data.
const char* on_data(const StudyResults& r) {
  const bool trains = std::any_of(r.trials.begin(), r.trials.end(), [](const auto& t) { return t.parameters > 0; });
  return trains ? " on the test data" : "";
}

}  // namespace

std::optional<Figure> curve_figure(const StudyResults& r, const std::string& series) {
  const ReportConfig& report = r.report;
  const Curve c = metric_curve(r, series, report.y_metric);
  if (c.points.empty()) return std::nullopt;
  const std::string axis = last_part(report.x_key);
  Figure figure;
  figure.series = series;
  figure.caption = fmt::format("{}{} against {}: mean ± standard error over seeds, and the best seed.", report.y_label,
                               on_data(r), report.x_label);
  Plot& plot = figure.plot;
  plot.id = "figure";
  plot.title = series.empty() ? r.title : r.title + ", " + series;
  plot.x_label = report.x_label;
  plot.y_label = report.y_label;
  plot.description = fmt::format("{} against {}. {}", report.y_label, report.x_label, in_words(c, axis));

  Layer means = mean_layer(c, axis, svg::category(0)), best, failed;
  const bool bands = std::any_of(means.marks.begin(), means.marks.end(), [](const Mark& m) { return m.high > m.low; });
  means.legend = bands ? "mean ± standard error" : "mean";
  best.kind = Layer::Kind::rings;
  best.legend = "best of seeds";
  best.colour = svg::category(0);
  std::vector<double> xs;
  for (const Point& p : c.points) {
    xs.push_back(p.x);
    if (std::isfinite(p.best))
      best.marks.push_back(
          {p.x, p.best, 0, 0, fmt::format("{} = {}: best of seeds {}", axis, exact(p.x), rounded(p.best))});
  }
  plot.layers = {std::move(means), std::move(best)};
  plot.x = fit_x(report.x_scale, xs);
  plot.y = fit_y(plot.layers, false, report.y_scale);
  failed.kind = Layer::Kind::crosses;
  failed.legend = "failed seeds";
  failed.colour = svg::kWarning;
  for (const Point& p : c.points) {
    if (p.failed.empty()) continue;
    // A point without a finished seed is marked at the top, where an error without bound belongs.
    failed.marks.push_back({p.x, std::isfinite(p.mean) ? p.mean : plot.y.high, 0, 0,
                            fmt::format("{} = {}: {} of {} seeds failed", axis, exact(p.x), p.failed.size(),
                                        p.failed.size() + p.values.size())});
  }
  plot.layers.push_back(std::move(failed));
  if (report.right) add_right(plot, *report.right, metric_curve(r, series, report.right->metric), axis);
  else if (const Overlay* overlay = overlay_of(r, series)) add_overlay(plot, *overlay, c);
  return figure;
}

std::optional<Figure> comparison_figure(const StudyResults& r, const FurtherFigure& which) {
  const Measure& measure = which.y;
  const std::string axis = which.over ? which.over->metric : last_part(r.report.x_key);
  const std::string& x_label = which.over ? which.over->label : r.report.x_label;
  Figure figure;
  Plot& plot = figure.plot;
  plot.id = "figure-" + measure.metric + (which.over ? "-over-" + which.over->metric : "");
  plot.title = fmt::format("{}: {}", r.title, measure.label);
  plot.x_label = x_label;
  plot.y_label = measure.label;
  plot.description = fmt::format("{} against {}.", measure.label, x_label);
  std::vector<double> xs;
  const auto names = drawn_series(r);
  for (size_t i = 0; i < names.size(); ++i) {
    Curve c = metric_curve(r, names[i], measure.metric);
    if (which.over) put_over(c, metric_curve(r, names[i], which.over->metric));
    Layer layer = mean_layer(c, axis, svg::category(i));
    if (layer.marks.empty()) continue;
    layer.legend = names.size() > 1 ? names[i] : "mean ± standard error";
    layer.style = static_cast<int>(i / svg::kCategories);
    for (Mark& mark : layer.marks) {
      if (!names[i].empty()) mark.hover = names[i] + ", " + mark.hover;
      xs.push_back(mark.x);
    }
    plot.layers.push_back(std::move(layer));
    plot.description += fmt::format(" {}{}", names[i].empty() ? "" : names[i] + ": ", in_words(c, axis));
  }
  if (plot.layers.empty()) return std::nullopt;
  plot.x = fit_x(which.over ? which.over->scale : r.report.x_scale, xs);
  plot.y = fit_y(plot.layers, false, measure.scale);
  figure.caption = fmt::format("{}{} against {}{}: mean ± standard error over seeds.", measure.label, on_data(r),
                               x_label, names.size() > 1 ? ", the series together" : "");
  return figure;
}

}  // namespace headroom::experiments
