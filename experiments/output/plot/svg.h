#pragma once
#include <string>

#include "experiments/output/plot/plot.h"
#include "experiments/output/plot/plot_layout.h"

namespace headroom::experiments {

/// What a drawing is put on, which decides where its colours come from.
enum class Surface {
  page,  ///< inline in a page: the page's CSS variables
  file   ///< a file of its own: light colours, and dark ones where the reader prefers those
};

struct DrawnFor {
  Surface surface = Surface::page;
  Format format = Format::wide;
  bool on_other_scale = false;  ///< with plot.other_y in place of plot.y; it must be there
};

/// Draws a plot as one <svg> element: lines with markers, intervals as bands or whiskers, single seeds, notes and
/// names, panels below and small ones. It has a title and a description for screen readers, text as text in the
/// reader's own font, a transparent ground and no script. Every mark with a hover text has a <title> on a transparent
/// spot, class "mark"; what belongs to layer N has class "layer-N", with "interval", "seeds", "spots" or "leader". All
/// texts are escaped, marks that are not finite are left out. The same plot gives the same bytes.
std::string svg_of(const Plot& plot, const DrawnFor& drawn = {});

/// A line's or a mark's look in small, for a legend beside the drawing: an <svg> of class "swatch".
std::string swatch_of(const Layer& layer);

}  // namespace headroom::experiments
