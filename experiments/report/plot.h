#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "experiments/report/axis.h"

namespace headroom::experiments {

/// One value that a figure shows.
struct Mark {
  double x = 0, y = 0;
  double low = 0, high = 0;       ///< ends of its error band; equal: none
  std::string hover{};            ///< what a pointer over it says; "" for nothing
  double size_x = 0, size_y = 0;  ///< cells only: half of its width and height
  uint32_t fill = 0;              ///< cells only: 0xRRGGBB
};

/// Marks of one kind in one colour.
struct Layer {
  enum class Kind { line, rings, crosses, dots, cells, boxes };
  Kind kind = Kind::line;
  std::string legend;       ///< "" for none
  std::string colour;       ///< a stand-in of svg.h
  int style = 0;            ///< line: 0 solid, others dashed; also chooses the shape of its points
  bool points = true;       ///< line: with a point at each mark
  bool right = false;       ///< on the axis at the right
  std::vector<Mark> marks;  ///< a line joins them in this order; those that are not finite are left out
};

/// A figure before it is drawn. Whatever its texts hold is text.
struct Plot {
  std::string id;                  ///< unique within a page, and the name of its file
  std::string title, description;  ///< for those who do not see it
  std::string x_label, y_label, right_label;
  Axis x, y;
  std::optional<Axis> right;
  std::string right_colour;
  std::vector<Layer> layers;
  bool square = false;  ///< both axes equally long
};

/// page: colours are the page's CSS variables, so that the figure follows light, dark and print. file: fixed colours on
/// white, for any program that opens an SVG.
enum class Paint { page, file };

/// wide: for a desk or a sheet of paper. narrow: the same figure with type that stays legible on a phone.
enum class Format { wide, narrow };

/// The gnuplot script of a plot. Marks' hover texts stand in it as their numbers in hover_texts().
std::string plot_script(const Plot& plot, Format format);

/// The hover texts of all marks, in the order of plot_script().
std::vector<std::string> hover_texts(const Plot& plot);

/// One plot as SVG elements, with title and description for screen readers.
struct Drawing {
  std::string wide, narrow, file;  ///< two for the page, and one with fixed colours
};

/// Draws with `gnuplot`. Throws Error as run_gnuplot() does.
Drawing draw(const std::filesystem::path& gnuplot, const Plot& plot);

}  // namespace headroom::experiments
