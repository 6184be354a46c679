#pragma once
#include <string>

#include "experiments/output/plot/plot.h"
#include "experiments/output/plot/plot_layout.h"

namespace headroom::experiments {

/// The target of a drawing, which decides where its colours come from.
enum class Surface {
  page,  ///< inline in a page: the page's CSS variables
  file   ///< a separate file: light colours, and dark ones if the reader prefers those
};

struct DrawnFor {
  Surface surface = Surface::page;
  Format format = Format::wide;
  bool on_other_scale = false;  ///< with plot.other_y instead of plot.y; it must be set
  bool has_title = true;        ///< a file shows its title; a page has it elsewhere
};

/// Draws a plot as one <svg> element: lines with markers, intervals as bands or whiskers, single seeds, notes and
/// names, panels below and small ones. It has a title and a description for screen readers, text in the reader's own
/// font, a transparent background and no script. Every mark with a hover text has a <title> on a transparent spot,
/// class "mark"; parts of layer N have class "layer-N", with "interval", "seeds", "spots" or "leader". Texts are
/// escaped, non-finite marks left out. Equal plots give equal bytes.
std::string svg_of(const Plot& plot, const DrawnFor& drawn = {});

/// A small sample of a line or mark for a legend: an <svg> of class "swatch".
std::string swatch_of(const Layer& layer);

}  // namespace headroom::experiments
