#include "experiments/tools/plan/answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "experiments/output/number.h"
#include "experiments/output/wrap.h"

namespace headroom::experiments {
namespace {

using Groups = std::vector<tasks::LagGroup>;

/// "lag 3", "lags 3–5".
std::string lags_text(int64_t first, int64_t last) {
  return first == last ? fmt::format("lag {}", first) : fmt::format("lags {}–{}", first, last);
}

bool are_alike(const Groups& groups, bool heads) {
  return std::all_of(groups.begin(), groups.end(), [&](const tasks::LagGroup& group) {
    return group.head_dim == groups[0].head_dim && (!heads || group.heads == groups[0].heads);
  });
}

int64_t heads_of(const Groups& groups) {
  return std::accumulate(groups.begin(), groups.end(), int64_t{0},
                         [](int64_t sum, const tasks::LagGroup& group) { return sum + group.heads; });
}

/// "8 for lag 1, 5 each for lags 2–4", with widths where they differ; the first few.
std::string shares_text(const Groups& groups) {
  constexpr int most_shares = 6;
  const bool has_widths = !are_alike(groups, false);
  std::string text;
  int shares = 0;
  for (size_t i = 0; i < groups.size(); ++shares) {
    if (shares == most_shares) return text + ", …";
    size_t j = i + 1;
    while (j < groups.size() && groups[j].heads == groups[i].heads && groups[j].head_dim == groups[i].head_dim &&
           groups[j].lag == groups[j - 1].lag + 1)
      ++j;
    text += fmt::format("{}{}{}{} for {}", text.empty() ? "" : ", ", groups[i].heads,
                        has_widths ? fmt::format(" of width {}", groups[i].head_dim) : "", j > i + 1 ? " each" : "",
                        lags_text(groups[i].lag, groups[j - 1].lag));
    i = j;
  }
  return text;
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

/// What a number of heads costs beside parameters, which are the same for every split.
std::string cost_of(double heads, double width) {
  return fmt::format(
      "the attention weights of {} {}, {}·T² a layer for T tokens; parameters (4·{}²) do not depend on "
      "the split",
      exact(heads), heads == 1 ? "head" : "heads", exact(heads), exact(width));
}

/// The best equal heads of the plan's curve that are not those of the best.
const EqualHeads* next_equal(const AllocationPlan& plan) {
  const Groups& groups = plan.paper.best.groups;
  const int64_t taken = groups.empty() || !are_alike(groups, false) ? 0 : groups[0].head_dim;
  const EqualHeads* next = taken != 0 ? nullptr : &plan.best_equal;
  if (next) return next;
  for (const EqualHeads& equal : plan.equal)
    if (equal.head_dim != taken && equal.heads > 0 && (!next || equal.paper < next->paper)) next = &equal;
  return next;
}

/// "4 × 8": heads and their width.
std::string split_text(const HeadChoice::Option& option) {
  return fmt::format("{} × {}", exact(option.heads), exact(option.v_dim));
}

std::string options_with(const MeasuredChoice& measured, HeadChoice::Option::Standing standing) {
  std::string text;
  for (const HeadChoice::Option& option : measured.choice.options)
    if (option.standing == standing) text += (text.empty() ? "" : ", ") + exact(option.heads);
  return text;
}

/// The option whose mean is nearest to the best one's; null where there is none.
const HeadChoice::Option* next_option(const HeadChoice& choice) {
  const HeadChoice::Option* next = nullptr;
  for (const HeadChoice::Option& option : choice.options)
    if (option.standing != HeadChoice::Option::Standing::best && (!next || option.ratio < next->ratio)) next = &option;
  return next;
}

std::string series_text(const HeadChoice& choice) { return choice.series.empty() ? "" : ", " + choice.series; }

/// How many characters a line may have.
size_t lines_of(int columns) {
  constexpr int usual = 100, narrowest = 40;
  return static_cast<size_t>(columns > 0 ? std::max(columns, narrowest) : usual);
}

std::string answer_line(const char* label, const std::string& text, size_t columns) {
  constexpr size_t indent = 13;
  return wrapped(fmt::format("  {:<{}}", label, indent - 2) + text, columns, indent) + "\n";
}

/// What models that were trained at this width on sums of earlier tokens found, and how `heads` stood there.
std::string trained_at(int64_t width, int64_t heads) {
  std::vector<const HeadChoice*> curves;
  int worse = 0, good = 0, open = 0;
  for (const MeasuredChoice& one : shipped_choices()) {
    if (one.task != "linear-functional" || one.choice.width != width) continue;
    curves.push_back(&one.choice);
    for (const HeadChoice::Option& option : one.choice.options) {
      if (static_cast<int64_t>(option.heads) != heads) continue;
      using Standing = HeadChoice::Option::Standing;
      ++(option.standing == Standing::worse ? worse : option.standing == Standing::open ? open : good);
    }
  }
  if (curves.empty()) return "No model of this width was trained; plan --for TASK says what was found at others";
  std::string out =
      fmt::format("Models of this width that were trained on sums of earlier tokens were {}", best_on(curves));
  std::vector<std::string> stands;
  for (const auto& [count, words] :
       {std::pair(worse, "worse"), std::pair(good, "as good"), std::pair(open, "undecided")})
    if (count > 0) stands.push_back(fmt::format("{} on {}", words, count));
  if (!stands.empty()) out += fmt::format("; {} heads were {}", heads, fmt::join(stands, ", "));
  return out + fmt::format(": plan --for linear-functional --width {} has them", width);
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
  PlanAnswer answer;
  answer.advice = advice_on(best.groups);
  answer.because = reason_of(request, best.groups);
  answer.sure =
      fmt::format("the paper's bound, a heuristic, suggests it: {} with these heads, {} without any. The decay: {}. {}",
                  rounded(best.bound), rounded(plan.nothing), request.decay.source,
                  trained_at(request.width, heads_of(best.groups)));
  answer.costs = cost_of(static_cast<double>(heads_of(best.groups)), static_cast<double>(request.width));
  const EqualHeads* next = next_equal(plan);
  answer.next = next && best.bound > 0
                    ? fmt::format("{}: the bound is {} % larger", heads_text(next->heads, next->head_dim),
                                  rounded(100 * (next->paper / best.bound - 1), 2))
                    : "none";
  return answer;
}

PlanAnswer answer_of(const MeasuredChoice& measured) {
  using Standing = HeadChoice::Option::Standing;
  const HeadChoice& choice = measured.choice;
  const HeadChoice::Option& best = choice.best();
  PlanAnswer answer;
  answer.advice =
      fmt::format("use {} (measured at width {})",
                  heads_text(static_cast<int64_t>(best.heads), static_cast<int64_t>(best.v_dim)), choice.width);
  answer.because = fmt::format(
      "it had the best {} on validation of the {} numbers of heads that {} · {} trained{}; {}, positions {}, {} "
      "steps",
      measured.metric, choice.options.size(), choice.study, choice.profile, series_text(choice), measured.task,
      choice.positions, choice.steps);
  answer.sure = fmt::format("{} seeds", choice.seeds);
  const double percent = 100 * (choice.margin - 1);
  if (const std::string good = options_with(measured, Standing::as_good); !good.empty())
    answer.sure += fmt::format("; as good (at most {:.0f} % worse): {}", percent, good);
  if (const std::string worse = options_with(measured, Standing::worse); !worse.empty())
    answer.sure += fmt::format("; at least {:.0f} % worse: {}", percent, worse);
  if (const std::string open = options_with(measured, Standing::open); !open.empty())
    answer.sure += fmt::format("; not decided: {}", open);
  answer.costs = cost_of(best.heads, static_cast<double>(choice.width));
  const HeadChoice::Option* next = next_option(choice);
  answer.next = "none";
  if (next) {
    answer.next = fmt::format("{}: {} times its error on the test data",
                              heads_text(static_cast<int64_t>(next->heads), static_cast<int64_t>(next->v_dim)),
                              rounded(next->ratio));
    if (std::isfinite(next->low) && std::isfinite(next->high))
      answer.next += fmt::format(" (interval {} to {}, corrected for the {} comparisons)", rounded(next->low),
                                 rounded(next->high), choice.options.size() - 1);
  }
  return answer;
}

std::string measured_text(const std::vector<MeasuredChoice>& measured, int columns, bool as_table) {
  using Standing = HeadChoice::Option::Standing;
  constexpr size_t in_full = 2;
  std::string out;
  if (measured.size() <= in_full && !as_table) {
    for (const MeasuredChoice& one : measured) out += (out.empty() ? "" : "\n") + answer_text(answer_of(one), columns);
    return out;
  }
  std::vector<std::vector<std::string>> rows{
      {"positions", "use", "as good", "open", "worse", "D", "steps", "seeds", "measured by"}};
  const HeadChoice& first = measured[0].choice;
  for (const MeasuredChoice& one : measured) {
    const HeadChoice& choice = one.choice;
    rows.push_back(
        {positions_in_words(choice.positions), split_text(choice.best()), options_with(one, Standing::as_good),
         options_with(one, Standing::open), options_with(one, Standing::worse), fmt::format("{}", choice.width),
         fmt::format("{}", choice.steps), fmt::format("{}", choice.seeds), choice.study + series_text(choice)});
  }
  out = wrapped(fmt::format("{} of small models; use: heads × width, the best on validation; as good, open, "
                            "worse: other numbers of heads, by {:.0f} % of the {}",
                            measured.size() == 1 ? "1 curve" : fmt::format("{} curves", measured.size()),
                            100 * (first.margin - 1), measured[0].metric),
                lines_of(columns));
  return out + "\n\n" + aligned(rows, lines_of(columns));
}

std::vector<std::pair<const char*, std::string>> answer_rows(const PlanAnswer& answer) {
  std::vector<std::pair<const char*, std::string>> rows{
      {"because", answer.because}, {"how sure", answer.sure}, {"costs", answer.costs}, {"next best", answer.next}};
  rows.erase(std::remove_if(rows.begin(), rows.end(), [](const auto& row) { return row.second.empty(); }), rows.end());
  return rows;
}

std::string answer_text(const PlanAnswer& answer, int columns) {
  const size_t wide = lines_of(columns);
  std::string out = wrapped(answer.advice, wide, 4) + "\n";
  for (const auto& [label, text] : answer_rows(answer)) out += answer_line(label, text, wide);
  return out;
}

}  // namespace headroom::experiments
