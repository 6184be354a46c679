#include "experiments/tools/plan/answer.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include "experiments/output/number.h"
#include "experiments/output/wrap.h"

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

std::string option_text(const HeadChoice::Option& option) {
  return heads_text(static_cast<int64_t>(option.heads), static_cast<int64_t>(option.v_dim));
}

/// "8, 16": the numbers of heads with that standing.
std::string options_with(const HeadChoice& choice, Standing standing) {
  std::vector<std::string> heads;
  for (const HeadChoice::Option& option : choice.options)
    if (option.standing == standing) heads.push_back(exact(option.heads));
  return fmt::format("{}", fmt::join(heads, ", "));
}

/// The option whose mean is nearest to the best one's; null where there is none.
const HeadChoice::Option* next_option(const HeadChoice& choice) {
  const HeadChoice::Option* next = nullptr;
  for (const HeadChoice::Option& option : choice.options)
    if (option.standing != Standing::best && (!next || option.ratio < next->ratio)) next = &option;
  return next;
}

std::string series_text(const HeadChoice& choice) { return choice.series.empty() ? "" : ", " + choice.series; }

/// How many characters a line may have.
size_t lines_of(int columns) {
  constexpr int usual = 100, narrowest = 40;
  return static_cast<size_t>(columns > 0 ? std::max(columns, narrowest) : usual);
}

/// What models that were trained at this width on sums of earlier tokens found, and how `heads` stood there.
std::string trained_at(int64_t width, int64_t heads) {
  std::vector<const HeadChoice*> curves;
  std::map<Standing, int> counts;
  for (const MeasuredChoice& one : shipped_choices()) {
    if (one.task != "linear-functional" || one.choice.width != width) continue;
    curves.push_back(&one.choice);
    for (const HeadChoice::Option& option : one.choice.options)
      if (static_cast<int64_t>(option.heads) == heads) ++counts[option.standing];
  }
  if (curves.empty()) return "No model of this width was trained; plan --for TASK says what was found at others";
  std::vector<std::string> standings;
  for (const auto& [count, words] : {std::pair(counts[Standing::worse], "worse"),
                                     {counts[Standing::best] + counts[Standing::as_good], "as good"},
                                     {counts[Standing::open], "undecided"}})
    if (count > 0) standings.push_back(fmt::format("{} on {}", words, count));
  return fmt::format(
      "Models of this width that were trained on sums of earlier tokens were {}{}: plan --for linear-functional "
      "--width {} has them",
      best_on(curves), standings.empty() ? "" : fmt::format("; {} heads were {}", heads, fmt::join(standings, ", ")),
      width);
}

}  // namespace

std::string heads_text(int64_t heads, int64_t width) {
  return fmt::format("{} {} of width {}", heads, heads == 1 ? "head" : "heads", width);
}

std::string best_on(const std::vector<const HeadChoice*>& curves) {
  std::string out;
  for (const auto& [heads, count] : counts_of_best(curves))
    out += out.empty() ? fmt::format("best with {} {} on {} of {} {}", exact(heads), heads == 1 ? "head" : "heads",
                                     count, curves.size(), curves.size() == 1 ? "curve" : "curves")
                       : fmt::format(", {} on {}", exact(heads), count);
  return out;
}

PlanAnswer answer_of(const AllocationPlan& plan, const std::vector<MeasuredChoice>& measured) {
  const AllocationRequest& request = plan.request;
  for (const MeasuredChoice& one : measured)
    if (one.choice.width == request.width) return answer_of(one);
  const tasks::Allocation& best = plan.paper.best;
  const int64_t heads = heads_of(best.groups);
  const EqualHeads* next = next_equal(plan);
  return {.advice = advice_on(best.groups),
          .because = reason_of(request, best.groups),
          .sure = fmt::format("the paper's bound, a heuristic, suggests it: {} with these heads, {} without any. The "
                              "decay: {}. {}",
                              rounded(best.bound), rounded(plan.nothing), request.decay.source,
                              trained_at(request.width, heads)),
          .costs = cost_of(static_cast<double>(heads), static_cast<double>(request.width)),
          .next = next && best.bound > 0
                      ? fmt::format("{}: the bound is {} % larger", heads_text(next->heads, next->head_dim),
                                    rounded(100 * (next->paper / best.bound - 1), 2))
                      : "none"};
}

PlanAnswer answer_of(const MeasuredChoice& measured) {
  const HeadChoice& choice = measured.choice;
  const HeadChoice::Option& best = choice.best();
  PlanAnswer answer;
  answer.advice = fmt::format("use {} (measured at width {})", option_text(best), choice.width);
  answer.because = fmt::format(
      "it had the best {} on validation of the {} numbers of heads that {} · {} trained{}; {}, positions {}, {} "
      "steps",
      measured.metric, choice.options.size(), choice.study, choice.profile, series_text(choice), measured.task,
      choice.positions, choice.steps);
  answer.sure = fmt::format("{} seeds", choice.seeds);
  const std::string percent = fmt::format("{:.0f} %", 100 * (choice.margin - 1));
  for (const auto& [standing, words] : {std::pair(Standing::as_good, "as good (at most " + percent + " worse)"),
                                        {Standing::worse, "at least " + percent + " worse"},
                                        {Standing::open, "not decided"}})
    if (const std::string heads = options_with(choice, standing); !heads.empty())
      answer.sure += fmt::format("; {}: {}", words, heads);
  answer.costs = cost_of(best.heads, static_cast<double>(choice.width));
  const HeadChoice::Option* next = next_option(choice);
  answer.next = "none";
  if (next) {
    answer.next = fmt::format("{}: {} times its error on the test data", option_text(*next), rounded(next->ratio));
    if (std::isfinite(next->low) && std::isfinite(next->high))
      answer.next += fmt::format(" (interval {} to {}, corrected for the {} comparisons)", rounded(next->low),
                                 rounded(next->high), choice.options.size() - 1);
  }
  return answer;
}

std::string measured_text(const std::vector<MeasuredChoice>& measured, int columns, bool as_table) {
  constexpr size_t in_full = 2;
  if (measured.size() <= in_full && !as_table) {
    std::vector<std::string> answers;
    for (const MeasuredChoice& one : measured) answers.push_back(answer_text(answer_of(one), columns));
    return fmt::format("{}", fmt::join(answers, "\n"));
  }
  Cells rows{{"positions", "use", "as good", "open", "worse", "D", "steps", "seeds", "measured by"}};
  for (const MeasuredChoice& one : measured) {
    const HeadChoice& choice = one.choice;
    rows.push_back({positions_in_words(choice.positions),
                    fmt::format("{} × {}", exact(choice.best().heads), exact(choice.best().v_dim)),
                    options_with(choice, Standing::as_good), options_with(choice, Standing::open),
                    options_with(choice, Standing::worse), std::to_string(choice.width), std::to_string(choice.steps),
                    std::to_string(choice.seeds), choice.study + series_text(choice)});
  }
  const std::string above = fmt::format(
      "{} curve{} of small models; use: heads × width, the best on validation; as good, open, worse: other numbers of "
      "heads, by {:.0f} % of the {}",
      measured.size(), measured.size() == 1 ? "" : "s", 100 * (measured[0].choice.margin - 1), measured[0].metric);
  return wrapped(above, lines_of(columns)) + "\n\n" + aligned(rows, lines_of(columns));
}

std::vector<std::pair<const char*, std::string>> answer_rows(const PlanAnswer& answer) {
  std::vector<std::pair<const char*, std::string>> rows{
      {"because", answer.because}, {"how sure", answer.sure}, {"costs", answer.costs}, {"next best", answer.next}};
  std::erase_if(rows, [](const auto& row) { return row.second.empty(); });
  return rows;
}

std::string answer_text(const PlanAnswer& answer, int columns) {
  const size_t wide = lines_of(columns);
  std::string out = wrapped(answer.advice, wide, 4) + "\n";
  for (const auto& [label, text] : answer_rows(answer))
    out += wrapped(fmt::format("  {:<11}{}", label, text), wide, 13) + "\n";
  return out;
}

}  // namespace headroom::experiments
