#pragma once
#include <string>

#include "experiments/output/plot/plot.h"

namespace headroom::experiments {

/// The plot's lines as a picture of pgfplots, for \input in a LaTeX document: values with their intervals, axes and
/// legend, in the document's own type. Small panels' lines join the large panel's; a panel below is a picture of its
/// own. Maps of cells are left out. Every text is escaped.
std::string pgf_of(const Plot& plot);

}  // namespace headroom::experiments
