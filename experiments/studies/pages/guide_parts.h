#pragma once
#include <string>
#include <vector>

#include "experiments/output/document.h"
#include "experiments/studies/pages/head_choice.h"
#include "experiments/studies/pages/results_page.h"

/// The parts of the guide, how_many_heads_page().
namespace headroom::experiments {

/// What to choose in three points: by a search, without one, and what the curves do not cover.
Blocks choice_advice(const std::vector<HeadChoice>& choices);

/// The same for each kind of task under each scheme of positions, with the best numbers and how one head and the
/// narrowest heads stand; and which curves say nothing, as nothing was learned.
Blocks choice_sentences(const std::vector<HeadChoice>& choices);

/// The same in numbers: by task, positions and width, then a row for each curve.
Blocks choice_tables(const std::vector<HeadChoice>& choices);

/// The paper's claims with our answers: a row for each figure and claim, in which the series that it was tried on stand
/// together, and a line for what has not been run.
Blocks guide_claims(const std::vector<Finding>& all);

/// Where a plan's heads beat equal ones: for each "NAME: the plan" among the series, against the best on validation of
/// the series "NAME: equal …" at each x, with the interval of the ratio (Bonferroni over all comparisons of the study).
/// One sentence per NAME: at which x the plan is better, by how much at most, where it is worse and where it is open.
/// Empty for a study without such series or without two seeds at a common x.
std::vector<std::string> plan_answers(const StudyResults& results);

/// A section for each heading that studies ask for ([study] guide), in the order in which they come: what each of their
/// claims came to, how a plan does against equal heads, and the law of the best number.
Blocks guide_sections(const std::vector<Finding>& all);

}  // namespace headroom::experiments
