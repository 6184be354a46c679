#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "experiments/output/number.h"
#include "experiments/tools/plan/allocation_plan.h"

namespace headroom::experiments {
namespace {

using Json = nlohmann::ordered_json;

Json groups_json(const std::vector<tasks::LagGroup>& groups) {
  Json all = Json::array();
  for (const tasks::LagGroup& group : groups)
    all.push_back({{"lag", group.lag}, {"heads", group.heads}, {"head_dim", group.head_dim}});
  return all;
}

Json allocation_of(const tasks::Allocation& allocation, const char* status) {
  return {{"objective", allocation.bound}, {"groups", groups_json(allocation.groups)}, {"status", status}};
}

Json equal_json(const EqualHeads& equal) {
  return {{"heads", equal.heads},
          {"head_dim", equal.head_dim},
          {"objective", equal.paper},
          {"sharper", equal.sharper},
          {"groups", groups_json(equal.groups)}};
}

Json float_json(const FloatPlan& plan) {
  Json out = allocation_of(plan.best, "guess");
  out["least"] = plan.least;
  out["reach"] = plan.reach;
  out["paper_objective"] = plan.paper;
  out["objective_of_the_papers_best"] = plan.of_paper_best;
  return out;
}

/// "lags 1–4: 8 × 8, lag 5: …".
std::string groups_text(const std::vector<tasks::LagGroup>& groups) {
  if (groups.empty()) return "none: no lag is worth its heads";
  const auto say = [](const tasks::LagGroup& group, size_t /*lags*/, const std::string& which) {
    return fmt::format("{}: {} × {}", which, group.heads, group.head_dim);
  };
  return runs_text(groups, say, fmt::format(", … ({} lags in all)", groups.size()));
}

Cells allocation_cells(const AllocationPlan& plan) {
  const tasks::Allocation& best = plan.paper.best;
  Cells rows = {{"", "objective", "heads × head dim", "basis"}};
  const auto add = [&](const std::string& name, double objective, const std::vector<tasks::LagGroup>& groups,
                       const std::string& basis = "heuristic") {
    rows.push_back({name, rounded(objective), groups_text(groups), basis});
  };
  add("paper's bound", best.bound, best.groups);
  add("sharper bound", plan.sharper.bound, plan.sharper.groups);
  for (const auto& [format, limited] : {std::pair("f32", &plan.f32), std::pair("bf16", &plan.bf16)}) {
    add(fmt::format("limited by {}", format), limited->best.bound, limited->best.groups, "guess on a theorem");
    rows.push_back({fmt::format("{}, any width", format), rounded(limited->least),
                    limited->reach == 0
                        ? "no number of heads fetches anything"
                        : fmt::format("no number of heads gets below; lags to {} are within reach", limited->reach),
                    "guess on a theorem"});
  }
  if (plan.fitted)
    rows.push_back({"fit to the study", rounded(plan.fitted->rms) + " RMS", groups_text(plan.fitted->best.groups),
                    fmt::format("fit, R² {:.2f}", plan.request.fits.front().r2)});
  add("equal heads", plan.best_equal.paper, plan.best_equal.groups);
  if (const auto& next = plan.paper.runner_up)
    add(fmt::format("runner-up, {:+.1f}\u00a0%", 100 * (next->bound / best.bound - 1)), next->bound, next->groups);
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

}  // namespace

std::string runs_text(const std::vector<tasks::LagGroup>& groups, const SayRun& say, const std::string& rest) {
  constexpr size_t most_runs = 6;
  std::vector<std::string> runs;
  for (size_t i = 0, end; i < groups.size(); i = end) {
    if (runs.size() == most_runs) return fmt::format("{}{}", fmt::join(runs, ", "), rest);
    end = i + 1;
    while (end < groups.size() && groups[end].heads == groups[i].heads && groups[end].head_dim == groups[i].head_dim &&
           groups[end].lag == groups[end - 1].lag + 1)
      ++end;
    runs.push_back(say(groups[i], end - i,
                       end == i + 1 ? fmt::format("lag {}", groups[i].lag)
                                    : fmt::format("lags {}–{}", groups[i].lag, groups[end - 1].lag)));
  }
  return fmt::format("{}", fmt::join(runs, ", "));
}

Json allocation_json(const AllocationPlan& plan) {
  const AllocationRequest& request = plan.request;
  const auto term = [](double value, const char* status) { return Json{{"value", value}, {"status", status}}; };
  Json out = {{"objective", plan.paper.best.bound}, {"groups", groups_json(plan.paper.best.groups)}};
  out["status"] = "heuristic";
  out["width"] = request.width;
  out["token_dim"] = request.token_dim;
  if (!request.ranks.empty()) out["ranks"] = request.ranks;
  out["lags"] = request.rules.lags == tasks::Lags::prefix ? "prefix" : "any";
  out["exact_width"] = request.rules.exact_width;
  out["decay"] = {{"norms", request.decay.norms},
                  {"source", request.decay.source},
                  {"status", request.decay.is_estimated ? "fit" : "given"}};
  out["nothing_extracted"] = plan.nothing;
  out["terms"] = {{"projection", term(plan.terms.projection, "theorem")},
                  {"extraction", term(plan.terms.extraction, "heuristic")},
                  {"truncation", term(plan.terms.truncation, "theorem")},
                  {"concentration", term(plan.terms.concentration, "theorem")},
                  {"exact_projection", term(plan.terms.exact_projection, "theorem")},
                  {"risk", request.risk}};
  out["sharper"] = allocation_of(plan.sharper, "heuristic");
  out["float_limited"] = {{"f32", float_json(plan.f32)}, {"bf16", float_json(plan.bf16)}};
  if (plan.fitted) {
    out["fit"] = allocation_of(plan.fitted->best, "fit");
    out["fit"]["objective"] = plan.fitted->rms;
    out["fit"]["series"] = Json::array();
    for (const StudyFit& fit : request.fits) out["fit"]["series"].push_back(fit_json(fit));
  }
  out["runner_up"] = plan.paper.runner_up ? allocation_of(*plan.paper.runner_up, "heuristic") : Json(nullptr);
  out["flatness"] = Json::array();
  for (const auto& within : plan.within)
    out["flatness"].push_back({{"within", within.share}, {"smallest_width", within.width}});
  out["equal_heads"] = {{"best", equal_json(plan.best_equal)}, {"curve", Json::array()}};
  for (const EqualHeads& equal : plan.equal) out["equal_heads"]["curve"].push_back(equal_json(equal));
  return out;
}

std::string allocation_headline(const AllocationPlan& plan) {
  const AllocationRequest& request = plan.request;
  const std::string ranks = request.ranks.empty() ? "" : fmt::format(" · ranks {}", fmt::join(request.ranks, ","));
  return fmt::format("width {} · token dim {}{} · {} lags ({}) · {}{}", request.width, request.token_dim, ranks,
                     request.decay.norms.size(), request.decay.source,
                     request.rules.lags == tasks::Lags::prefix ? "lags 1..M" : "any lags",
                     request.rules.exact_width ? " · exact width" : "");
}

std::vector<PlanTable> allocation_tables(const AllocationPlan& plan) {
  return {{.name = "Allocations", .cells = allocation_cells(plan)},
          {.name = "Terms of the bound", .cells = terms_cells(plan)},
          {"Equal heads", "equal heads of every width (heuristic)", curve_cells(plan)}};
}

std::string flatness_text(const AllocationPlan& plan) {
  std::vector<std::string> widths;
  for (const auto& within : plan.within)
    widths.push_back(fmt::format("a width of {} comes within {:.0f} %", within.width, 100 * within.share));
  return fmt::format("How flat the bound is: {} of the best.", fmt::join(widths, ", "));
}

std::string allocation_text(const AllocationPlan& plan, size_t columns) {
  const std::vector<StudyFit>& fits = plan.request.fits;
  const std::string fitted =
      fits.empty() ? "" : tables_text(fit_tables(fits), columns) + aligned({{fit_text(fits[0])}}, columns);
  return allocation_headline(plan) + "\n" + tables_text(allocation_tables(plan), columns) + "\n" +
         aligned({{flatness_text(plan)}}, columns) + fitted;
}

}  // namespace headroom::experiments
