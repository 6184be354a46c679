#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "experiments/tools/plan/allocation_plan.h"
#include "experiments/tools/plan/measured_choice.h"

namespace headroom::experiments {

/// What `headroom plan` advises, in sentences: how many heads of what width, why, how sure that is, what it costs, and
/// what the next best would.
struct PlanAnswer {
  std::string advice;                              ///< "use 32 heads of width 8 (4 lags × 8)"
  std::string because{}, sure{}, costs{}, next{};  ///< "" where there is nothing to say
};

/// "4 heads of width 8".
std::string heads_text(int64_t heads, int64_t width);

/// The rows below the advice: a label ("how sure") and its text, those that are not empty.
std::vector<std::pair<const char*, std::string>> answer_rows(const PlanAnswer& answer);

/// The advice that follows from the paper's bound, or from the study that the decay is from where that measured a curve
/// over numbers of heads at this width (`measured`): what was trained goes before what a bound says.
PlanAnswer answer_of(const AllocationPlan& plan, const std::vector<MeasuredChoice>& measured = {});

/// The advice of one measured curve.
PlanAnswer answer_of(const MeasuredChoice& measured);

/// What several measured curves say, a row for each: its positions, the best number of heads, those that are as good,
/// not decided and worse, and where it was measured. One or two of them: the answer of each in full.
/// `as_table`: a row even for one.
std::string measured_text(const std::vector<MeasuredChoice>& measured, int columns = 0, bool as_table = false);

/// How often each number of heads is the best of some curves: "best with 8 heads on 3 of 4 curves, 16 on 1".
std::string best_on(const std::vector<const HeadChoice*>& curves);

/// The advice, and below it the rest; no line is wider than `columns` characters, 100 where that is 0.
std::string answer_text(const PlanAnswer& answer, int columns = 0);

}  // namespace headroom::experiments
