#include "experiments/output/plot/plot_layout.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "experiments/output/plot/text_width.h"

namespace headroom::experiments {
namespace {

constexpr double kLine = 1.3;  ///< height of a line of text, in ems
constexpr int em_small = 12;   ///< the type of small panels

bool is_cells(const Plot& plot) {
  return std::any_of(plot.layers.begin(), plot.layers.end(),
                     [](const Layer& layer) { return layer.kind == Layer::Kind::cells; });
}

size_t legends(const Plot& plot) {
  return static_cast<size_t>(
      std::count_if(plot.layers.begin(), plot.layers.end(), [](const Layer& l) { return !l.legend.empty(); }));
}

/// The widest label of an axis' ticks.
double tick_ems(const Axis& axis) {
  double widest = axis.ticks.empty() ? width_of("0.00001") : 0;
  for (size_t i = 0; i < axis.ticks.size(); ++i) widest = std::max(widest, width_of(tick_text(axis, i)));
  return widest;
}

/// Stacks lines of text, the first at `y`; returns the y of the next line.
double add_lines(std::vector<Label>& labels, const std::vector<std::string>& lines, double x, double y,
                 const char* anchor, double em, Colour colour = Colour::ink, const std::string& classes = "") {
  for (const std::string& line : lines) {
    labels.push_back({x, y, line, anchor, colour, classes});
    y += kLine * em;
  }
  return y;
}

/// Room for the leader between a line's end and its name.
double leader_of(int font) { return font == font_of(Format::wide) ? 22 : 14; }

/// A line's name beside the frame.
struct Name {
  size_t layer = 0;
  std::vector<std::string> lines;
  double from_x = 0, from_y = 0;  ///< the end of the line
  double y = 0;                   ///< middle of the name
  double half = 0;                ///< half of its height
};

/// Moves overlapping names apart as little as possible, from top to bottom, and back into the frame.
void spread(std::vector<Name>& names, double top, double bottom) {
  std::stable_sort(names.begin(), names.end(), [](const Name& a, const Name& b) { return a.from_y < b.from_y; });
  double free = top;
  for (Name& name : names) {
    name.y = std::max(name.from_y, free + name.half);
    free = name.y + name.half;
  }
  double below = bottom;
  for (auto name = names.rbegin(); name != names.rend(); ++name) {
    name->y = std::min(name->y, below - name->half);
    below = name->y - name->half;
  }
}

/// The last mark of a layer that its axes can show; null if there is none.
const Mark* last_mark(const Plot& plot, const Axis& y, const Layer& layer) {
  const Mark* last = nullptr;
  for (const Mark& m : layer.marks)
    if (std::isfinite(share_of(plot.x, m.x)) && std::isfinite(share_of(y, m.y)) && (!last || m.x >= last->x)) last = &m;
  return last;
}

std::vector<Name> names_of(const Plot& plot, const Axis& y, double ems, size_t lines, int font) {
  std::vector<Name> names;
  for (size_t i = 0; i < plot.layers.size(); ++i) {
    const Layer& layer = plot.layers[i];
    if (layer.legend.empty() || !last_mark(plot, y, layer)) continue;
    Name name;
    name.layer = i;
    name.lines = label_lines(layer.legend, ems, lines);
    name.half = kLine * font * static_cast<double>(name.lines.size()) / 2 + 1;
    names.push_back(std::move(name));
  }
  return names;
}

void place_names(const Plot& plot, const Axis& y, std::vector<Name> names, Layout& out) {
  for (Name& name : names) {
    const Mark* const last = last_mark(plot, y, plot.layers[name.layer]);
    name.from_x = out.left + std::clamp(share_of(plot.x, last->x), 0.0, 1.0) * (out.right - out.left);
    name.from_y = out.bottom - std::clamp(share_of(y, last->y), 0.0, 1.0) * (out.bottom - out.top);
  }
  spread(names, out.top - 4, out.bottom + 8);
  for (const Name& name : names) {
    const Layer& layer = plot.layers[name.layer];
    const std::string part = "layer-" + std::to_string(name.layer);
    const double x = out.right + leader_of(out.font);
    out.leaders.push_back({name.from_x + 7, name.from_y, x - 4, name.y, layer.colour, part + " leader"});
    add_lines(out.labels, name.lines, x, name.y - name.half + out.font * 1.05, "start", out.font, layer.colour, part);
  }
}

/// Puts guides' labels above the frame, a line each.
void place_guides(const Plot& plot, Layout& out) {
  double at = out.top - 4 + kLine * out.font * (1 - static_cast<double>(plot.guides.size()));
  for (const PlotGuide& guide : plot.guides) {
    const double share = share_of(plot.x, guide.x);
    if (!(share >= 0 && share <= 1)) continue;
    const double x = out.left + share * (out.right - out.left);
    const double last = out.width - width_of(guide.label) * out.font - 2;
    out.labels.push_back({std::max(2.0, std::min(x - 4, last)), at, guide.label, "start"});
    at += kLine * out.font;
  }
}

/// Counts the points along the lines that a text covers.
int crossings(const Plot& plot, const Axis& y, const Layout& out, const Label& text) {
  constexpr int steps = 16;
  const double width = width_of(text.text) * out.font;
  const double from = text.x - (text.anchor == "start" ? 0 : text.anchor == "end" ? width : width / 2);
  int found = 0;
  for (const Layer& layer : plot.layers)
    for (size_t i = 1; i < layer.marks.size() && layer.kind == Layer::Kind::line; ++i)
      for (int step = 0; step <= steps; ++step) {
        const auto at = [&](const Axis& axis, double a, double b) {
          return share_of(axis, a) + (share_of(axis, b) - share_of(axis, a)) * step / steps;
        };
        const Mark &a = layer.marks[i - 1], &b = layer.marks[i];
        const double right = out.left + at(plot.x, a.x, b.x) * (out.right - out.left) - from;
        const double up = text.y - out.bottom + at(y, a.y, b.y) * (out.bottom - out.top);
        if (right > -2 && right < width + 2 && up > -4 && up < out.font) ++found;
      }
  return found;
}

/// Puts notes above or below their marks, where fewer lines cross, towards the frame's middle; in small panels above.
void place_notes(const Plot& plot, const Axis& y, Layout& out, bool small = false) {
  const double edge = small ? 0.5 : 0.15;
  for (const PlotNote& note : plot.notes) {
    const double share = share_of(plot.x, note.x), height = std::clamp(share_of(y, note.y), 0.0, 1.0);
    if (!(share >= 0 && share <= 1) || std::isnan(height)) continue;
    const double x = out.left + share * (out.right - out.left), mark = out.bottom - height * (out.bottom - out.top);
    const char* const anchor = share < edge ? "start" : share > 1 - edge ? "end" : "middle";
    const double away = small ? -4 : 8, aside = share < edge ? away : share > 1 - edge ? -away : 0;
    const Label above{x + aside, mark - 8, note.text, anchor, note.colour, "note"};
    Label below = above;
    below.y = mark + 1.4 * out.font;
    const int gain = small ? -1 : crossings(plot, y, out, above) - crossings(plot, y, out, below);
    const bool has_room = below.y + 4 < out.bottom;
    out.labels.push_back(has_room && (gain > 0 || (gain == 0 && note.below)) ? below : above);
  }
}

}  // namespace

Axis legible_x(const Axis& x, const Layout& layout) {
  struct Span {
    double from, to;
  };
  std::vector<Span> taken;
  Axis out = x;
  const auto place = [&](size_t i) {
    const double at = layout.left + share_of(x, x.ticks[i]) * (layout.right - layout.left);
    const double half = layout.font * (width_of(tick_text(x, i)) + 0.35) / 2;
    for (const Span& s : taken)
      if (at - half < s.to && s.from < at + half) return false;
    out.labels[i] = tick_text(x, i);
    taken.push_back({at - half, at + half});
    return true;
  };
  const auto exponent = [&](size_t i) { return static_cast<int>(std::lround(std::log2(x.ticks[i]))); };
  const auto is_power = [&](size_t i) { return x.scale == Scale::log2 && std::exp2(exponent(i)) == x.ticks[i]; };
  // Labels every power of two, or every second, and so on: irregular gaps would distort the scale.
  bool fits = false;
  for (int stride = 1; !fits && stride <= 16; ++stride) {
    fits = true;
    taken.clear();
    out.labels.assign(x.ticks.size(), "");
    for (size_t i = 0; i < x.ticks.size(); ++i)
      if (is_power(i) && exponent(i) % stride == 0) fits = place(i) && fits;
  }
  for (size_t i = 0; i < x.ticks.size(); ++i)
    if (!is_power(i)) place(i);
  return out;
}

Axis legible_y(const Axis& y, const Layout& layout) {
  Axis out = y;
  out.labels.assign(y.ticks.size(), "");
  double free = layout.height;
  for (size_t i = 0; i < y.ticks.size(); ++i) {
    const double at = layout.bottom - share_of(y, y.ticks[i]) * (layout.bottom - layout.top);
    if (at > free) continue;
    out.labels[i] = tick_text(y, i);
    free = at - 1.15 * layout.font;
  }
  return out;
}

bool has_names(const Plot& plot, Format format, bool alone) {
  const auto count = static_cast<size_t>(legends(plot));
  if (is_cells(plot) || plot.square || count < 2) return false;
  return format == Format::wide ? alone || count <= most_named : count <= most_named_narrow;
}

Layout layout_of(const Plot& plot, const Axis& y, Format format, const Room& least, bool alone) {
  const bool wide = format == Format::wide;
  Layout out;
  out.width = figure_width(format);
  out.font = font_of(format);
  const double em = out.font;
  const auto above = label_lines(plot.y_label, (out.width - 16) / em, 3);
  out.left = std::max({wide ? 56.0 : 44.0, em * tick_ems(y) + 18, least.left});
  out.top = em * kLine * static_cast<double>(above.size() + plot.guides.size()) + 14;
  double tall = (wide ? 320 : 230) * (plot.low ? 0.5 : 1), room = wide ? 24 : 16;
  double total = 0;
  std::vector<Name> names;
  if (has_names(plot, format, alone)) {
    names = names_of(plot, y, wide ? 15 : 8, wide ? 3 : 5, out.font);
    double widest = 0;
    for (const Name& name : names) {
      for (const std::string& line : name.lines) widest = std::max(widest, em * width_of(line));
      total += 2 * name.half;
    }
    room = widest + leader_of(out.font) + 8;
  }
  out.right = out.width - std::max(room, least.right);
  if (is_cells(plot)) tall = std::clamp((wide ? 44.0 : 34.0) * (y.high - y.low), 140.0, 2000.0);
  if (plot.square) {
    tall = std::min(out.right - out.left, wide ? 400.0 : 300.0);
    out.right = out.left + tall;
  }
  const double centre = (out.left + out.right) / 2, span = 2 * std::min(centre, out.width - centre) - 8;
  // The lowest panel labels the x axis that all of them share.
  const auto under = label_lines(plot.below.empty() ? plot.x_label : "", span / em, 3);
  const double foot = em * (1.9 + kLine * static_cast<double>(under.size())) + 6;
  if (!names.empty()) tall = std::max(tall, total);
  out.bottom = out.top + tall;
  out.height = out.bottom + foot;
  add_lines(out.labels, above, 6, em, "start", em);
  add_lines(out.labels, under, centre, out.bottom + em * 3, "middle", em);
  place_guides(plot, out);
  if (wide) place_notes(plot, y, out);
  place_names(plot, y, std::move(names), out);
  return out;
}

std::vector<std::string> small_name(const Plot& plot, const Axis& y, double width) {
  const double room = width - em_small * tick_ems(y) - 20;
  return label_lines(plot.title.empty() ? plot.layers.front().legend : plot.title, room / em_small, 3);
}

Layout small_layout(const Plot& plot, const Axis& y, double width, size_t lines) {
  Layout out;
  out.width = width;
  out.font = em_small;
  out.left = em_small * tick_ems(y) + 16;
  out.right = width - 14;
  out.top = em_small * kLine * static_cast<double>(lines) + 10;
  out.bottom = out.top + (width > 300 ? 150 : 120);
  out.height = out.bottom + 2.4 * em_small;
  const auto name = small_name(plot, y, width);
  add_lines(out.labels, name, out.left, out.top - 8 - kLine * em_small * static_cast<double>(name.size() - 1), "start",
            em_small, plot.title.empty() ? plot.layers.front().colour : Colour::ink);
  place_notes(plot, y, out, true);
  return out;
}

Surroundings surroundings_of(const Plot& plot, Format format) {
  const double em = font_of(format), width = figure_width(format);
  Surroundings out;
  double x = 6,
         at = add_lines(out.above, label_lines(plot.y_label, (width - 16) / em, 3), x, em, "start", em) + 0.3 * em;
  std::set<std::string> said;
  for (const bool lines : {false, true})
    for (const Plot& small : plot.small)
      for (const Layer& layer : small.layers) {
        const bool is_line = layer.kind == Layer::Kind::line;
        if (is_line != lines || layer.legend.empty() || !said.insert(layer.legend).second) continue;
        const std::string text = (is_line ? "━ " : "● ") + layer.legend;
        const double wide = em * width_of(text);
        if (x > 6 && x + wide > width) {
          x = 6;
          at += kLine * em;
        }
        out.above.push_back({x, at, text, "start", layer.colour});
        x += wide + em;
      }
  out.head = at + 0.8 * em;
  const auto under = label_lines(plot.x_label, (width - 16) / em, 3);
  out.foot = add_lines(out.below, under, width / 2, em, "middle", em) - 0.7 * em;
  return out;
}

}  // namespace headroom::experiments
