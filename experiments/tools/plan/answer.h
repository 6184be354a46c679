#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "experiments/tools/plan/allocation_plan.h"
#include "experiments/tools/plan/cost_plan.h"
#include "experiments/tools/plan/measured_choice.h"

namespace headroom::experiments {

/// What `headroom plan` advises, in sentences: how many heads of what width, why, how sure that is, what it costs, and
/// what the next best would. Text, JSON and page print the same answer.
struct PlanAnswer {
  std::string advice;               ///< "use 32 heads of width 8 (4 lags × 8)"
  std::string basis;                ///< "measured", "heuristic", "convention", "guess", or "none" without advice
  int64_t heads = 0, head_dim = 0;  ///< 0 where the advice names none; head_dim also where they differ
  std::string because{}, sure{}, costs{}, next{};  ///< "" where there is nothing to say
  std::string bound{};                             ///< what the paper's bound says, where the answer was measured
};

/// "4 heads of width 8".
std::string heads_text(int64_t heads, int64_t width);

/// The rows below the advice: a label ("how sure") and its text, those that are not empty.
std::vector<std::pair<const char*, std::string>> answer_rows(const PlanAnswer& answer);

/// The answer as JSON: its members by name, without those that are empty.
nlohmann::ordered_json answer_json(const PlanAnswer& answer);

/// The advice of what was trained (head_advice()), where some curve was at that width; none elsewhere.
std::optional<PlanAnswer> measured_answer(const std::vector<const HeadChoice*>& task, int64_t width,
                                          const std::string& positions = "");

/// The curves that answer_of() rests on: the `measured` ones at this width, of the study that the decay is from, or
/// without any the shipped ones of the same sum; none where the bound answers.
std::vector<HeadChoice> curves_behind(const AllocationPlan& plan, const std::vector<HeadChoice>& measured);

/// The advice for a sum of earlier tokens: what curves_behind() it say, with the bound beside it, or what the bound
/// says.
PlanAnswer answer_of(const AllocationPlan& plan, const std::vector<HeadChoice>& measured = {});

/// The advice for a width at which no study here measured `task` (--for): the number of heads of the nearest measured
/// width where the two are alike, the usual width of heads for text, and for other tasks the way to the bound. `found`
/// holds the curves of the task at other widths, at least one.
PlanAnswer unmeasured_answer(int64_t width, const std::string& task, const std::vector<HeadChoice>& found);

/// The advice on a model of which only sizes are known: its own heads where they are of the usual width, else the usual
/// ones; its own, and to try others, where it is no wider than what was measured; and what halving them would save.
PlanAnswer usual_answer(const CostPlan& plan);

/// What measured curves say, a row for each: its positions, the best number of heads, those that are as good, not
/// decided and worse, and where it was measured.
std::string measured_text(const std::vector<HeadChoice>& measured, size_t columns = 0);

/// The advice, and below it the rest; no line is wider than `columns` characters, 80 where that is 0.
std::string answer_text(const PlanAnswer& answer, size_t columns = 0);

}  // namespace headroom::experiments
