#include <fmt/format.h>

#include <algorithm>

#include "experiments/output/plot/svg.h"
#include "experiments/output/text.h"
#include "experiments/studies/pages/page_sections.h"

namespace headroom::experiments {
namespace {

const char* scale_word(const Axis& axis) { return axis.scale == Scale::linear ? "linear" : "log"; }

template <class Has>
bool any_mark(const Plot& plot, const Has& has) {
  return std::any_of(plot.layers.begin(), plot.layers.end(),
                     [&](const Layer& l) { return std::any_of(l.marks.begin(), l.marks.end(), has); });
}

/// A line as it is drawn, in small.
std::string swatch(const Layer& layer) {
  static const char* const dashes[] = {"none", "6 3", "2 2.5", "6 2.5 2 2.5", "9 3"};
  const std::string colour = svg::paint(layer.colour);
  std::string shape;
  if (layer.kind == Layer::Kind::line)
    shape = fmt::format("<path d=\"M1 5H21\" stroke=\"{}\" stroke-width=\"2\" stroke-dasharray=\"{}\" fill=\"none\"/>",
                        colour, dashes[static_cast<size_t>(std::max(layer.style, 0)) % 5]);
  if (layer.kind == Layer::Kind::crosses)
    shape = fmt::format("<path d=\"M8 2L14 8M14 2L8 8\" stroke=\"{}\" stroke-width=\"2\"/>", colour);
  else if (layer.kind == Layer::Kind::boxes)
    shape = fmt::format("<path d=\"M6 1H16V9H6Z\" stroke=\"{}\" stroke-width=\"2\" fill=\"none\"/>", colour);
  else if (layer.points || layer.kind != Layer::Kind::line)
    shape += fmt::format("<circle cx=\"11\" cy=\"5\" r=\"3\" fill=\"{}\"/>", colour);
  return "<svg class=\"swatch\" viewBox=\"0 0 22 10\" aria-hidden=\"true\">" + shape + "</svg>";
}

std::string legend_of(const Plot& plot) {
  std::string items;
  for (size_t i = 0; i < plot.layers.size(); ++i) {
    const Layer& layer = plot.layers[i];
    if (layer.legend.empty() || layer.marks.empty()) continue;
    items += fmt::format("<li data-layer=\"{}\">{} <span>{}</span></li>", i, swatch(layer), escape(layer.legend));
  }
  return items.empty() ? "" : "<ul class=\"legend\" aria-label=\"Lines\">" + items + "</ul>\n";
}

/// The same figure on both scales; the second shows when it is asked for.
std::string scales(const char* format, const std::string& main, const std::string& other) {
  if (other.empty()) return fmt::format("<div class=\"{}\">{}</div>\n", format, main);
  return fmt::format("<div class=\"{}\"><div class=\"as-drawn\">{}</div><div class=\"other\">{}</div></div>\n", format,
                     main, other);
}

}  // namespace

PageFigure page_figure(const Figure& figure, Drawing drawing, const std::string& file) {
  const Plot& plot = figure.plot;
  PageFigure out{figure.series, figure.caption, std::move(drawing), file, {}, {}, {}, {}};
  out.id = plot.id;
  out.legend = legend_of(plot);
  out.csv = plot_csv(plot);
  if (any_mark(plot, [](const Mark& m) { return m.high > m.low; })) out.parts.emplace_back("interval");
  if (any_mark(plot, [](const Mark& m) { return !m.seeds.empty(); })) out.parts.emplace_back("seeds");
  if (plot.other_y) out.parts.push_back(fmt::format("{}-{}", scale_word(plot.y), scale_word(*plot.other_y)));
  // Of several lines the seeds' points would bury them: they come on demand.
  out.hides_seeds = plot.layers.size() > 2;
  out.is_main = figure.is_main;
  return out;
}

std::string figure_block(const PageFigure& figure) {
  const Drawing& d = figure.drawing;
  const std::string link =
      figure.file.empty() ? "" : fmt::format(" <a href=\"{}\">The figure as SVG</a>.", escape(figure.file));
  return fmt::format(
      "<figure class=\"plot{}\" data-name=\"{}\" data-parts=\"{}\">\n{}{}{}<figcaption>{}{} <a download=\"{}.csv\" "
      "href=\"data:text/csv;charset=utf-8;base64,{}\">Its numbers as CSV</a>.</figcaption>\n</figure>\n",
      figure.hides_seeds ? " no-seeds" : "", escape(figure.id), fmt::join(figure.parts, " "),
      scales("wide", d.wide, d.other_wide), scales("narrow", d.narrow, d.other_narrow), figure.legend,
      escape(figure.caption), link, escape(figure.id), base64(figure.csv));
}

}  // namespace headroom::experiments
