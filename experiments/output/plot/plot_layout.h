#pragma once
#include <string>
#include <vector>

#include "experiments/output/plot/plot.h"
#include "experiments/output/plot/svg.h"

namespace headroom::experiments {

/// Where everything of one panel stands, in units of its SVG: the frame of the data, and all that is written around it.
struct Layout {
  double width = 0, height = 0;
  int font = 0;
  double left = 0, right = 0, top = 0, bottom = 0;  ///< edges of the data's frame
  std::vector<svg::Text> texts;                     ///< names of the axes, of the lines, of guides
  std::vector<svg::Stroke> strokes;                 ///< from a line's end to its name, where they stand apart
};

inline constexpr double figure_width(Format format) { return format == Format::wide ? 760 : 380; }

/// Room that is left free beside the data's frame, at least: panels above one another share it.
struct Room {
  double left = 0, right = 0;
};

/// Makes room for what is written: no name is cut, a long one takes further lines. On a wide plot the names of lines
/// stand at their ends; on a narrow one, and where more than most_named lines would need long leaders that cross, the
/// page's legend has them. A drawing that stands `alone`, without a page, names them all.
Layout layout_of(const Plot& plot, const Axis& y, Format format, const Room& room = {}, bool alone = false);

inline constexpr size_t most_named = 12;

/// The name of a small panel in lines that fit.
std::vector<std::string> small_name(const Plot& plot, const Axis& y, double width);

/// The same of a small panel, as wide as its place in a row, under its name, for which that row has room for `lines`.
Layout small_layout(const Plot& plot, const Axis& y, double width, size_t lines);

/// What surrounds a plot of small panels alone: above them the name of their y axes and what colours mean, below them
/// the name of their x axes.
void write_around(const Plot& plot, Format format, svg::Frame& frame);

/// The x axis of a plot that is laid out like this, without the labels of ticks that would touch others. Powers of two,
/// or every second of them and so on, stay on a scale of theirs; the ticks themselves stay, too.
Axis legible_x(const Axis& x, const Layout& layout);

/// The same of the y axis, from the bottom up.
Axis legible_y(const Axis& y, const Layout& layout);

/// `text` in lines of at most `ems`, broken between words, a longer word within it; at most `most` lines, the last of
/// which then ends in an ellipsis.
std::vector<std::string> label_lines(const std::string& text, double ems, size_t most);

/// About how wide a text of a sans-serif face is, in ems; rather more.
double width_of(const std::string& text);

/// Whether a plot's lines are named at their ends.
bool has_names(const Plot& plot, Format format, bool alone);

}  // namespace headroom::experiments
