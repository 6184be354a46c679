#include "experiments/output/plot/panel.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>

#include "experiments/output/text.h"

namespace headroom::experiments::svg {
namespace {

/// A place in a panel, or a share of its frame.
struct Place {
  double x = 0, y = 0;
};

std::string text_of(const Place& at) { return coordinate(at.x) + " " + coordinate(at.y); }

/// The part of a line from `a` to `b` within the unit square; none if it misses it (Liang & Barsky, 1984).
std::optional<std::pair<Place, Place>> within_frame(const Place& a, const Place& b) {
  double from = 0, to = 1;
  for (const auto& [start, step] : {std::pair{a.x, b.x - a.x}, {a.y, b.y - a.y}}) {
    if (step == 0) {
      if (start < 0 || start > 1) return std::nullopt;
      continue;
    }
    const double low = -start / step, high = (1 - start) / step;
    from = std::max(from, std::min(low, high));
    to = std::min(to, std::max(low, high));
  }
  if (!(from <= to)) return std::nullopt;
  const auto at = [&](double t) { return Place{a.x + t * (b.x - a.x), a.y + t * (b.y - a.y)}; };
  return std::pair{from == 0 ? a : at(from), to == 1 ? b : at(to)};
}

/// A closed shape around a place: disc, square, triangles, diamond.
std::string shape(int style, const Place& at, double radius) {
  const auto begin = [&](double right, double down) { return "M" + text_of({at.x + right, at.y + down}); };
  const double r = radius, side = 0.9 * r;
  switch (std::max(style, 0) % 5) {
    case 1:
      return fmt::format("{}h{:.1f}v{:.1f}h{:.1f}z", begin(-side, -side), 2 * side, 2 * side, -2 * side);
    case 2:
      return fmt::format("{}l{:.1f} {:.1f}h{:.1f}z", begin(0, -1.2 * r), 1.2 * r, 2.1 * r, -2.4 * r);
    case 3:
      return fmt::format("{0}l{1:.1f} {1:.1f}l{2:.1f} {1:.1f}l{2:.1f} {2:.1f}z", begin(0, -1.3 * r), 1.3 * r, -1.3 * r);
    case 4:
      return fmt::format("{}l{:.1f} {:.1f}h{:.1f}z", begin(0, 1.2 * r), 1.2 * r, -2.1 * r, -2.4 * r);
    default:
      return fmt::format("{0}a{1:.1f} {1:.1f} 0 1 0 {2:.1f} 0a{1:.1f} {1:.1f} 0 1 0 {3:.1f} 0z", begin(-r, 0), r, 2 * r,
                         -2 * r);
  }
}

std::string cross(const Place& at, double r) {
  return fmt::format("M{}L{}M{}L{}", text_of({at.x - r, at.y - r}), text_of({at.x + r, at.y + r}),
                     text_of({at.x - r, at.y + r}), text_of({at.x + r, at.y - r}));
}

const char* dashes(int style) {
  static const char* const all[] = {"", "8 4", "2 3", "8 3 2 3", "14 4"};
  return all[std::max(style, 0) % 5];
}

std::string path(const std::string& d, const std::string& attributes) {
  return d.empty() ? "" : fmt::format("<path d=\"{}\" {}/>\n", d, attributes);
}

std::string stroke(const std::string& colour, double width, const std::string& dash = "") {
  return fmt::format("fill=\"none\" stroke=\"{}\" stroke-width=\"{}\"{}", colour, width,
                     dash.empty() ? "" : fmt::format(" stroke-dasharray=\"{}\"", dash));
}

std::string group(const std::string& classes, const std::string& content, const std::string& attributes = "") {
  return content.empty() ? "" : fmt::format("<g class=\"{}\"{}>\n{}</g>\n", classes, attributes, content);
}

/// Markers differ as well as colours, for colour-blind readers.
int shape_number(const Layer& layer) {
  const bool has_category = layer.colour >= Colour::first_category && layer.colour < Colour::first_ramp;
  if (layer.kind != Layer::Kind::line) return 0;
  return has_category ? static_cast<int>(layer.colour) - static_cast<int>(Colour::first_category) : layer.style;
}

/// The line or the marks of a layer, at these places.
std::string marks_svg(const Layer& layer, const std::string& line, const std::vector<Place>& places,
                      const std::string& colour) {
  const double radius = layer.kind == Layer::Kind::dots ? 1.6 : layer.kind == Layer::Kind::rings ? 2.7 : 3;
  std::string shapes;
  for (const Place& at : places)
    shapes += layer.kind == Layer::Kind::crosses ? cross(at, 3) : shape(shape_number(layer), at, radius);
  switch (layer.kind) {
    case Layer::Kind::line:
      return path(line, stroke(colour, 2, dashes(layer.style)) + " stroke-linejoin=\"round\"") +
             (layer.points ? path(shapes, fmt::format("class=\"points\" fill=\"{}\"", colour)) : "");
    case Layer::Kind::rings:
      return path(shapes, "class=\"points\" " + stroke(colour, 1.3));
    case Layer::Kind::crosses:
      return path(shapes, "class=\"points\" " + stroke(colour, 1.6));
    default:
      return path(shapes, fmt::format("class=\"points\" fill=\"{}\"", colour));
  }
}

class Panel {
 public:
  Panel(const Plot& plot, const Axis& y, const Layout& layout, Ink& ink)
      : plot_(plot), x_(plot.x), y_(y), layout_(layout), ink_(ink) {}

  std::string axes() const {
    const Axis x = legible_x(x_, layout_), y = legible_y(y_, layout_);
    std::string grid, lines = fmt::format("M{}V{}H{}", text_of({layout_.left, layout_.top}), coordinate(layout_.bottom),
                                          coordinate(layout_.right));
    std::string beside, under;
    const double em = layout_.font;
    for (size_t i = 0; i < y.ticks.size(); ++i) {
      const double share = share_of(y, y.ticks[i]);
      if (!(share >= 0 && share <= 1)) continue;
      const Place at = place({0, share});
      grid += fmt::format("M{}H{}", text_of(at), coordinate(layout_.right));
      lines += fmt::format("M{}h-4", text_of(at));
      if (const std::string text = tick_text(y, i); !text.empty()) beside += tick({at.x - 8, at.y + 0.35 * em}, text);
    }
    for (size_t i = 0; i < x.ticks.size(); ++i) {
      const double share = share_of(x, x.ticks[i]);
      if (!(share >= 0 && share <= 1)) continue;
      const Place at = place({share, 0});
      lines += fmt::format("M{}v4", text_of(at));
      if (const std::string text = tick_text(x, i); !text.empty()) under += tick({at.x, at.y + 4 + 1.1 * em}, text);
    }
    return path(grid, "class=\"grid\" " + stroke(ink_(Colour::grid), 1)) +
           path(lines, "class=\"axes\" " + stroke(ink_(Colour::muted), 1)) +
           group("ticks", beside, fmt::format(" fill=\"{}\" text-anchor=\"end\"", ink_(Colour::ink))) +
           group("ticks", under, fmt::format(" fill=\"{}\" text-anchor=\"middle\"", ink_(Colour::ink)));
  }

  std::string guides() const {
    std::string d;
    for (const PlotGuide& guide : plot_.guides)
      if (const auto at = shown({guide.x, y_.low})) d += fmt::format("M{}V{}", text_of(*at), coordinate(layout_.top));
    return path(d, "class=\"guides\" " + stroke(ink_(Colour::muted), 1.2, "4 4"));
  }

  /// Intervals and seeds.
  std::string spread(const Layer& layer, const std::string& name) const {
    std::vector<Place> above, below;
    std::string whiskers, seeds;
    for (const Mark& mark : layer.marks) {
      for (const double seed : mark.seeds)
        if (const auto at = shown({mark.x, seed})) seeds += shape(0, *at, 1.8);
      const auto at = shown({mark.x, std::clamp(mark.y, y_.low, y_.high)});
      if (!mark.has_interval() || !at) continue;
      above.push_back(*shown({mark.x, std::clamp(mark.high, y_.low, y_.high)}));
      below.push_back(*shown({mark.x, std::clamp(mark.low, y_.low, y_.high)}));
      whiskers += fmt::format("M{}V{}", text_of(above.back()), coordinate(below.back().y));
    }
    std::string band;
    for (const Place& at : above) band += (band.empty() ? "M" : "L") + text_of(at);
    for (auto at = below.rbegin(); at != below.rend(); ++at) band += "L" + text_of(*at);
    const std::string colour = ink_(layer.colour);
    const bool is_band = has_bands() && above.size() > 1;
    return group(name + " interval",
                 is_band ? path(band + "z", fmt::format("fill=\"{}\"", colour)) : path(whiskers, stroke(colour, 1.4)),
                 is_band ? " opacity=\"0.13\"" : " opacity=\"0.55\"") +
           group(name + " seeds", path(seeds, stroke(colour, 1)), " opacity=\"0.5\"");
  }

  std::string layer(const Layer& layer, const std::string& name) const {
    const std::string colour = ink_(layer.colour);
    std::vector<Place> places;
    std::string line, boxes;
    std::optional<Place> last;  // a share of the frame
    for (const Mark& mark : layer.marks) {
      const std::optional<Place> at = share(mark.x * layer.times_x, mark.y);
      if (!at) continue;
      if (layer.kind == Layer::Kind::cells || layer.kind == Layer::Kind::boxes) boxes += box(mark, layer.kind, colour);
      if (within_frame(*at, *at)) places.push_back(place(*at));
      if (last)
        if (const auto part = within_frame(*last, *at)) {
          const std::string begin = text_of(place(part->first)), end = text_of(place(part->second));
          line += (line.ends_with(begin) ? "L" : "M" + begin + "L") + end;
        }
      last = at;
    }
    return group(name, boxes.empty() ? marks_svg(layer, line, places, colour) : boxes);
  }

  /// Drawn last, so that nothing lies between a mark and the pointer.
  std::string spots(const Layer& layer, const std::string& name) const {
    std::string out;
    for (const Mark& mark : layer.marks) {
      const auto at = shown({mark.x * layer.times_x, mark.y});
      if (mark.hover.empty() || !at) continue;
      out += fmt::format("<circle class=\"mark\" cx=\"{}\" cy=\"{}\" r=\"{}\"><title>{}</title></circle>\n",
                         coordinate(at->x), coordinate(at->y), layer.kind == Layer::Kind::cells ? 14 : 8,
                         escape(mark.hover));
    }
    return group(name + " spots", out, " fill=\"none\" pointer-events=\"all\"");
  }

  std::string leaders() const {
    std::string out;
    for (const Leader& one : layout_.leaders)
      out += fmt::format("<path class=\"{}\" d=\"M{}L{}\" stroke=\"{}\" stroke-opacity=\"0.45\"/>\n", one.classes,
                         text_of({one.x1, one.y1}), text_of({one.x2, one.y2}), ink_(one.colour));
    return out;
  }

 private:
  Place place(const Place& share) const {
    return {layout_.left + share.x * (layout_.right - layout_.left),
            layout_.bottom - share.y * (layout_.bottom - layout_.top)};
  }
  std::optional<Place> share(double x, double y) const {
    // A logarithm has no 0: it is shown at the axis' foot.
    const Place at{share_of(x_, x), share_of(y_, y == 0 && y_.scale != Scale::linear ? y_.low : y)};
    return std::isfinite(at.x) && std::isfinite(at.y) ? std::optional(at) : std::nullopt;
  }
  /// Position of a value in the drawing; none outside the frame.
  std::optional<Place> shown(const Place& value) const {
    const auto at = share(value.x, value.y);
    return at && within_frame(*at, *at) ? std::optional(place(*at)) : std::nullopt;
  }

  std::string tick(const Place& at, const std::string& text) const {
    return fmt::format("<text x=\"{}\" y=\"{}\">{}</text>\n", coordinate(at.x), coordinate(at.y), escape(text));
  }

  std::string box(const Mark& mark, Layer::Kind kind, const std::string& colour) const {
    const auto low = shown({mark.x - mark.size_x, mark.y - mark.size_y});
    const auto high = shown({mark.x + mark.size_x, mark.y + mark.size_y});
    if (!low || !high) return "";
    const std::string d =
        fmt::format("M{}V{}H{}V{}z", text_of(*low), coordinate(high->y), coordinate(high->x), coordinate(low->y));
    return path(d, kind == Layer::Kind::boxes
                       ? stroke(colour, 2.5)
                       : fmt::format("fill=\"#{:06x}\" shape-rendering=\"crispEdges\"", mark.fill & 0xFFFFFFU));
  }

  /// True if bands are readable: more than two layers would hide one another, and tall bands the lines.
  bool has_bands() const {
    const auto height = [&](double value) { return share_of(y_, std::clamp(value, y_.low, y_.high)); };
    std::set<const Layer*> with;
    for (const Layer& layer : plot_.layers)
      for (const Mark& mark : layer.marks) {
        if (!mark.has_interval()) continue;
        if (height(mark.high) - height(mark.low) > 0.25) return false;
        with.insert(&layer);
      }
    return with.size() <= 2;
  }

  const Plot& plot_;
  const Axis &x_, &y_;
  const Layout& layout_;
  Ink& ink_;
};

}  // namespace

std::string coordinate(double value) {
  std::string text = fmt::format("{:.1f}", value);
  if (text.ends_with(".0")) text.resize(text.size() - 2);
  return text == "-0" ? "0" : text;
}

std::string Ink::operator()(Colour colour) {
  used_.insert(colour);
  return is_on_page_ ? page_colour(colour) : shade_of(colour, false);
}

std::string Ink::dark_style() const {
  std::string rules = ":root{color-scheme:dark}";  // a browser's own canvas, where the file is opened alone
  for (const Colour colour : used_)
    for (const char* attribute : {"fill", "stroke"})
      rules += fmt::format("[{0}=\"{1}\"]{{{0}:{2}}}", attribute, shade_of(colour, false), shade_of(colour, true));
  return fmt::format("<style>@media (prefers-color-scheme: dark) {{{}}}</style>\n", rules);
}

std::string panel_svg(const Plot& plot, const Axis& y, const Layout& layout, size_t first, Ink& ink) {
  const Panel panel(plot, y, layout, ink);
  std::string spreads, layers, spots;
  for (size_t i = 0; i < plot.layers.size(); ++i) {
    const std::string name = fmt::format("layer-{}", first + i);
    spreads += panel.spread(plot.layers[i], name);  // below the lines of all layers, so that no spread hides a line
    layers += panel.layer(plot.layers[i], name);
    spots += panel.spots(plot.layers[i], name);
  }
  return panel.axes() + panel.guides() + spreads + layers + panel.leaders() + labels_svg(layout.labels, ink) + spots;
}

std::string labels_svg(const std::vector<Label>& labels, Ink& ink) {
  std::string out;
  for (const Label& label : labels)
    out += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"{}\" fill=\"{}\"{}>{}</text>\n", coordinate(label.x),
                       coordinate(label.y), label.anchor, ink(label.colour),
                       label.classes.empty() ? "" : fmt::format(" class=\"{}\"", label.classes), escape(label.text));
  return out;
}

std::string sample_svg(const Layer& layer, Ink& ink) {
  const std::string colour = ink(layer.colour);
  if (layer.kind == Layer::Kind::boxes) return path("M6 1H16V9H6z", stroke(colour, 2));
  return marks_svg(layer, "M1 5H21", {{11, 5}}, colour);
}

}  // namespace headroom::experiments::svg
