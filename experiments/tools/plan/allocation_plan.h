#pragma once
#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "experiments/tools/plan/decay.h"
#include "experiments/tools/plan/plan_tables.h"
#include "experiments/tools/plan/study_fit.h"
#include "tasks/theory/allocation.h"
#include "tasks/theory/bound_terms.h"

namespace headroom::experiments {

/// What `headroom plan` is asked about a width.
struct AllocationRequest {
  int64_t width = 0;             ///< D
  int64_t token_dim = 0;         ///< d
  std::vector<int64_t> ranks{};  ///< of lags 1, 2, …; beyond them d
  Decay decay;
  tasks::AllocationRules rules;
  double risk = 0.05;          ///< δ of Theorem 1
  std::vector<StudyFit> fits;  ///< of the study that the decay is from, the one to plan by first
};

/// ⌊width/head_dim⌋ equal heads, at their best split over the lags.
struct EqualHeads {
  int64_t heads = 0, head_dim = 0;
  double paper = 0, sharper = 0;
  std::vector<tasks::LagGroup> groups;  ///< of the paper's bound
};

/// The best allocation where a number format limits what heads can fetch (tasks::FloatErrors): exactly nothing with as
/// few heads as the lag, and from there on as far as rounding lets the numerically best coefficients.
struct FloatPlan {
  tasks::Allocation best;
  double least = 0;          ///< what no number of full-width heads gets below
  int64_t reach = 0;         ///< the last of the decay's lags that any heads fetch
  double paper = 0;          ///< the paper's bound on it
  double of_paper_best = 0;  ///< what the paper's best costs under this one
};

/// How to split a width between heads, with B = 1 throughout.
struct AllocationPlan {
  AllocationRequest request;
  double nothing = 0;  ///< Σ ‖ρ‖: what no head at all costs
  tasks::AllocationReport paper;
  tasks::BoundTerms terms;  ///< of the paper's best
  tasks::Allocation sharper;
  FloatPlan f32, bf16;
  struct Fitted {
    tasks::Allocation best;
    double rms = 0;  ///< the RMS error that the fit foresees
  };
  std::optional<Fitted> fitted;  ///< with a fit that describes what was measured: the best under it
  EqualHeads best_equal;
  std::vector<EqualHeads> equal;  ///< a curve over head widths, from wide to narrow
  /// Flatness: the smallest width that costs at most 1 %, 5 % and 10 % more than the best.
  struct Within {
    double share = 0;
    int64_t width = 0;
  };
  std::vector<Within> within;
};

/// Everything above, exactly. Throws Error naming the argument of `headroom plan` that is wrong.
AllocationPlan plan_allocation(const AllocationRequest& request);

/// The plan as JSON: at least objective and groups {lag, heads, head_dim}.
nlohmann::ordered_json allocation_json(const AllocationPlan& plan);

/// The parts of both the terminal's tables and the page.
std::string allocation_headline(const AllocationPlan& plan);
std::vector<PlanTable> allocation_tables(const AllocationPlan& plan);
std::string flatness_text(const AllocationPlan& plan);

/// What is said of a run of neighbouring lags with equal heads: of its first group, its number of lags, and which they
/// are ("lag 5", "lags 1–4").
using SayRun = std::function<std::string(const tasks::LagGroup&, size_t lags, const std::string& which)>;
/// The first six runs, then `rest` in place of the others.
std::string runs_text(const std::vector<tasks::LagGroup>& groups, const SayRun& say, const std::string& rest);

/// The plan as tables for a terminal, with what each number is based on; lines of at most `columns` characters where
/// that is not 0.
std::string allocation_text(const AllocationPlan& plan, size_t columns = 0);

}  // namespace headroom::experiments
