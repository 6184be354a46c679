#include "experiments/studies/pages/verdict_change.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "experiments/studies/pages/headline.h"

namespace headroom::experiments {
namespace {

/// Where the number that decides stands.
std::string distance(const Verdict& v) {
  if (std::isnan(v.margin)) return "";
  if (std::isinf(v.margin)) return "computed, not sampled: more seeds change nothing";
  const double errors = std::abs(v.margin);
  const std::string far = errors < 10 ? fmt::format("{:.1f}", errors) : fmt::format("{:.0f}", errors);
  return fmt::format("{} standard errors {} the threshold", far, v.margin < 0 ? "short of" : "beyond");
}

std::string seeds(const Verdict& v) {
  if (v.status != VerdictStatus::undecided || !is_about_seeds(v)) return "";
  return v.seeds_needed ? fmt::format("about {} seeds would decide", *v.seeds_needed)
                        : "no number of seeds up to 1,000 would decide";
}

}  // namespace

bool is_about_seeds(const Verdict& v) { return v.is_learned && v.is_tuned && !std::isnan(v.margin); }

std::string what_would_change(const StudyResults& r, const Verdict& v) {
  if (v.status == VerdictStatus::not_run) return "";
  if (!v.is_learned) return "longer training, or a model that learns the target";
  if (!v.is_tuned) return "learning rates tried for each x, on a grid with the best inside";
  std::vector<std::string> parts;
  const auto add = [&](const std::string& part) {
    if (!part.empty()) parts.push_back(part);
  };
  add(distance(v));
  add(seeds(v));
  if (v.has_choice_at_edge) add("a wider grid: a value that was chosen stands at its end");
  if (is_pilot(r) && source(v.claim) == ClaimSource::paper) add("the paper’s own set-up: this profile is smaller");
  else if (!r.deviations.empty() && source(v.claim) == ClaimSource::paper)
    add("the paper’s own settings: some differ here (above)");
  return fmt::format("{}", fmt::join(parts, "; "));
}

}  // namespace headroom::experiments
