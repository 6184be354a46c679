#include "experiments/output/plot/plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "experiments/output/plot/gnuplot.h"
#include "experiments/output/plot/plot_layout.h"
#include "experiments/output/plot/svg.h"
#include "experiments/output/text.h"

namespace headroom::experiments {
namespace {

bool is_drawn(const Mark& mark) { return std::isfinite(mark.x) && std::isfinite(mark.y); }
bool has_interval(const Mark& mark) { return mark.high > mark.low; }

/// Data blocks and plot commands, in the order in which they are drawn.
class Script {
 public:
  /// Layers with intervals: bands of more than two would hide one another, and tall ones the lines.
  Script(const Plot& plot, const Axis& y) : plot_(plot), y_(y) {
    const auto share = [&](double value) { return share_of(y, std::clamp(value, y.low, y.high)); };
    const auto is_tall = [&](const Mark& m) { return has_interval(m) && share(m.high) - share(m.low) > 0.25; };
    const auto any = [](const Layer& l, const auto& is) { return std::any_of(l.marks.begin(), l.marks.end(), is); };
    int bands = 0;
    for (const Layer& layer : plot.layers) {
      bands += any(layer, has_interval) ? 1 : 0;
      has_bands_ = has_bands_ && !any(layer, is_tall);
    }
    has_bands_ = has_bands_ && bands <= 2;
  }

  /// Intervals and seeds: below the lines of all layers, so that no spread hides one.
  void add_spread(const Layer& layer, size_t number) {
    std::string band, whiskers, seeds;
    size_t bands = 0;
    for (const Mark& mark : layer.marks) {
      if (!is_drawn(mark)) continue;
      for (const double seed : mark.seeds)
        if (seed >= y_.low && seed <= y_.high) seeds += fmt::format("{} {}\n", mark.x, seed);
      if (!has_interval(mark)) continue;
      ++bands;
      const double low = std::clamp(mark.low, y_.low, y_.high), high = std::clamp(mark.high, y_.low, y_.high);
      band += fmt::format("{} {} {}\n", mark.x, low, high);
      whiskers += fmt::format("{} {}\n{} {}\n\n", mark.x, low, mark.x, high);
    }
    const std::string of = fmt::format("layer-{}", number);
    if (bands > 1 && has_bands_)
      command(
          of + " interval", block(band),
          fmt::format("using 1:2:3 with filledcurves fs transparent solid 0.18 noborder lc rgb '{}'", layer.colour));
    else if (bands > 0)
      command(of + " interval", block(whiskers), fmt::format("using 1:2 with lines lw 1.4 lc rgb '{}'", layer.colour));
    if (!seeds.empty())
      command(of + " seeds", block(seeds), fmt::format("using 1:2 with points pt 6 ps 0.35 lc rgb '{}'", layer.colour));
  }

  void add(const Layer& layer, size_t number) {
    std::string rows;
    for (const Mark& mark : layer.marks)
      if (is_drawn(mark))
        rows +=
            fmt::format("{} {} {} {} {}\n", mark.x * layer.times_x, shown(mark.y), mark.size_x, mark.size_y, mark.fill);
    if (!rows.empty())
      command(fmt::format("layer-{}", number), block(rows),
              fmt::format("using {} with {}", columns(layer), style(layer)));
  }

  /// Over all else, so that nothing lies between a mark and the pointer.
  void add_hover(const Layer& layer, size_t number) {
    std::string rows;
    for (const Mark& mark : layer.marks) {
      if (mark.hover.empty()) continue;
      if (is_drawn(mark)) rows += fmt::format("{} {} \"{}\"\n", mark.x * layer.times_x, shown(mark.y), hovers_);
      ++hovers_;
    }
    if (!rows.empty())
      command(fmt::format("layer-{} spots", number), block(rows),
              fmt::format("using 1:2:3 with labels hypertext point pt 7 ps {} lc rgb '{}'",
                          layer.kind == Layer::Kind::cells ? 3 : 1.6, svg::kInk));
  }

  std::string text() const {
    return blocks_ +
           fmt::format("plot {}\n", commands_.empty() ? "1/0 notitle" : fmt::format("{}", fmt::join(commands_, ", ")));
  }
  /// The classes of gnuplot's plots, in their order.
  const std::vector<std::string>& classes() const { return classes_; }

 private:
  /// A logarithm has no 0: it is shown at the axis' foot.
  double shown(double value) const { return value == 0 && y_.scale != Scale::linear ? y_.low : value; }
  std::string block(const std::string& rows) {
    const std::string name = fmt::format("$data{}", ++count_);
    blocks_ += fmt::format("{} << END_OF_DATA\n{}END_OF_DATA\n", name, rows);
    return name;
  }
  void command(const std::string& classes, const std::string& data, const std::string& how) {
    commands_.push_back(fmt::format("{} {} notitle", data, how));
    classes_.push_back(classes);
  }
  static std::string columns(const Layer& layer) {
    if (layer.kind == Layer::Kind::cells) return "1:2:3:4:5";
    return layer.kind == Layer::Kind::boxes ? "1:2:3:4" : "1:2";
  }
  static std::string style(const Layer& layer) {
    static const int shapes[] = {7, 5, 9, 13, 11};  // filled disc, square, triangles, diamond
    static const char* const dashes[] = {"", " dt (8,4)", " dt (2,3)", " dt (8,3,2,3)", " dt (14,4)"};
    const auto style = static_cast<size_t>(std::max(layer.style, 0)) % 5;
    switch (layer.kind) {
      case Layer::Kind::line:
        return fmt::format("{} lw 2{} lc rgb '{}'",
                           layer.points ? fmt::format("linespoints pt {} ps 0.6", shapes[style]) : "lines",
                           dashes[style], layer.colour);
      case Layer::Kind::rings:
        return fmt::format("points pt 6 ps 0.6 lw 1.3 lc rgb '{}'", layer.colour);
      case Layer::Kind::crosses:
        return fmt::format("points pt 2 ps 0.7 lw 1.6 lc rgb '{}'", layer.colour);
      case Layer::Kind::dots:
        return fmt::format("points pt 7 ps 0.35 lc rgb '{}'", layer.colour);
      case Layer::Kind::cells:
        return "boxxyerror fs solid 1 noborder lc rgb variable";
      case Layer::Kind::boxes:
        return fmt::format("boxxyerror fs empty lw 2.5 lc rgb '{}'", layer.colour);
    }
    return "";
  }

  const Plot& plot_;
  const Axis& y_;
  bool has_bands_ = true;
  std::string blocks_;
  std::vector<std::string> commands_, classes_;
  int count_ = 0;
  size_t hovers_ = 0;
};

/// `first`: the number of the plot's first layer among those of its figure.
Script script_of(const Plot& plot, const Axis& y, size_t first) {
  Script script(plot, y);
  for (size_t i = 0; i < plot.layers.size(); ++i) script.add_spread(plot.layers[i], first + i);
  for (size_t i = 0; i < plot.layers.size(); ++i) script.add(plot.layers[i], first + i);
  for (size_t i = 0; i < plot.layers.size(); ++i) script.add_hover(plot.layers[i], first + i);
  return script;
}

/// What of a figure is drawn.
struct Draft {
  Format format = Format::wide;
  bool other = false;  ///< on other_y
  bool fixed = false;  ///< with colours of its own, for a file that stands alone
  std::string id;
};

/// The hover texts of all marks, in the order of Script.
std::vector<std::string> hover_texts(const Plot& plot) {
  std::vector<std::string> texts;
  for (const Layer& layer : plot.layers)
    for (const Mark& mark : layer.marks)
      if (!mark.hover.empty()) texts.push_back(mark.hover);
  return texts;
}

/// The gnuplot script of one panel with the y axis `y`. Hover texts stand in it as their numbers in hover_texts().
std::string plot_script(const Plot& plot, const Axis& y, const Layout& layout, size_t first) {
  std::string out =
      fmt::format("set terminal svg size {},{} dynamic noenhanced font 'sans-serif,{}'\nset encoding utf8\nunset key\n",
                  layout.width, layout.height, layout.font);
  // From the bottom, in shares of the whole.
  out += fmt::format(
      "set lmargin at screen {}\nset rmargin at screen {}\nset tmargin at screen {}\nset bmargin at screen {}\n",
      layout.left / layout.width, layout.right / layout.width, 1 - layout.top / layout.height,
      1 - layout.bottom / layout.height);
  out += fmt::format("set border 3 lc rgb '{}'\nset grid ytics lt 1 lc rgb '{}' lw 1\n", svg::kMuted, svg::kGrid);
  out += fmt::format("set xtics nomirror scale 0.5,0.25 tc rgb '{0}'\nset ytics nomirror scale 0.5,0.25 tc rgb '{0}'\n",
                     svg::kInk);
  out += axis_commands(legible_x(plot.x, layout), "x") + axis_commands(legible_y(y, layout), "y");
  for (const PlotGuide& guide : plot.guides)
    out += fmt::format("set arrow from first {0}, graph 0 to first {0}, graph 1 nohead dt (4,4) lw 1.2 lc rgb '{1}'\n",
                       guide.x, svg::kMuted);
  return out + script_of(plot, y, first).text();
}

svg::Panel panel_of(const std::filesystem::path& gnuplot, const Plot& plot, const Axis& y, const Layout& layout,
                    size_t first = 0) {
  return {run_gnuplot(gnuplot, plot_script(plot, y, layout, first)),
          layout.height,
          hover_texts(plot),
          script_of(plot, y, first).classes(),
          layout.texts,
          layout.strokes};
}

/// Rows of small panels, which stand side by side.
void add_small(const std::filesystem::path& gnuplot, const Plot& plot, const Draft& draft, double width,
               std::vector<svg::Panel>& panels) {
  if (plot.small.empty()) return;
  const size_t count = plot.small.size(), most = plot.layers.empty() || draft.format == Format::narrow ? 2 : 4;
  const size_t rows = (count + most - 1) / most,
               columns = std::max(std::min<size_t>(most, 3), (count + rows - 1) / rows);
  const double across = width / static_cast<double>(columns);
  size_t first = plot.layers.size(), lines = 0;
  for (size_t i = 0; i < count; ++i) {
    const auto y_of = [&](const Plot& small) -> const Axis& {
      return draft.other && small.other_y ? *small.other_y : small.y;
    };
    if (i % columns == 0) lines = 0;
    for (size_t j = i; i % columns == 0 && j < std::min(i + columns, count); ++j)
      lines = std::max(lines, small_name(plot.small[j], y_of(plot.small[j]), across).size());
    const Plot& small = plot.small[i];
    const Axis& y = y_of(small);
    svg::Panel panel = panel_of(gnuplot, small, y, small_layout(small, y, across, lines), first);
    panel.right = across * static_cast<double>(i % columns);
    panels.push_back(std::move(panel));
    first += small.layers.size();
  }
}

std::string drawn(const std::filesystem::path& gnuplot, const Plot& plot, const Draft& draft) {
  const bool is_small_alone = plot.layers.empty() && !plot.small.empty();
  std::vector<std::pair<const Plot*, const Axis*>> parts;
  if (!is_small_alone) parts.emplace_back(&plot, draft.other ? &*plot.other_y : &plot.y);
  for (const Plot& below : plot.below) parts.emplace_back(&below, &below.y);
  Room room;
  for (const auto& [part, y] : parts) {
    const Layout alone = layout_of(*part, *y, draft.format, {}, draft.fixed);
    room = {std::max(room.left, alone.left), std::max(room.right, alone.width - alone.right)};
  }
  if (parts.size() == 1) room = {};
  std::vector<svg::Panel> panels;
  svg::Frame frame{.width = figure_width(draft.format),
                   .id = plot.id + draft.id,
                   .title = plot.title,
                   .description = plot.description,
                   .fixed_colours = draft.fixed};
  for (const auto& [part, y] : parts)
    panels.push_back(panel_of(gnuplot, *part, *y, layout_of(*part, *y, draft.format, room, draft.fixed)));
  if (is_small_alone) write_around(plot, draft.format, frame);
  add_small(gnuplot, plot, draft, frame.width, panels);
  return svg::finish(panels, frame);
}

}  // namespace

std::string plot_csv(const Plot& plot) {
  const auto number = [](double value) { return std::isfinite(value) ? fmt::format("{}", value) : ""; };
  std::string out;
  const auto add = [&](const Plot& part) {
    out += csv_row({"line", part.x_label, part.y_label, "low", "high", "seeds"});
    for (const Layer& layer : part.layers)
      for (const Mark& m : layer.marks) {
        std::vector<std::string> seeds;
        for (const double seed : m.seeds) seeds.push_back(number(seed));
        out += csv_row({layer.legend, number(m.x), number(m.y), has_interval(m) ? number(m.low) : "",
                        has_interval(m) ? number(m.high) : "", fmt::format("{}", fmt::join(seeds, " "))});
      }
  };
  add(plot);
  for (const auto* parts : {&plot.below, &plot.small})
    for (const Plot& part : *parts) add(part);
  return out;
}

Drawing draw(const std::filesystem::path& gnuplot, const Plot& plot) {
  Drawing out;
  out.wide = drawn(gnuplot, plot, {Format::wide, false, false, ""});
  out.narrow = drawn(gnuplot, plot, {Format::narrow, false, false, "-narrow"});
  out.file = "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n" + drawn(gnuplot, plot, {Format::wide, false, true, ""});
  if (!plot.other_y) return out;
  out.other_wide = drawn(gnuplot, plot, {Format::wide, true, false, "-other"});
  out.other_narrow = drawn(gnuplot, plot, {Format::narrow, true, false, "-other-narrow"});
  return out;
}

}  // namespace headroom::experiments
