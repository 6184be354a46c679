#pragma once
#include <string>
#include <vector>

#include "experiments/output/plot/plot.h"

namespace headroom::experiments {

/// wide: for a desk or a sheet of paper. narrow: the same figure with type that stays legible on a phone.
enum class Format { wide, narrow };

/// A line of text of a figure. `anchor`: "start", "middle" or "end" of it is at x; y is its baseline.
struct Label {
  double x = 0, y = 0;
  std::string text, anchor;
  Colour colour = Colour::ink;
  std::string classes{};  ///< "" for none
};

/// A thin straight line from the end of a line to its name.
struct Leader {
  double x1 = 0, y1 = 0, x2 = 0, y2 = 0;
  Colour colour = Colour::ink;
  std::string classes;
};

/// Where everything of one panel stands, in units of its SVG: the frame of the data, and all that is written around it.
struct Layout {
  double width = 0, height = 0;
  int font = 0;
  double left = 0, right = 0, top = 0, bottom = 0;  ///< edges of the data's frame
  std::vector<Label> labels;                        ///< names of the axes, of the lines, of guides; notes
  std::vector<Leader> leaders;
};

inline constexpr double figure_width(Format format) { return format == Format::wide ? 760 : 380; }
inline constexpr int font_of(Format format) { return format == Format::wide ? 14 : 12; }

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
struct Surroundings {
  double head = 0, foot = 0;            ///< room above and below the panels
  std::vector<Label> above{}, below{};  ///< written there; y is measured from the top of either
};
Surroundings surroundings_of(const Plot& plot, Format format);

/// The x axis of a plot that is laid out like this, without the labels of ticks that would touch others. Powers of two,
/// or every second of them and so on, stay on a scale of theirs; the ticks themselves stay, too.
Axis legible_x(const Axis& x, const Layout& layout);

/// The same of the y axis, from the bottom up.
Axis legible_y(const Axis& y, const Layout& layout);

/// Whether a plot's lines are named at their ends.
bool has_names(const Plot& plot, Format format, bool alone);

}  // namespace headroom::experiments
