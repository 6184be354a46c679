#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "experiments/tools/plan/allocation_plan.h"
#include "experiments/tools/plan/answer.h"

namespace headroom::experiments {

/// Writes a self-contained page: the advice (`answer`); the `measured` curves that it rests on (curves_behind()); the
/// trade-off curve of equal heads under both bounds, the allocations, the bound's terms, folded away where curves
/// answer; cost against head width; what each number is based on. At least one of the plans is given, and an answer
/// with an allocation; without one, the advice is that on the model's sizes. Throws Error naming the path when it
/// cannot be written.
void write_plan_page(const std::filesystem::path& path, const std::optional<PlanAnswer>& answer,
                     const std::optional<AllocationPlan>& allocation, const std::optional<CostPlan>& costs,
                     const std::vector<HeadChoice>& measured = {});

/// The same of what studies measured for `task` (plan --for): the answers, then every curve in one figure and in
/// tables.
void write_measured_page(const std::filesystem::path& path, const std::string& task,
                         const std::vector<HeadChoice>& measured, const std::vector<PlanAnswer>& answers);

}  // namespace headroom::experiments
