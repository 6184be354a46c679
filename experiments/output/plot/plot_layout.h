#pragma once
#include <string>
#include <vector>

#include "experiments/output/plot/plot.h"

namespace headroom::experiments {

/// wide: for a desk or paper. narrow: the same figure with type that stays legible on a phone.
enum class Format { wide, narrow };

/// A line of text in a figure. `anchor`: whether its "start", "middle" or "end" is at x; y is its baseline.
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

/// Positions of everything in one panel, in SVG units: the frame of the data and all text around it.
struct Layout {
  double width = 0, height = 0;
  int font = 0;
  double left = 0, right = 0, top = 0, bottom = 0;  ///< edges of the data's frame
  std::vector<Label> labels;                        ///< names of the axes, of the lines, of guides; notes
  std::vector<Leader> leaders;
};

inline constexpr double figure_width(Format format) { return format == Format::wide ? 760 : 380; }
inline constexpr int font_of(Format format) { return format == Format::wide ? 14 : 12; }

/// Minimum room next to the data's frame: stacked panels share it.
struct Room {
  double left = 0, right = 0;
};

/// Lays out a panel's text: no name is cut, long ones wrap. A plot names its lines at their ends. More than most_named
/// lines, in a narrow one most_named_narrow, are left to the page's legend: long leaders would cross. A wide drawing
/// that stands `alone`, without a page, names them all.
Layout layout_of(const Plot& plot, const Axis& y, Format format, const Room& room = {}, bool alone = false);

inline constexpr size_t most_named = 12, most_named_narrow = 4;

/// The name of a small panel in lines that fit.
std::vector<std::string> small_name(const Plot& plot, const Axis& y, double width);

/// Layout of a small panel as wide as its place in a row, below its name; the row has room for names of `lines` lines.
Layout small_layout(const Plot& plot, const Axis& y, double width, size_t lines);

/// The surroundings of a plot made only of small panels: above, the name of their y axes and the legend; below, the
/// name of their x axes.
struct Surroundings {
  double head = 0, foot = 0;            ///< room above and below the panels
  std::vector<Label> above{}, below{};  ///< written there; y is measured from the top of either
};
Surroundings surroundings_of(const Plot& plot, Format format);

/// The x axis of a plot with this layout, without labels that would touch others. A scale of powers of two keeps every
/// one, every second, and so on. The ticks themselves stay.
Axis legible_x(const Axis& x, const Layout& layout);

/// The same for the y axis, from the bottom up.
Axis legible_y(const Axis& y, const Layout& layout);

/// True if the plot names its lines at their ends.
bool has_names(const Plot& plot, Format format, bool alone);

}  // namespace headroom::experiments
