#include "experiments/claims/case.h"

#include <fmt/format.h>

#include <cmath>

#include "experiments/claims/number.h"

namespace headroom::experiments {

PairedTest Case::larger(const Point& a, const Point& b) const {
  std::vector<double> left, right;
  for (const auto& [seed, value] : a.values) {
    const auto other = b.values.find(seed);
    if (other == b.values.end()) continue;
    left.push_back(claim.log_error ? std::log(value) : value);
    right.push_back(claim.log_error ? std::log(other->second) : other->second);
  }
  if (!claim.deterministic || left.empty()) return paired_test(left, right);
  // Nothing was sampled: any difference is real.
  const double difference = mean(left) - mean(right);
  return {static_cast<int>(left.size()), difference, difference > 0 ? 0.0 : difference < 0 ? 1.0 : 0.5};
}

std::string Case::at(const Point& p) const { return fmt::format("{} = {}", axis, exact(p.x)); }

Curve curve_in_range(const StudyResults& results, const std::string& series, const std::string& metric,
                     const ClaimConfig& claim) {
  Curve all = curve(results, series, metric);
  std::erase_if(all.points,
                [&](const Point& p) { return (claim.from && p.x < *claim.from) || (claim.to && p.x > *claim.to); });
  return all;
}

void not_run(Verdict& verdict, const std::string& reason) {
  verdict.status = VerdictStatus::not_run;
  verdict.sentence = "Not judged: " + reason + ".";
}

void too_few_seeds(const Case& c, Verdict& verdict, size_t seeds) {
  verdict.status = VerdictStatus::undecided;
  verdict.sentence =
      fmt::format("Too few seeds to judge: {} in common, at least {} are needed. ", seeds, c.wanted_seeds()) +
      verdict.sentence;
}

}  // namespace headroom::experiments
