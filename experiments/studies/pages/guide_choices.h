#pragma once
#include <vector>

#include "experiments/output/document.h"
#include "experiments/studies/pages/head_choice.h"

namespace headroom::experiments {

/// What to choose in three points: by a search, without one, and what the curves do not cover.
Blocks choice_advice(const std::vector<HeadChoice>& choices);

/// The same for each kind of task under each scheme of positions, with the best numbers and how one head and the
/// narrowest heads stand; and which curves say nothing, as nothing was learned.
Blocks choice_sentences(const std::vector<HeadChoice>& choices);

/// The same in numbers: by task, positions and width, then a row for each curve.
Blocks choice_tables(const std::vector<HeadChoice>& choices);

}  // namespace headroom::experiments
