#include "experiments/report/figure.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "experiments/claims/number.h"
#include "experiments/report/axis.h"
#include "experiments/report/gnuplot.h"
#include "experiments/report/svg.h"
#include "experiments/report/text.h"

namespace headroom::experiments {
namespace {

struct Size {
  int width, height, font;
};
Size size_of(Format format) { return format == Format::wide ? Size{760, 430, 14} : Size{380, 360, 12}; }

bool drawn(const Point& p) { return std::isfinite(p.mean); }
double error_of(const Point& p) { return std::isfinite(p.standard_error) ? p.standard_error : 0; }

/// The overlay's points between the ends of the measured curve.
std::vector<std::pair<double, double>> overlay_points(const FigureSpec& spec) {
  std::vector<std::pair<double, double>> points;
  if (!spec.overlay) return points;
  for (const auto& [x, y] : spec.overlay->points) {
    const bool inside = x >= spec.curve.points.front().x && x <= spec.curve.points.back().x;
    if (inside && std::isfinite(y)) points.emplace_back(x, y);
  }
  std::sort(points.begin(), points.end());
  return points;
}

struct Axes {
  Axis x, y, y2;
};

Axes fit_axes(const FigureSpec& spec) {
  std::vector<double> xs, ys, overlay;
  for (const Point& p : spec.curve.points) {
    xs.push_back(p.x);
    if (!drawn(p)) continue;
    ys.insert(ys.end(), {p.best, p.mean, p.mean + error_of(p)});
    // On a logarithmic axis a bar that reaches 0 is cut at the axis; it must not stretch it to nothing.
    if (spec.report.y_scale == Scale::linear) ys.push_back(p.mean - error_of(p));
  }
  if (ys.empty()) ys.push_back(1);
  for (const auto& point : overlay_points(spec)) overlay.push_back(point.second);
  Axes axes{fit_axis(spec.report.x_scale, xs), fit_axis(spec.report.y_scale, ys), {}};
  if (xs.size() <= 12) axes.x.ticks = xs;
  if (overlay.empty()) return axes;
  const auto [low, high] = std::minmax_element(overlay.begin(), overlay.end());
  axes.y2 = fit_axis(*low > 0 && *high / *low > 100 ? Scale::log10 : Scale::linear, overlay);
  return axes;
}

std::string data_block(const std::string& name, const std::string& rows) {
  return fmt::format("${} << END_OF_DATA\n{}END_OF_DATA\n", name, rows);
}

}  // namespace

std::string figure_description(const FigureSpec& spec) {
  const std::string axis = last_part(spec.report.x_key);
  const auto value = [&](const Point& p) { return fmt::format("{} at {} = {}", rounded(p.mean), axis, exact(p.x)); };
  std::string text = fmt::format("{} against {}. ", spec.report.y_label, spec.report.x_label);
  std::vector<const Point*> points;
  for (const Point& p : spec.curve.points)
    if (drawn(p)) points.push_back(&p);
  if (points.empty()) return text + "No trial finished.";
  const Point& best = **std::min_element(points.begin(), points.end(),
                                         [](const Point* a, const Point* b) { return a->mean < b->mean; });
  text += fmt::format("The mean over seeds is {}, {}, and smallest, {}.", value(*points.front()), value(*points.back()),
                      value(best));
  if (spec.overlay) text += fmt::format(" Dashed, on an axis of its own: {}.", spec.overlay->label);
  return text;
}

std::string figure_script(const FigureSpec& spec, Format format) {
  const Size size = size_of(format);
  const Axes axes = fit_axes(spec);
  const auto overlay = overlay_points(spec);
  std::string means, best, marked, theory;
  bool bars = false;
  for (const Point& p : spec.curve.points) {
    // A point without a finished seed is marked at the top, where an error without bound belongs.
    if (!p.failed.empty()) marked += fmt::format("{} {}\n", p.x, drawn(p) ? p.mean : axes.y.high);
    if (!drawn(p)) continue;
    bars = bars || error_of(p) > 0;
    means +=
        fmt::format("{} {} {} {}\n", p.x, p.mean, std::max(p.mean - error_of(p), axes.y.low), p.mean + error_of(p));
    best += fmt::format("{} {}\n", p.x, p.best);
  }
  for (const auto& [x, y] : overlay) theory += fmt::format("{} {}\n", x, y);

  std::string out =
      fmt::format("set terminal svg size {},{} dynamic noenhanced font 'sans-serif,{}'\nset encoding utf8\n",
                  size.width, size.height, size.font);
  out += fmt::format("set border {} lc rgb '{}'\n", overlay.empty() ? 3 : 11, svg::kMuted);
  out += fmt::format("set grid ytics lt 1 lc rgb '{}' lw 1\nset errorbars 0.7\n", svg::kGrid);
  out += fmt::format("set key {} Left reverse samplen 2.2 tc rgb '{}'\n",
                     format == Format::wide ? "above horizontal" : "above vertical", svg::kInk);
  out += fmt::format("set xtics nomirror scale 0.5,0.25 tc rgb '{0}'\nset ytics nomirror scale 0.5,0.25 tc rgb '{0}'\n",
                     svg::kInk);
  out += axis_commands(axes.x, "x") + axis_commands(axes.y, "y");
  out += fmt::format("set xlabel {} tc rgb '{}'\n", gnuplot_string(spec.report.x_label), svg::kInk);
  out += fmt::format("set ylabel {} tc rgb '{}'\n", gnuplot_string(spec.report.y_label), svg::kInk);
  std::vector<std::string> plots;
  if (!means.empty()) {
    out += data_block("means", means) + data_block("best", best);
    plots.push_back(fmt::format("$means using 1:2:3:4 with yerrorlines lw 2.2 pt 7 ps 0.55 lc rgb '{}' title '{}'",
                                svg::kSeries, bars ? "mean ± standard error" : "mean"));
    plots.push_back(
        fmt::format("$best using 1:2 with points pt 6 ps 0.9 lw 1.4 lc rgb '{}' title 'best of seeds'", svg::kSeries));
  }
  if (!marked.empty()) {
    out += data_block("marked", marked);
    plots.push_back(
        fmt::format("$marked using 1:2 with points pt 2 ps 1.1 lw 2 lc rgb '{}' title 'failed seeds'", svg::kWarning));
  }
  if (!theory.empty()) {
    out += data_block("theory", theory) + fmt::format("set y2tics nomirror scale 0.5,0.25 tc rgb '{}'\n", svg::kTheory);
    out += axis_commands(axes.y2, "y2");
    out += fmt::format("set y2label {} tc rgb '{}'\n", gnuplot_string(spec.overlay->label), svg::kTheory);
    plots.push_back(fmt::format("$theory using 1:2 axes x1y2 with lines lw 1.8 dt (6,5) lc rgb '{}' title {}",
                                svg::kTheory, gnuplot_string(spec.overlay->label + " (right)")));
  }
  if (plots.empty()) plots.push_back("1/0 notitle");
  return out + fmt::format("plot {}\n", fmt::join(plots, ", "));
}

std::string draw_figure(const std::filesystem::path& gnuplot, const FigureSpec& spec, Format format, Paint paint) {
  const Size size = size_of(format);
  const std::string id = format == Format::wide ? spec.id : spec.id + "-narrow";
  svg::Frame frame{size.width, size.height, id, spec.title, figure_description(spec), paint == Paint::file};
  return svg::finish(run_gnuplot(gnuplot, figure_script(spec, format)), frame);
}

}  // namespace headroom::experiments
