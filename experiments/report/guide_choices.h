#pragma once
#include <vector>

#include "experiments/report/blocks.h"
#include "experiments/report/head_choice.h"

namespace headroom::experiments {

/// Whether all heads of a curve have D/H dimensions.
bool has_equal_widths(const HeadChoice& choice);

/// What to choose, in a sentence for each scheme of positions: the widths that no curve finds worse, and those that
/// most do.
std::vector<Block> choice_sentences(const std::vector<HeadChoice>& choices);

/// The same in numbers: by positions and width, then a row for each curve.
std::vector<Block> choice_tables(const std::vector<HeadChoice>& choices);

}  // namespace headroom::experiments
