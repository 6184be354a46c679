#include "experiments/output/plot/plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "experiments/output/text.h"

namespace headroom::experiments {
namespace {

/// Text without meaning to TeX.
std::string tex(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (std::string_view("#$%&_{}").find(c) != std::string_view::npos) out += fmt::format("\\{}", c);
    else if (c == '\\') out += "\\textbackslash{}";
    else if (c == '~' || c == '^') out += fmt::format("\\{}{{}}", c);
    else out += c == '\n' ? ' ' : c;
  }
  return out;
}

std::string scale_words(char axis, const Axis& of) {
  if (of.scale == Scale::linear) return "";
  return fmt::format("  {}mode=log, log basis {}={},\n", axis, axis, of.scale == Scale::log2 ? 2 : 10);
}

/// The ticks of a scale of powers of two with their own numbers, as the page has them.
std::string tick_words(const Axis& x) {
  if (x.scale != Scale::log2 || x.ticks.empty()) return "";
  std::vector<std::string> labels;
  for (size_t i = 0; i < x.ticks.size(); ++i) labels.push_back(tex(tick_text(x, i)));
  return fmt::format("  xtick={{{}}}, xticklabels={{{}}},\n", fmt::join(x.ticks, ","), fmt::join(labels, ","));
}

std::string line_of(const Layer& layer, const Axis& y) {
  std::string rows;
  for (const Mark& mark : layer.marks) {
    if (!std::isfinite(mark.x) || !std::isfinite(mark.y) || (y.scale != Scale::linear && mark.y <= 0)) continue;
    const bool has_ends = mark.has_interval() && std::isfinite(mark.low) && std::isfinite(mark.high);
    // No bar of a logarithmic axis reaches 0.
    const double low = y.scale != Scale::linear ? std::max(mark.low, y.low) : mark.low;
    rows += fmt::format("    {} {} {} {}\n", mark.x * layer.times_x, mark.y, has_ends ? mark.high - mark.y : 0,
                        has_ends ? std::max(mark.y - low, 0.0) : 0);
  }
  if (rows.empty()) return "";
  std::string options = layer.kind == Layer::Kind::line ? "" : "only marks, ";
  if (layer.kind == Layer::Kind::line && !layer.points) options = "mark=none, ";
  if (layer.legend.empty()) options += "forget plot, ";
  std::string out = fmt::format(
      "  \\addplot+[{}error bars/.cd, y dir=both, y explicit] "
      "table[x index=0, y index=1, y error plus index=2, y error minus index=3] {{\n{}  }};\n",
      options, rows);
  if (!layer.legend.empty()) out += fmt::format("  \\addlegendentry{{{}}}\n", tex(layer.legend));
  return out;
}

std::string picture_of(const Plot& plot) {
  std::string lines;
  const auto add = [&](const std::vector<Layer>& layers) {
    for (const Layer& layer : layers)
      if (layer.kind != Layer::Kind::cells && layer.kind != Layer::Kind::boxes) lines += line_of(layer, plot.y);
  };
  add(plot.layers);
  for (const Plot& small : plot.small) add(small.layers);
  std::string out;
  if (!lines.empty())
    out = fmt::format(
        "\\begin{{tikzpicture}}\n\\begin{{axis}}[\n  xlabel={{{}}}, ylabel={{{}}},\n{}{}{}"
        "  legend pos=outer north east, legend cell align=left,\n]\n{}\\end{{axis}}\n\\end{{tikzpicture}}\n",
        tex(plot.x_label), tex(plot.y_label), scale_words('x', plot.x), scale_words('y', plot.y), tick_words(plot.x),
        lines);
  for (const Plot& below : plot.below) out += picture_of(below);
  return out;
}

}  // namespace

std::string pgf_of(const Plot& plot) {
  std::string comment;
  for (const char c : plot.title) comment += c == '\n' || c == '\r' ? ' ' : c;
  return fmt::format("% {}\n% Needs \\usepackage{{pgfplots}}.\n{}", comment, picture_of(plot));
}

std::string plot_csv(const Plot& plot) {
  const auto number = [](double value) { return std::isfinite(value) ? fmt::format("{}", value) : ""; };
  std::string out;
  const auto add = [&](const Plot& part) {
    out += csv_row({"line", part.x_label, part.y_label, "low", "high", "seeds"});
    for (const Layer& layer : part.layers)
      for (const Mark& m : layer.marks) {
        std::vector<std::string> seeds;
        for (const double seed : m.seeds) seeds.push_back(number(seed));
        out += csv_row({layer.legend, number(m.x), number(m.y), m.has_interval() ? number(m.low) : "",
                        m.has_interval() ? number(m.high) : "", fmt::format("{}", fmt::join(seeds, " "))});
      }
  };
  add(plot);
  for (const auto* parts : {&plot.below, &plot.small})
    for (const Plot& part : *parts) add(part);
  return out;
}

}  // namespace headroom::experiments
