#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "experiments/plan/answer.h"
#include "experiments/plan/cost_plan.h"
#include "experiments/plan/measured_choice.h"

namespace headroom::experiments {

/// The width of heads that most published decoders of width D have, among the divisors of D: near 64 up to D = 2048
/// (the config.json of GPT-2, SmolLM2, Llama 3.2 1B), near 128 above (Llama 3 8B, Mistral 7B, Qwen2.5 7B).
int64_t usual_head_dim(int64_t width);

/// The advice for a width at which no study here measured `task` (--for): the number of heads of the nearest measured
/// width where the two are alike, the usual width of heads for text, and for other tasks the way to the bound. `found`
/// holds the curves of the task at other widths, at least one.
PlanAnswer unmeasured_answer(int64_t width, const std::string& task, const std::vector<MeasuredChoice>& found);

/// The advice on a model of which only sizes are known: its own heads where they are of the usual width, else the usual
/// ones; its own, and to try others, where it is no wider than what was measured; and what halving them would save.
PlanAnswer usual_answer(const CostPlan& plan);

}  // namespace headroom::experiments
