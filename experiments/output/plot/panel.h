#pragma once
#include <set>
#include <string>
#include <vector>

#include "experiments/output/plot/plot.h"
#include "experiments/output/plot/plot_layout.h"

/// The parts that svg_of() puts together.
namespace headroom::experiments::svg {

/// A coordinate rounded to 0.1 unit, less than a pixel: "12.5", "40".
std::string coordinate(double value);

/// Names colours in a drawing: by variables on a page, else by their light shades.
class Ink {
 public:
  explicit Ink(bool is_on_page) : is_on_page_(is_on_page) {}
  std::string operator()(Colour colour);
  /// CSS rules with the dark shades of all used colours, for readers who prefer dark pages.
  std::string dark_style() const;

 private:
  bool is_on_page_;
  std::set<Colour> used_;
};

/// Draws one panel: its axes, guides, layers, spots for a pointer and labels. `first`: the number of its first layer in
/// the figure.
std::string panel_svg(const Plot& plot, const Axis& y, const Layout& layout, size_t first, Ink& ink);

std::string labels_svg(const std::vector<Label>& labels, Ink& ink);

/// A layer's line and marker in a box of 22 × 10.
std::string sample_svg(const Layer& layer, Ink& ink);

}  // namespace headroom::experiments::svg
