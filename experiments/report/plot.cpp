#include "experiments/report/plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstring>

#include "experiments/report/gnuplot.h"
#include "experiments/report/svg.h"
#include "experiments/report/text.h"

namespace headroom::experiments {
namespace {

struct Size {
  int width, height, font;
};

int legends(const Plot& plot) {
  return static_cast<int>(
      std::count_if(plot.layers.begin(), plot.layers.end(), [](const Layer& layer) { return !layer.legend.empty(); }));
}

/// With more entries the legend stands beside the drawing, or takes height of its own on a phone.
constexpr int kShortLegend = 5;

Size size_of(const Plot& plot, Format format) {
  const int extra = std::max(0, legends(plot) - 3);
  if (format == Format::wide)
    return plot.square ? Size{760, 480, 14} : Size{760, std::max(430, 60 + 20 * legends(plot)), 14};
  return plot.square ? Size{380, 410, 12} : Size{380, 360 + 16 * extra, 12};
}

bool is_drawn(const Mark& mark) { return std::isfinite(mark.x) && std::isfinite(mark.y); }
bool has_band(const Mark& mark) { return mark.high > mark.low; }

/// About how wide a letter of a sans-serif face is, in ems.
double width_of(unsigned char c) {
  if (std::strchr("WMmw@%", c)) return 1;
  if (std::strchr("iIjl.,:;|!' ()[]ftr1", c)) return 0.38;
  return std::isupper(c) ? 0.75 : 0.63;
}

/// At most `ems` wide: a label of a hundred letters would push the figure off its own page.
std::string shortened(const std::string& text, double ems) {
  const std::string whole = clean(text);
  double width = 0;
  for (size_t i = 0; i < whole.size(); ++i) {
    const auto c = static_cast<unsigned char>(whole[i]);
    if ((c & 0xC0) == 0x80) continue;  // a later byte of the same character
    width += width_of(c);
    if (width > ems) return whole.substr(0, i) + "…";
  }
  return whole;
}

std::string label(const std::string& text, double ems) { return gnuplot_string(shortened(text, ems)); }

/// Data blocks and plot commands, in the order in which they are drawn.
class Script {
 public:
  explicit Script(const Plot& plot) : plot_(plot) {}

  void add(const Layer& layer, double legend_ems) {
    std::string rows, band;
    size_t bands = 0;
    for (const Mark& mark : layer.marks) {
      if (!is_drawn(mark)) continue;
      rows += fmt::format("{} {} {} {} {}\n", mark.x, mark.y, mark.size_x, mark.size_y, mark.fill);
      if (!has_band(mark)) continue;
      ++bands;
      const double floor = layer.right ? plot_.right->low : plot_.y.low;
      band += fmt::format("{} {} {} {}\n", mark.x, mark.y, std::max(mark.low, floor), mark.high);
    }
    if (rows.empty()) return;
    const std::string axes = layer.right ? " axes x1y2" : "";
    if (bands > 1) {
      command(block(band), fmt::format("using 1:3:4{} with filledcurves fs transparent solid 0.18 noborder lc rgb '{}'",
                                       axes, layer.colour));
    } else if (bands == 1) {  // a band of one point has no width
      command(block(band),
              fmt::format("using 1:2:3:4{} with yerrorbars pt 7 ps 0 lw 1.6 lc rgb '{}'", axes, layer.colour));
    }
    command(block(rows), fmt::format("using {}{} with {}", columns(layer), axes, style(layer)),
            layer.legend.empty() ? "" : shortened(layer.legend, legend_ems));
  }

  /// Over all else, so that nothing lies between a mark and the pointer.
  void add_hover(const Layer& layer) {
    std::string rows;
    for (const Mark& mark : layer.marks) {
      if (mark.hover.empty()) continue;
      if (is_drawn(mark)) rows += fmt::format("{} {} \"{}\"\n", mark.x, mark.y, hovers_);
      ++hovers_;
    }
    if (!rows.empty())
      command(block(rows),
              fmt::format("using 1:2:3{} with labels hypertext point pt 7 ps {} lc rgb '{}'",
                          layer.right ? " axes x1y2" : "", layer.kind == Layer::Kind::cells ? 3 : 1.6, svg::kInk));
  }

  std::string text() const {
    return blocks_ +
           fmt::format("plot {}\n", commands_.empty() ? "1/0 notitle" : fmt::format("{}", fmt::join(commands_, ", ")));
  }

 private:
  std::string block(const std::string& rows) {
    const std::string name = fmt::format("$data{}", ++count_);
    blocks_ += fmt::format("{} << END_OF_DATA\n{}END_OF_DATA\n", name, rows);
    return name;
  }
  void command(const std::string& name, const std::string& how, const std::string& legend = "") {
    commands_.push_back(
        fmt::format("{} {} {}", name, how, legend.empty() ? "notitle" : "title " + gnuplot_string(legend)));
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
        return fmt::format("points pt 6 ps 0.9 lw 1.4 lc rgb '{}'", layer.colour);
      case Layer::Kind::crosses:
        return fmt::format("points pt 2 ps 1.1 lw 2 lc rgb '{}'", layer.colour);
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
  std::string blocks_;
  std::vector<std::string> commands_;
  int count_ = 0;
  size_t hovers_ = 0;
};

std::string axes_script(const Plot& plot, Format format) {
  const double longest = format == Format::wide ? 40 : 24, upright = 20;  // ems
  std::string out = axis_commands(plot.x, "x") + axis_commands(plot.y, "y");
  out += fmt::format("set xlabel {} tc rgb '{}'\n", label(plot.x_label, longest), svg::kInk);
  out += fmt::format("set ylabel {} tc rgb '{}'\n", label(plot.y_label, upright), svg::kInk);
  if (!plot.right) return out;
  out += fmt::format("set y2tics nomirror scale 0.5,0.25 tc rgb '{}'\n", plot.right_colour);
  return out + axis_commands(*plot.right, "y2") +
         fmt::format("set y2label {} tc rgb '{}'\n", label(plot.right_label, upright), plot.right_colour);
}

}  // namespace

std::vector<std::string> hover_texts(const Plot& plot) {
  std::vector<std::string> texts;
  for (const Layer& layer : plot.layers)
    for (const Mark& mark : layer.marks)
      if (!mark.hover.empty()) texts.push_back(mark.hover);
  return texts;
}

std::string plot_script(const Plot& plot, Format format) {
  const Size size = size_of(plot, format);
  std::string out =
      fmt::format("set terminal svg size {},{} dynamic noenhanced font 'sans-serif,{}'\nset encoding utf8\n",
                  size.width, size.height, size.font);
  out += fmt::format("set border {} lc rgb '{}'\n", plot.right ? 11 : 3, svg::kMuted);
  out += fmt::format("set grid ytics lt 1 lc rgb '{}' lw 1\nset errorbars 0.7\n", svg::kGrid);
  const bool many = legends(plot) > kShortLegend;
  out += fmt::format(
      "set key {} Left reverse samplen 2.2 tc rgb '{}'\n",
      format == Format::wide ? (many ? "outside right top vertical" : "above horizontal") : "above vertical",
      svg::kInk);
  if (plot.square) out += "set size ratio 1\n";
  out += fmt::format("set xtics nomirror scale 0.5,0.25 tc rgb '{0}'\nset ytics nomirror scale 0.5,0.25 tc rgb '{0}'\n",
                     svg::kInk);
  Script script(plot);
  for (const Layer& layer : plot.layers) script.add(layer, many || format == Format::narrow ? 14 : 22);
  for (const Layer& layer : plot.layers) script.add_hover(layer);
  return out + axes_script(plot, format) + script.text();
}

Drawing draw(const std::filesystem::path& gnuplot, const Plot& plot) {
  const auto hover = hover_texts(plot);
  const auto frame = [&](Format format, const std::string& id, bool fixed) {
    const Size size = size_of(plot, format);
    return svg::Frame{size.width, size.height, id, plot.title, plot.description, fixed, hover};
  };
  const std::string wide = run_gnuplot(gnuplot, plot_script(plot, Format::wide));
  const std::string narrow = run_gnuplot(gnuplot, plot_script(plot, Format::narrow));
  return {svg::finish(wide, frame(Format::wide, plot.id, false)),
          svg::finish(narrow, frame(Format::narrow, plot.id + "-narrow", false)),
          "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n" + svg::finish(wide, frame(Format::wide, plot.id, true))};
}

}  // namespace headroom::experiments
