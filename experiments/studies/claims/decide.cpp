#include "experiments/studies/claims/decide.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "experiments/output/number.h"

namespace headroom::experiments {
namespace {

/// Holm's step at which the first hypothesis was kept: what the largest p-value would have to be below.
double next_step(const std::vector<double>& adjusted, double significance) {
  const auto rejected = std::count_if(adjusted.begin(), adjusted.end(), [&](double p) { return p <= significance; });
  return significance / static_cast<double>(std::max<int64_t>(1, std::ssize(adjusted) - rejected));
}

std::string in_words(const Verdict& v, const Hypothesis& hypothesis, size_t family) {
  const std::string holm = family > 1 ? fmt::format(", by Holm over {} claims", family) : "";
  switch (v.status) {
    case VerdictStatus::pass:
      return fmt::format("That holds (p = {}{}).", probability(v.p), holm);
    case VerdictStatus::fail:
      return fmt::format("It does not hold (p = {}{}).", probability(v.p_against), holm);
    default:
      break;
  }
  if (hypothesis.seeds().value_or(2) < 2) return "Fewer than two seeds in common decide nothing.";
  if (hypothesis.has_no_spread())
    return "Undecided: it has the same value at every seed, and without a spread there is no test. Values that are "
           "computed, not sampled, are compared as they are with deterministic = true.";
  return fmt::format("Undecided: p = {} for a pass, {} for a fail{}; {}.", probability(v.p), probability(v.p_against),
                     holm,
                     v.seeds_needed ? fmt::format("about {} seeds would decide", *v.seeds_needed)
                                    : "1,000 seeds of this spread would not decide");
}

/// Of claims that exclude each other none passes where both would.
void exclude(std::vector<Verdict>& verdicts) {
  std::vector<std::pair<Verdict*, Verdict*>> both;
  for (Verdict& a : verdicts)
    for (Verdict& b : verdicts)
      if (&a != &b && a.status == VerdictStatus::pass && b.status == VerdictStatus::pass && !b.claim.id.empty() &&
          std::count(a.claim.excludes.begin(), a.claim.excludes.end(), b.claim.id) > 0)
        both.emplace_back(&a, &b);
  const auto leave_open = [](Verdict& v, const std::string& why) {
    v.status = VerdictStatus::undecided;
    v.margin = std::numeric_limits<double>::quiet_NaN();  // no number of seeds decides between the two
    v.sentence = fmt::format("{} Left open all the same: {}.", v.comparison(), why);
    v.notes.push_back(why);
  };
  for (const auto& [a, b] : both) {
    leave_open(*a, fmt::format("it excludes the claim \"{}\", which the data support as well", b->claim.id));
    leave_open(*b, fmt::format("the claim \"{}\" excludes it, which the data support as well", claim_name(a->claim)));
  }
}

}  // namespace

void decide(std::vector<Verdict>& verdicts, const std::vector<std::optional<Hypothesis>>& hypotheses, double level) {
  std::vector<size_t> sampled;
  std::vector<double> p, p_against;
  for (size_t i = 0; i < verdicts.size(); ++i) {
    if (!hypotheses[i]) continue;
    verdicts[i].margin = hypotheses[i]->margin();
    const Hypothesis::Evidence evidence = hypotheses[i]->evidence();
    if (!hypotheses[i]->seeds()) {
      verdicts[i].status = evidence.p == 0           ? VerdictStatus::pass
                           : evidence.p_against == 0 ? VerdictStatus::fail
                                                     : VerdictStatus::undecided;
      verdicts[i].sentence += verdicts[i].status == VerdictStatus::pass   ? " That holds."
                              : verdicts[i].status == VerdictStatus::fail ? " It does not hold."
                                                                          : " That cannot be told.";
      continue;
    }
    sampled.push_back(i);
    p.push_back(evidence.p);
    p_against.push_back(evidence.p_against);
  }
  const std::vector<double> adjusted = holm(p), adjusted_against = holm(p_against);
  for (size_t j = 0; j < sampled.size(); ++j) {
    Verdict& v = verdicts[sampled[j]];
    const Hypothesis& hypothesis = *hypotheses[sampled[j]];
    const double significance = v.claim.significance * level;
    v.p = adjusted[j];
    v.p_against = adjusted_against[j];
    v.status = v.p <= significance           ? VerdictStatus::pass
               : v.p_against <= significance ? VerdictStatus::fail
                                             : VerdictStatus::undecided;
    if (v.status == VerdictStatus::undecided)
      v.seeds_needed =
          seeds_to_decide(hypothesis, next_step(adjusted, significance), next_step(adjusted_against, significance));
    if (v.status == VerdictStatus::undecided && hypothesis.has_no_spread()) v.summary += ", the same at every seed";
    else v.summary += fmt::format(", p = {}", probability(v.status == VerdictStatus::fail ? v.p_against : v.p));
    if (v.status == VerdictStatus::undecided && !hypothesis.has_no_spread())
      v.summary += fmt::format(" for a pass, {} for a fail", probability(v.p_against));
    v.sentence += " " + in_words(v, hypothesis, sampled.size());
    if (!hypothesis.has_parts())
      v.notes.emplace_back("the interval is over seeds alone: it does not hold the error of the finite test data");
  }
  exclude(verdicts);
}

}  // namespace headroom::experiments
