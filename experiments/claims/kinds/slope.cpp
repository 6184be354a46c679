#include "experiments/claims/kinds/slope.h"

#include <fmt/format.h>

#include <cmath>
#include <set>

#include "experiments/claims/case.h"
#include "experiments/claims/claim_scope.h"
#include "experiments/claims/number.h"
#include "experiments/toml/reader.h"

namespace headroom::experiments {

void Slope::read(Reader& in, const ClaimScope& scope) {
  axes = in.word("axes", axes, {"log-log", "semi-log", "linear"}, "logarithms of x and y, of x alone, of none");
  limits = read_limits(in);
  scope.check_count(in, 3, "a slope");
  if (const auto x = scope.x(); axes != "linear" && !x.empty() && !(x.front() > 0))
    in.complain("axes",
                fmt::format("{} = {} has no logarithm: \"linear\" takes none", scope.x_name(), exact(x.front())));
}

std::optional<MissingKey> Slope::missing(const ClaimConfig&) const {
  if (!limits.any()) return MissingKey{"low", "low, high or both: the interval that is claimed"};
  return std::nullopt;
}

std::string Slope::details() const { return " " + interval(limits); }

void Slope::judge(const Case& c, Verdict& verdict) const {
  const bool log_x = axes != "linear", log_y = axes == "log-log";
  std::vector<double> x, y;
  std::set<double> distinct;
  for (const Point& p : c.curve.points) {
    if (log_x && !(p.x > 0)) return not_run(verdict, fmt::format("{} has no logarithm", c.at(p)));
    for (const auto& [seed, value] : p.values) {
      if (log_y && !(value > 0))
        return not_run(verdict,
                       fmt::format("at {} seed {} has {}, which has no logarithm", c.at(p), seed, rounded(value)));
      x.push_back(log_x ? std::log(p.x) : p.x);
      y.push_back(log_y ? std::log(value) : value);
    }
    distinct.insert(p.x);
  }
  if (distinct.size() < 3) return not_run(verdict, fmt::format("a slope needs 3 values of {}", c.axis));
  const Line line = fit_line(x, y, c.claim.significance);
  const double low = limits.low.value_or(-INFINITY), high = limits.high.value_or(INFINITY);
  verdict.numbers = {{"slope", line.slope}, {"low", line.low}, {"high", line.high}, {"points", line.points}};
  verdict.measured = line.slope;
  verdict.summary = fmt::format("{} [{}, {}]", rounded(line.slope), rounded(line.low), rounded(line.high));
  const bool inside = line.low >= low && line.high <= high;
  const bool centre = line.slope >= low && line.slope <= high;
  verdict.sentence =
      fmt::format("The slope of {} on {} ({}) is {}, its {:g} % interval [{}, {}]; within [{}, {}] was claimed.",
                  c.curve.metric, c.axis, axes, rounded(line.slope), 100 * (1 - c.claim.significance),
                  rounded(line.low), rounded(line.high), rounded(low), rounded(high));
  verdict.status = inside ? VerdictStatus::pass : centre ? VerdictStatus::undecided : VerdictStatus::fail;
  if (verdict.status == VerdictStatus::undecided)
    verdict.sentence = "The interval is too wide to tell. " + verdict.sentence;
}

}  // namespace headroom::experiments
