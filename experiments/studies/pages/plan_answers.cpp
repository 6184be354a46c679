#include "experiments/studies/pages/plan_answers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <vector>

#include "experiments/output/number.h"
#include "experiments/studies/claims/case.h"

namespace headroom::experiments {
namespace {

const std::string plan_ending = ": the plan";
constexpr double alike_factor = 1.1;  // what the claims on errors of synthetic targets count as no difference

/// The plan at one x against the best of the equal ones.
struct Duel {
  double x = 0;
  ConfidenceInterval ratio;  ///< of the plan's metric to theirs
};

bool can_be_compared(const Point& p) {
  return p.values.size() > 1 &&
         std::all_of(p.values.begin(), p.values.end(), [](const auto& entry) { return entry.second > 0; });
}

std::vector<Curve> equal_ones(const StudyResults& r, const std::string& name) {
  std::vector<Curve> curves;
  for (const std::string& series : series_names(r))
    if (series.starts_with(name + ": equal")) curves.push_back(curve(r, series));
  return curves;
}

/// How many ratios of a plan to an equal rival the study has.
size_t comparisons_of(const StudyResults& r) {
  size_t count = 0;
  for (const std::string& series : series_names(r)) {
    if (!series.ends_with(plan_ending)) continue;
    const Curve plan = curve(r, series);
    for (const Curve& rival : equal_ones(r, series.substr(0, series.size() - plan_ending.size())))
      count += std::count_if(plan.points.begin(), plan.points.end(),
                             [&](const Point& p) { return rival.at(p.x) != nullptr; });
  }
  return count;
}

std::vector<Duel> duels(const StudyResults& r, const std::string& name, size_t comparisons) {
  const std::vector<Curve> rivals = equal_ones(r, name);
  const Case c{r, ClaimConfig{}, curve(r, name + plan_ending), last_part(r.report.x_key)};
  std::vector<Duel> out;
  for (const Point& p : c.curve.points) {
    std::vector<const Point*> others;
    for (const Curve& rival : rivals)
      if (const Point* other = rival.at(p.x); other && can_be_compared(*other)) others.push_back(other);
    if (others.empty() || !can_be_compared(p)) continue;
    out.push_back({p.x, c.ratio("ratio", p, c.best(others), comparisons)});
  }
  return out;
}

/// "at width = 64, 80 (0.71× [0.60, 0.85] at 80)": with the ratio that is farthest from 1.
std::string where(const std::vector<Duel>& some, const std::string& axis) {
  std::vector<std::string> xs;
  for (const Duel& d : some) xs.push_back(exact(d.x));
  const Duel& farthest = *std::max_element(some.begin(), some.end(), [](const Duel& a, const Duel& b) {
    return std::abs(std::log(a.ratio.value)) < std::abs(std::log(b.ratio.value));
  });
  return fmt::format("at {} = {} ({}{})", axis, fmt::join(xs, ", "), in_brackets(farthest.ratio),
                     some.size() > 1 ? " at " + exact(farthest.x) : "");
}

std::string sentence(const StudyResults& r, const std::string& name, const std::vector<Duel>& all,
                     bool larger_is_better) {
  const auto standing = [&](const Duel& d) {
    if (d.ratio.low > 1 / alike_factor && d.ratio.high < alike_factor) return "within 10 %";
    const bool is_below = d.ratio.high < 1;
    if (!is_below && !(d.ratio.low > 1)) return "not told apart";
    return is_below != larger_is_better ? "better" : "worse";
  };
  std::vector<std::string> parts;
  for (const std::string how : {"better", "worse", "within 10 %", "not told apart"}) {
    std::vector<Duel> some;
    std::copy_if(all.begin(), all.end(), std::back_inserter(some), [&](const Duel& d) { return standing(d) == how; });
    if (!some.empty()) parts.push_back(how + " " + where(some, last_part(r.report.x_key)));
  }
  return fmt::format("{}: beside the best equal heads of as many parameters, the plan’s are {}.", name,
                     fmt::join(parts, ", "));
}

}  // namespace

std::vector<std::string> plan_answers(const StudyResults& r) {
  std::vector<std::string> answers;
  if (count_trials(r.trials) < r.planned) return answers;
  const size_t comparisons = comparisons_of(r);
  for (const std::string& series : series_names(r)) {
    if (!series.ends_with(plan_ending)) continue;
    const std::string name = series.substr(0, series.size() - plan_ending.size());
    if (const std::vector<Duel> all = duels(r, name, comparisons); !all.empty())
      answers.push_back(sentence(r, name, all, curve(r, series).larger_is_better));
  }
  return answers;
}

}  // namespace headroom::experiments
