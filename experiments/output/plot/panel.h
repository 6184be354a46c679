#pragma once
#include <set>
#include <string>
#include <vector>

#include "experiments/output/plot/plot.h"
#include "experiments/output/plot/plot_layout.h"

/// The parts that svg_of() puts together.
namespace headroom::experiments::svg {

/// A coordinate to a tenth of a unit, less than a pixel: "12.5", "40".
std::string coordinate(double value);

/// What colours are called in a drawing: on a page by its variables, else by their light shades.
class Ink {
 public:
  explicit Ink(bool is_on_page) : is_on_page_(is_on_page) {}
  std::string operator()(Colour colour);
  /// Rules that give the dark shades of all that was asked for to readers who prefer dark pages.
  std::string dark_style() const;

 private:
  bool is_on_page_;
  std::set<Colour> used_;
};

/// One panel: its axes, guides, layers, spots for a pointer and labels. `first`: the number of its first layer among
/// those of the figure.
std::string panel_svg(const Plot& plot, const Axis& y, const Layout& layout, size_t first, Ink& ink);

std::string labels_svg(const std::vector<Label>& labels, Ink& ink);

/// A layer's line and marker in a box of 22 × 10.
std::string sample_svg(const Layer& layer, Ink& ink);

}  // namespace headroom::experiments::svg
