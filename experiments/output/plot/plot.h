#pragma once
#include <optional>
#include <string>
#include <vector>

#include "experiments/output/plot/axis.h"
#include "experiments/output/plot/colour.h"

namespace headroom::experiments {

/// One value that a figure shows.
struct Mark {
  double x = 0, y = 0;
  double low = 0, high = 0;       ///< ends of its interval; equal: none
  std::string hover{};            ///< text for a pointer over it; "" for none
  double size_x = 0, size_y = 0;  ///< cells only: half of its width and height
  uint32_t fill = 0;              ///< cells only: 0xRRGGBB
  std::vector<double> seeds{};    ///< values of the single seeds

  bool has_interval() const { return high > low; }
};

/// Marks of one kind in one colour.
struct Layer {
  enum class Kind { line, rings, crosses, dots, cells, boxes };  ///< rings are small: many may share an x
  Kind kind = Kind::line;
  std::string legend;  ///< "" for none
  Colour colour = Colour::ink;
  int style = 0;            ///< line: 0 solid, others dashed; also chooses the shape of its points
  bool points = true;       ///< line: with a point at each mark
  double times_x = 1;       ///< drawn at x times this factor, next to other layers' marks
  std::vector<Mark> marks;  ///< a line joins them in this order; non-finite ones are left out
};

/// A highlighted x: a dashed line from the bottom to the top.
struct PlotGuide {
  double x = 0;
  std::string label;
};

/// A few characters above or below a mark, such as the ratio found. Only wide figures have room for them.
struct PlotNote {
  double x = 0, y = 0;
  std::string text;
  Colour colour = Colour::ink;
  bool below = false;
};

/// A figure before it is drawn. Its texts are plain text.
struct Plot {
  std::string id;                  ///< unique within a page, and the name of its file
  std::string title, description;  ///< for readers who cannot see it
  std::string x_label, y_label;
  Axis x, y;
  std::optional<Axis> other_y;  ///< the same values on the other scale, for readers who prefer it
  std::vector<PlotGuide> guides;
  std::vector<Layer> layers;
  bool square = false;  ///< both axes equally long
  bool low = false;     ///< of half the usual height
  std::vector<PlotNote> notes;
  std::vector<Plot> below;  ///< further panels over the same x, each with a y axis of its own
  /// Small panels in rows below it, each named by its title or else by its first layer. A plot without layers is just
  /// these panels in two columns, surrounded by its labels and their legends.
  std::vector<Plot> small;
};

/// A plot's data as CSV: line, x, value, ends of its interval, values of the seeds, for all panels. RFC 4180.
std::string plot_csv(const Plot& plot);

/// The plot's lines as a picture of pgfplots, for \input in a LaTeX document: values with their intervals, axes and
/// legend, in the document's own type. Small panels' lines join the large panel's; a panel below is a picture of its
/// own. Maps of cells are left out. Every text is escaped.
std::string pgf_of(const Plot& plot);

}  // namespace headroom::experiments
