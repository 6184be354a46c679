#include <nlohmann/json.hpp>

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

}  // namespace

Json allocation_json(const AllocationPlan& plan) {
  const AllocationRequest& request = plan.request;
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
  out["terms"] = {{"projection", {{"value", plan.terms.projection}, {"status", "theorem"}}},
                  {"extraction", {{"value", plan.terms.extraction}, {"status", "heuristic"}}},
                  {"truncation", {{"value", plan.terms.truncation}, {"status", "theorem"}}},
                  {"concentration", {{"value", plan.terms.concentration}, {"status", "theorem"}}},
                  {"exact_projection", {{"value", plan.terms.exact_projection}, {"status", "theorem"}}},
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

}  // namespace headroom::experiments
