#include "experiments/output/plot/svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "experiments/output/plot/panel.h"
#include "experiments/output/plot/text_width.h"
#include "experiments/output/text.h"

namespace headroom::experiments {
namespace svg {
namespace {

/// Places a panel's drawing, in type of size `font`; the first one uses the figure's.
std::string placed(const std::string& drawing, double right, double down, int font) {
  if (right == 0 && down == 0) return drawing;
  return fmt::format("<g class=\"panel\" transform=\"translate({},{})\" font-size=\"{}\">\n{}</g>\n", coordinate(right),
                     coordinate(down), font, drawing);
}

class Drawing {
 public:
  Drawing(const Plot& plot, const DrawnFor& drawn)
      : plot_(plot), drawn_(drawn), ink_(drawn.surface == Surface::page), width_(figure_width(drawn.format)) {}

  std::string text() {
    if (drawn_.surface == Surface::file && drawn_.has_title) add_title();
    if (has_own_frame()) add_panels();
    else add_around();
    const std::string id =
        escape(plot_.id) + (drawn_.format == Format::narrow ? "-narrow" : "") + (drawn_.on_other_scale ? "-other" : "");
    return fmt::format(
        "<svg viewBox=\"0 0 {0} {1}\" xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" aria-labelledby=\"{2}-title "
        "{2}-desc\" font-family=\"system-ui, -apple-system, &#39;Segoe UI&#39;, Roboto, &#39;Helvetica Neue&#39;, "
        "sans-serif\" font-size=\"{3}\">\n<title id=\"{2}-title\">{4}</title>\n<desc id=\"{2}-desc\">{5}</desc>\n"
        "{6}{7}</svg>\n",
        width_, coordinate(height_), id, font_of(drawn_.format), escape(plot_.title), escape(plot_.description),
        drawn_.surface == Surface::file ? ink_.dark_style() : "", body_);
  }

 private:
  static constexpr double bold = 1.08;  ///< how much wider bold type is

  bool has_own_frame() const { return !plot_.layers.empty() || plot_.small.empty(); }
  const Axis& y_of(const Plot& plot) const { return drawn_.on_other_scale && plot.other_y ? *plot.other_y : plot.y; }

  /// Draws the title, without the name of the y axis, which stands below it.
  void add_title() {
    const std::string axis = ": " + plot_.y_label;
    std::string title = plot_.title;
    if (title.ends_with(axis)) title.resize(title.size() - axis.size());
    const double em = font_of(drawn_.format);
    std::vector<Label> lines;
    for (const std::string& line : label_lines(title, (width_ - 16) / (bold * em), 3)) {
      height_ += 1.3 * em;
      lines.push_back({6, height_, line, "start"});
    }
    if (lines.empty()) return;
    height_ += 0.6 * em;
    body_ += "<g font-weight=\"600\">\n" + labels_svg(lines, ink_) + "</g>\n";
  }

  /// Draws the plot and the panels below it.
  void add_panels() {
    const bool is_alone = drawn_.surface != Surface::page;
    std::vector<const Plot*> parts{&plot_};
    for (const Plot& below : plot_.below) parts.push_back(&below);
    Room room;
    for (const Plot* part : parts) {
      const Layout alone = layout_of(*part, y_of(*part), drawn_.format, {}, is_alone);
      room = {std::max(room.left, alone.left), std::max(room.right, alone.width - alone.right)};
    }
    for (const Plot* part : parts) {
      const Layout layout = layout_of(*part, y_of(*part), drawn_.format, room, is_alone);
      body_ += placed(panel_svg(*part, y_of(*part), layout, 0, ink_), 0, height_, layout.font);
      height_ += layout.height;
    }
    add_small(plot_.layers.size());
  }

  void add_around() {
    const Surroundings around = surroundings_of(plot_, drawn_.format);
    body_ += placed(labels_svg(around.above, ink_), 0, height_, font_of(drawn_.format));
    height_ += around.head;
    add_small(0);
    body_ += placed(labels_svg(around.below, ink_), 0, height_, font_of(drawn_.format));
    height_ += around.foot;
  }

  /// Draws rows of small panels side by side. `first`: the number of their first layer.
  void add_small(size_t first) {
    if (plot_.small.empty()) return;
    const size_t count = plot_.small.size(), most = !has_own_frame() || drawn_.format == Format::narrow ? 2 : 4;
    const size_t rows = (count + most - 1) / most;
    const size_t columns = std::max(std::min<size_t>(most, 3), (count + rows - 1) / rows);
    const double across = width_ / static_cast<double>(columns);
    for (size_t begin = 0; begin < count; begin += columns) {
      const size_t end = std::min(begin + columns, count);
      size_t lines = 0;
      for (size_t i = begin; i < end; ++i)
        lines = std::max(lines, small_name(plot_.small[i], y_of(plot_.small[i]), across).size());
      for (size_t i = begin; i < end; ++i) {
        const Plot& small = plot_.small[i];
        const Layout layout = small_layout(small, y_of(small), across, lines);
        body_ += placed(panel_svg(small, y_of(small), layout, first, ink_), across * static_cast<double>(i - begin),
                        height_, layout.font);
        if (i + 1 == end) height_ += layout.height;  // the same for all in the row
        first += small.layers.size();
      }
    }
  }

  const Plot& plot_;
  const DrawnFor drawn_;
  Ink ink_;
  const double width_;
  double height_ = 0;
  std::string body_;
};

}  // namespace
}  // namespace svg

std::string svg_of(const Plot& plot, const DrawnFor& drawn) { return svg::Drawing(plot, drawn).text(); }

std::string swatch_of(const Layer& layer) {
  svg::Ink ink(true);
  return "<svg class=\"swatch\" viewBox=\"0 0 22 10\" aria-hidden=\"true\">" + svg::sample_svg(layer, ink) + "</svg>";
}

}  // namespace headroom::experiments
