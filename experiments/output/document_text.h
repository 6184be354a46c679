#pragma once
#include <cstddef>
#include <string>

#include "experiments/output/document.h"

namespace headroom::experiments {

/// The parts as a terminal shows them: paragraphs and list items in lines of at most `columns` characters, tables with
/// aligned columns. 0: as wide as they get. Figures are left out, links are their words.
std::string as_text(const Blocks& blocks, size_t columns);

}  // namespace headroom::experiments
