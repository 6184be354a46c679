#include <fmt/format.h>

#include "experiments/output/number.h"
#include "experiments/tools/plan/allocation_plan.h"

namespace headroom::experiments {
namespace {

/// "lags 1–4: 8 × 8, lag 5: …": runs of equal groups joined; the first few runs.
std::string groups_text(const std::vector<tasks::LagGroup>& groups) {
  constexpr int most_runs = 6;
  if (groups.empty()) return "none: no lag is worth its heads";
  std::string text;
  int runs = 0;
  for (size_t i = 0; i < groups.size(); ++runs) {
    if (runs == most_runs) return text + fmt::format(", … ({} lags in all)", groups.size());
    size_t j = i + 1;
    while (j < groups.size() && groups[j].heads == groups[i].heads && groups[j].head_dim == groups[i].head_dim &&
           groups[j].lag == groups[j - 1].lag + 1)
      ++j;
    const std::string lags =
        j == i + 1 ? fmt::format("lag {}", groups[i].lag) : fmt::format("lags {}–{}", groups[i].lag, groups[j - 1].lag);
    text += fmt::format("{}{}: {} × {}", text.empty() ? "" : ", ", lags, groups[i].heads, groups[i].head_dim);
    i = j;
  }
  return text;
}

/// The best allocation, and the limit for any width.
void add_float_rows(Cells& rows, const char* format, const FloatPlan& plan) {
  rows.push_back({fmt::format("limited by {}", format), rounded(plan.best.bound), groups_text(plan.best.groups),
                  "guess on a theorem"});
  rows.push_back({fmt::format("{}, any width", format), rounded(plan.least),
                  plan.reach == 0
                      ? "no number of heads fetches anything"
                      : fmt::format("no number of heads gets below; lags to {} are within reach", plan.reach),
                  "guess on a theorem"});
}

}  // namespace

std::string allocation_headline(const AllocationPlan& plan) {
  const AllocationRequest& request = plan.request;
  const std::string ranks = request.ranks.empty() ? "" : fmt::format(" · ranks {}", fmt::join(request.ranks, ","));
  return fmt::format("width {} · token dim {}{} · {} lags ({}) · {}{}", request.width, request.token_dim, ranks,
                     request.decay.norms.size(), request.decay.source,
                     request.rules.lags == tasks::Lags::prefix ? "lags 1..M" : "any lags",
                     request.rules.exact_width ? " · exact width" : "");
}

Cells allocation_cells(const AllocationPlan& plan) {
  const tasks::Allocation& best = plan.paper.best;
  Cells rows = {{"", "objective", "heads × head dim", "basis"}};
  rows.push_back({"paper's bound", rounded(best.bound), groups_text(best.groups), "heuristic"});
  rows.push_back({"sharper bound", rounded(plan.sharper.bound), groups_text(plan.sharper.groups), "heuristic"});
  add_float_rows(rows, "f32", plan.f32);
  add_float_rows(rows, "bf16", plan.bf16);
  if (plan.fitted)
    rows.push_back({"fit to the study", rounded(plan.fitted->rms) + " RMS", groups_text(plan.fitted->best.groups),
                    fmt::format("fit, R² {:.2f}", plan.request.fits.front().r2)});
  rows.push_back({"equal heads", rounded(plan.best_equal.paper), groups_text(plan.best_equal.groups), "heuristic"});
  if (plan.paper.runner_up)
    rows.push_back({fmt::format("runner-up, {:+.1f}\u00a0%", 100 * (plan.paper.runner_up->bound / best.bound - 1)),
                    rounded(plan.paper.runner_up->bound), groups_text(plan.paper.runner_up->groups), "heuristic"});
  rows.push_back({"no heads", rounded(plan.nothing), "", "theorem"});
  return rows;
}

Cells terms_cells(const AllocationPlan& plan) {
  const tasks::BoundTerms& t = plan.terms;
  const std::string risk = exact(plan.request.risk);
  return {{"term of the paper's bound at its best", "value", "basis"},
          {"projection: heads narrower than the token", rounded(t.projection), "theorem, on average"},
          {"extraction: 1.3 e^(0.02 m)/H", rounded(t.extraction), "heuristic"},
          {"truncation: lags without heads", rounded(t.truncation), "theorem"},
          {"not in the objective, at risk " + risk + ": concentration", rounded(t.concentration), "theorem, loose"},
          {"exact law in place of projection and concentration", rounded(t.exact_projection), "theorem"}};
}

Cells curve_cells(const AllocationPlan& plan) {
  Cells rows = {{"head dim", "heads", "paper's bound", "sharper"}};
  for (const EqualHeads& equal : plan.equal)
    rows.push_back(
        {std::to_string(equal.head_dim), std::to_string(equal.heads), rounded(equal.paper), rounded(equal.sharper)});
  return rows;
}

std::string flatness_text(const AllocationPlan& plan) {
  std::string out = "How flat the bound is:";
  for (const auto& within : plan.within)
    out += fmt::format("{} a width of {} comes within {:.0f} %", &within == plan.within.data() ? "" : ",", within.width,
                       100 * within.share);
  return out + " of the best.";
}

std::string allocation_text(const AllocationPlan& plan, size_t columns) {
  const std::vector<StudyFit>& fits = plan.request.fits;
  const std::string fitted =
      fits.empty()
          ? ""
          : "\nfit: the bound's terms, scaled to what the study measured\n" + aligned(fit_cells(fits), columns) + "\n" +
                aligned(fit_point_cells(fits[0]), columns) + aligned({{fit_text(fits[0])}}, columns);
  return allocation_headline(plan) + "\n\n" + aligned(allocation_cells(plan), columns) + "\n" +
         aligned(terms_cells(plan), columns) + "\nequal heads of every width (heuristic)\n" +
         aligned(curve_cells(plan), columns) + "\n" + aligned({{flatness_text(plan)}}, columns) + fitted;
}

}  // namespace headroom::experiments
