#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "experiments/tools/plan/answer.h"
#include "experiments/tools/plan/cost_plan.h"
#include "experiments/tools/plan/measured_choice.h"

namespace headroom::experiments {

/// The advice for a width at which no study here measured `task` (--for): the number of heads of the nearest measured
/// width where the two are alike, the usual width of heads for text, and for other tasks the way to the bound. `found`
/// holds the curves of the task at other widths, at least one.
PlanAnswer unmeasured_answer(int64_t width, const std::string& task, const std::vector<HeadChoice>& found);

/// The advice on a model of which only sizes are known: its own heads where they are of the usual width, else the usual
/// ones; its own, and to try others, where it is no wider than what was measured; and what halving them would save.
PlanAnswer usual_answer(const CostPlan& plan);

}  // namespace headroom::experiments
