#pragma once
#include <string>
#include <vector>

#include "experiments/output/document.h"
#include "experiments/studies/analysis/head_advice.h"
#include "experiments/studies/pages/results_page.h"

/// The parts of the guide, how_many_heads_page(), and of the page behind it. `curves`: distinct_learned().
namespace headroom::experiments {

/// The curves by task, those of texts first, then those of many.
std::vector<std::vector<const HeadChoice*>> by_task(const std::vector<const HeadChoice*>& curves);

/// What to take for each task and width (head_advice()), a row for the schemes of positions with one answer, with how
/// sure that is and a link to the page `details`; and the usual width where none was measured.
Block choice_picker(const std::vector<const HeadChoice*>& curves, const std::string& details);

/// For each text task, scheme of positions and width of model: the widths of a head that some curve shows to be within
/// 1 % of every other and none to be worse, those that some curve shows to be worse, and the rest.
Block choice_ranges(const std::vector<const HeadChoice*>& curves);

/// The same rows on the page behind: what one head and narrow heads cost, and the studies that it rests on.
Blocks choice_costs(const std::vector<Analysis>& all, const std::vector<const HeadChoice*>& curves);

/// What holds over all curves, in three points: one head, narrow heads, the learning rate.
Blocks choice_rules(const std::vector<const HeadChoice*>& curves);

/// The paper's guideline against heads of one width on the curves that can tell; nothing where there are none.
Blocks choice_searches(const std::vector<const HeadChoice*>& curves);

/// What the curves do not cover.
Blocks choice_limits(const std::vector<HeadChoice>& choices, const std::vector<const HeadChoice*>& curves);

/// "D 64: 8 × 8".
std::string taken_text(const HeadAdvice& advice);

}  // namespace headroom::experiments
