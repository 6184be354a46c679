#include "experiments/tools/plan/answer.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

#include "experiments/output/number.h"
#include "experiments/output/wrap.h"
#include "experiments/studies/analysis/head_advice.h"

namespace headroom::experiments {
namespace {

using Groups = std::vector<tasks::LagGroup>;
using Standing = HeadChoice::Option::Standing;

bool are_alike(const Groups& groups, bool heads) {
  return std::all_of(groups.begin(), groups.end(), [&](const tasks::LagGroup& group) {
    return group.head_dim == groups[0].head_dim && (!heads || group.heads == groups[0].heads);
  });
}

int64_t heads_of(const Groups& groups) {
  return std::accumulate(groups.begin(), groups.end(), int64_t{0},
                         [](int64_t sum, const tasks::LagGroup& group) { return sum + group.heads; });
}

/// "8 for lag 1, 5 each for lags 2–4", with widths where they differ.
std::string shares_text(const Groups& groups) {
  const bool has_widths = !are_alike(groups, false);
  const auto say = [&](const tasks::LagGroup& group, size_t lags, const std::string& which) {
    return fmt::format("{}{}{} for {}", group.heads, has_widths ? fmt::format(" of width {}", group.head_dim) : "",
                       lags > 1 ? " each" : "", which);
  };
  return runs_text(groups, say, ", …");
}

std::string advice_on(const Groups& groups) {
  if (groups.empty()) return "use no heads: no lag is worth one";
  const int64_t heads = heads_of(groups);
  if (!are_alike(groups, false)) return fmt::format("use {} heads of unequal width: {}", heads, shares_text(groups));
  const std::string shares = are_alike(groups, true) ? fmt::format("{} {} × {}", groups.size(),
                                                                   groups.size() == 1 ? "lag" : "lags", groups[0].heads)
                                                     : shares_text(groups);
  return fmt::format("use {} ({})", heads_text(heads, groups[0].head_dim), shares);
}

std::string reason_of(const AllocationRequest& request, const Groups& groups) {
  if (groups.empty()) return "every head costs more, by the bound, than the lag that it would fetch is worth";
  const int64_t width = groups[0].head_dim;
  if (!are_alike(groups, false))
    return "the lags need heads of different width: one as wide as the rank of its lag's map loses nothing";
  if (width >= request.token_dim)
    return fmt::format("heads as wide as the token ({}) lose nothing of what they fetch; width {} holds {} of them{}",
                       request.token_dim, request.width, request.width / width,
                       request.width % width > 0 ? fmt::format(" and leaves {} over", request.width % width) : "");
  return fmt::format(
      "width {} holds too few heads of the token's width ({}) for {} lags; narrower ones lose {:.0f} % of "
      "a lag each, and there are more of them",
      request.width, request.token_dim, request.decay.norms.size(),
      100 * std::sqrt(1 - static_cast<double>(width) / static_cast<double>(request.token_dim)));
}

/// What a number of heads costs, apart from parameters, which are the same for every split.
std::string cost_of(double heads, double width) {
  return fmt::format(
      "the attention weights of {} {}, {}·T² a layer for T tokens; parameters (4·{}²) do not depend on "
      "the split",
      exact(heads), heads == 1 ? "head" : "heads", exact(heads), exact(width));
}

/// The best equal heads of the plan's curve that are not those of the best.
const EqualHeads* next_equal(const AllocationPlan& plan) {
  const Groups& groups = plan.paper.best.groups;
  if (groups.empty() || !are_alike(groups, false)) return &plan.best_equal;
  const EqualHeads* next = nullptr;
  for (const EqualHeads& equal : plan.equal)
    if (equal.head_dim != groups[0].head_dim && equal.heads > 0 && (!next || equal.paper < next->paper)) next = &equal;
  return next;
}

/// "8, 16": the numbers of heads with that standing.
std::string options_with(const HeadChoice& choice, Standing standing) {
  std::vector<std::string> heads;
  for (const HeadChoice::Option& option : choice.options)
    if (option.standing == standing) heads.push_back(exact(option.heads));
  return fmt::format("{}", fmt::join(heads, ", "));
}

std::string series_text(const HeadChoice& choice) { return choice.series.empty() ? "" : ", " + choice.series; }

/// How many characters a line may have.
size_t lines_of(size_t columns) {
  constexpr size_t usual = 80, narrowest = 40;
  return columns > 0 ? std::max(columns, narrowest) : usual;
}

std::string percent_text(const HeadChoice& choice) { return fmt::format("{:.0f} %", 100 * (choice.margin - 1)); }

/// What the bound says of heads: "32 heads of width 8 (4 lags × 8): 0.683 with them, 4.00 without any".
std::string bound_text(const AllocationPlan& plan) {
  const tasks::Allocation& best = plan.paper.best;
  return fmt::format("the paper's, a heuristic, says {}: {} with them, {} without any",
                     advice_on(best.groups).substr(std::string("use ").size()), rounded(best.bound),
                     rounded(plan.nothing));
}

/// What models of this width did best with that were trained on other sums of earlier tokens.
std::string other_sums(int64_t width) {
  std::vector<const HeadChoice*> curves;
  for (const HeadChoice& one : shipped_choices())
    if (one.kind == "linear-functional") curves.push_back(&one);
  const HeadAdvice advice = head_advice(curves, width);
  if (advice.heads == 0) return "No model of this width was trained on a sum";
  return fmt::format(
      "No model was trained on this sum; on others at this width {} did best (plan --for linear-functional)",
      heads_text(advice.heads, advice.head_dim));
}

/// "; under learned positions 64 heads of width 1", of the schemes with an answer of their own.
std::string schemes_text(const std::vector<const HeadChoice*>& task, const HeadAdvice& joint) {
  std::string out;
  for (const std::string& scheme : schemes_of(joint.curves))
    if (const HeadAdvice own = head_advice(task, joint.width, scheme); own.heads != joint.heads)
      out += fmt::format("; under {} positions {}", positions_in_words(scheme), heads_text(own.heads, own.head_dim));
  return out;
}

/// How the number stands on its curves, and on a single one how every other does.
std::string standing_text(const HeadAdvice& advice) {
  const HeadChoice& first = *advice.curves[0];
  std::set<std::string> studies;
  size_t seeds = first.seeds;
  for (const HeadChoice* c : advice.curves) {
    studies.insert(c->study + " · " + c->profile);
    seeds = std::min(seeds, c->seeds);
  }
  std::string out =
      fmt::format("{} of {}, {} seeds or more: within {} of every other number on {}, worse on {}, open on {}",
                  counted(std::ssize(advice.curves), "curve"), fmt::join(studies, ", "), seeds, percent_text(first),
                  advice.good, advice.worse, advice.open);
  if (advice.curves.size() > 1) return out;
  for (const auto& [standing, words] : {std::pair(Standing::as_good, std::string("as good")),
                                        {Standing::worse, "at least " + percent_text(first) + " worse"},
                                        {Standing::open, "not decided"}})
    if (const std::string heads = options_with(first, standing); !heads.empty())
      out += fmt::format("; {}: {}", words, heads);
  return out;
}

}  // namespace

std::string heads_text(int64_t heads, int64_t width) {
  return fmt::format("{} {} of width {}", heads, heads == 1 ? "head" : "heads", width);
}

std::optional<PlanAnswer> measured_answer(const std::vector<const HeadChoice*>& task, int64_t width,
                                          const std::string& positions) {
  const HeadAdvice advice = head_advice(task, width, positions);
  if (advice.heads == 0) return std::nullopt;
  const HeadChoice& first = *advice.curves[0];
  PlanAnswer answer{
      .advice = fmt::format("use {} (measured at width {})", heads_text(advice.heads, advice.head_dim), width),
      .basis = "measured",
      .heads = advice.heads,
      .head_dim = advice.head_dim};
  answer.because =
      advice.curves.size() == 1
          ? fmt::format("it is the best on validation of {} numbers of heads: {}{}, {} positions, {} steps",
                        first.options.size(), first.study, series_text(first), positions_in_words(first.positions),
                        first.steps)
          : fmt::format(
                "the fewest curves speak against it ({} of {}); its error is {} times the best of its curve on average",
                advice.worse + advice.unlearned, advice.curves.size(), rounded(advice.times));
  answer.sure = standing_text(advice);
  if (positions.empty()) answer.sure += schemes_text(task, advice);
  answer.costs = cost_of(static_cast<double>(advice.heads), static_cast<double>(width));
  const std::vector<HeadAdvice> ranked = ranked_heads(advice.curves);
  answer.next =
      ranked.size() < 2
          ? "none"
          : fmt::format("{}: {} times the error of the best{}", heads_text(ranked[1].heads, ranked[1].head_dim),
                        rounded(ranked[1].times), ranked[1].curves.size() > 1 ? " on average" : "");
  return answer;
}

std::vector<HeadChoice> curves_behind(const AllocationPlan& plan, const std::vector<HeadChoice>& measured) {
  const AllocationRequest& request = plan.request;
  HeadAdvice advice = head_advice(curves_of(measured), request.width);
  if (advice.heads == 0 && request.ranks.empty())
    advice = head_advice(curves_of_sum(request.width, request.token_dim, request.decay.norms), request.width);
  std::vector<HeadChoice> curves;
  if (advice.heads > 0)
    for (const HeadChoice* curve : advice.curves) curves.push_back(*curve);
  return curves;
}

PlanAnswer answer_of(const AllocationPlan& plan, const std::vector<HeadChoice>& measured) {
  const AllocationRequest& request = plan.request;
  const std::vector<HeadChoice> curves = curves_behind(plan, measured);
  if (auto trained = measured_answer(curves_of(curves), request.width); trained) {
    trained->bound = bound_text(plan);
    return *trained;
  }
  const tasks::Allocation& best = plan.paper.best;
  const int64_t heads = heads_of(best.groups);
  const EqualHeads* next = next_equal(plan);
  return {
      .advice = advice_on(best.groups),
      .basis = "heuristic",
      .heads = heads,
      .head_dim = heads > 0 && are_alike(best.groups, false) ? best.groups[0].head_dim : 0,
      .because = reason_of(request, best.groups),
      .sure = fmt::format("the paper's bound, a heuristic, suggests it: {} with these heads, {} without any. The "
                          "decay: {}. {}",
                          rounded(best.bound), rounded(plan.nothing), request.decay.source, other_sums(request.width)),
      .costs = cost_of(static_cast<double>(heads), static_cast<double>(request.width)),
      .next = next && best.bound > 0
                  ? fmt::format("{}: the bound is {} % larger", heads_text(next->heads, next->head_dim),
                                rounded(100 * (next->paper / best.bound - 1), 2))
                  : "none"};
}

std::string measured_text(const std::vector<HeadChoice>& measured, size_t columns) {
  Cells rows{{"positions", "use", "as good", "open", "worse", "D", "steps", "seeds", "measured by"}};
  for (const HeadChoice& choice : measured) {
    rows.push_back({positions_in_words(choice.positions),
                    fmt::format("{} × {}", exact(choice.best().heads), exact(choice.best().v_dim)),
                    options_with(choice, Standing::as_good), options_with(choice, Standing::open),
                    options_with(choice, Standing::worse), std::to_string(choice.width), std::to_string(choice.steps),
                    std::to_string(choice.seeds), choice.study + series_text(choice)});
  }
  const std::string above = fmt::format(
      "{} curve{} of small models; use: heads × width, the best on validation; as good, open, worse: other numbers of "
      "heads, by {:.0f} % of the {}",
      measured.size(), measured.size() == 1 ? "" : "s", 100 * (measured[0].margin - 1), measured[0].metric);
  return wrapped(above, lines_of(columns)) + "\n\n" + aligned(rows, lines_of(columns));
}

std::vector<std::pair<const char*, std::string>> answer_rows(const PlanAnswer& answer) {
  std::vector<std::pair<const char*, std::string>> rows{{"because", answer.because},
                                                        {"how sure", answer.sure},
                                                        {"the bound", answer.bound},
                                                        {"costs", answer.costs},
                                                        {"next best", answer.next}};
  std::erase_if(rows, [](const auto& row) { return row.second.empty(); });
  return rows;
}

nlohmann::ordered_json answer_json(const PlanAnswer& answer) {
  nlohmann::ordered_json out{{"advice", answer.advice}, {"basis", answer.basis}};
  if (answer.heads > 0) out["heads"] = answer.heads;
  if (answer.head_dim > 0) out["head_dim"] = answer.head_dim;
  for (const auto& [label, text] : answer_rows(answer)) {
    std::string key = label;
    std::replace(key.begin(), key.end(), ' ', '_');
    out[key] = text;
  }
  return out;
}

std::string answer_text(const PlanAnswer& answer, size_t columns) {
  const size_t wide = lines_of(columns);
  std::string out = wrapped(answer.advice, wide, 4) + "\n";
  for (const auto& [label, text] : answer_rows(answer))
    out += wrapped(fmt::format("  {:<11}{}", label, text), wide, 13) + "\n";
  return out;
}

}  // namespace headroom::experiments
