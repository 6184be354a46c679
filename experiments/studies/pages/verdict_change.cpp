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
  if (std::isinf(v.margin)) return "computed, not sampled: no number of seeds";
  const double errors = std::abs(v.margin);
  const std::string far = errors < 10 ? fmt::format("{:.1f}", errors) : fmt::format("{:.0f}", errors);
  return fmt::format("the estimate is {} of its standard errors {} the threshold", far,
                     v.margin < 0 ? "short of" : "beyond");
}

std::string seeds(const Verdict& v) {
  if (v.status != VerdictStatus::undecided || !is_about_seeds(v)) return "";
  return v.seeds_needed ? fmt::format("about {} seeds would decide", *v.seeds_needed)
                        : "no number of seeds up to 1,000 would decide";
}

}  // namespace

bool has_choice_at_edge(const Verdict& v) {
  return std::any_of(v.notes.begin(), v.notes.end(), [](const std::string& note) {
    return note.find("an end of the values tried") != std::string::npos;
  });
}

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
  if (has_choice_at_edge(v)) add("a wider grid, as a chosen value stands at its end");
  if (is_pilot(r) && source(v.claim) == ClaimSource::paper) add("the paper’s set-up, which this profile is not");
  else if (!r.deviations.empty() && source(v.claim) == ClaimSource::paper)
    add("the settings that are not the paper’s (above)");
  return fmt::format("{}", fmt::join(parts, "; "));
}

}  // namespace headroom::experiments
