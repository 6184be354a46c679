#include "experiments/claims/kinds/argmin_in.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "experiments/claims/case.h"
#include "experiments/claims/claim_scope.h"
#include "experiments/claims/number.h"
#include "experiments/toml/reader.h"

namespace headroom::experiments {

void ArgminIn::read(Reader& in, const ClaimScope& scope) {
  among = in.numbers("among", "the x that may be the best");
  for (const double x : among) scope.check_x(in, "among", x);
  if (std::set<double>(among.begin(), among.end()).size() < among.size()) in.complain("among", "names one x twice");
}

std::optional<MissingKey> ArgminIn::missing(const ClaimConfig&) const {
  if (among.empty()) return MissingKey{"among", "the x that may be the best"};
  return std::nullopt;
}

std::string ArgminIn::details() const {
  if (among.empty()) return "";
  std::vector<std::string> texts;
  for (double x : among) texts.push_back(exact(x));
  return fmt::format(" [{}]", fmt::join(texts, ", "));
}

void ArgminIn::judge(const Case& c, Verdict& verdict) const {
  std::vector<Point> claimed, others;
  for (const Point& p : c.curve.points) {
    const bool is_claimed = std::count(among.begin(), among.end(), p.x) > 0;
    (is_claimed ? claimed : others).push_back(p);
  }
  for (double x : among)
    if (!c.curve.at(x)) return not_run(verdict, fmt::format("{} = {} is no point of the sweep", c.axis, exact(x)));
  const Point& inside = *c.best(claimed.begin(), claimed.end());
  const Point& outside = others.empty() ? inside : *c.best(others.begin(), others.end());
  const bool holds = !c.better(outside, inside);
  const Point &best = holds ? inside : outside, &rival = holds ? outside : inside;
  const PairedTest test = c.worse(rival, best);
  const double ratio = c.value(rival) / c.value(best);
  verdict.numbers = {{"argmin", best.x}, {"claimed_x", inside.x}, {"rival_x", rival.x},
                     {"ratio", ratio},   {"p", test.p},           {"seeds", test.pairs}};
  verdict.measured = best.x;
  verdict.p = test.p;
  verdict.summary = holds ? exact(best.x) : fmt::format("{}, p = {}", exact(best.x), probability(test.p));
  const std::string against =
      others.empty()
          ? "there is no other value to compare with"
          : fmt::format("{} has {} times its {}, a difference that is {} (p = {} over {} seeds)", c.at(rival),
                        rounded(ratio), c.noun(), c.significant(test.p) ? "significant" : "not significant",
                        probability(test.p), test.pairs);
  verdict.sentence = fmt::format("The {} is at {}, {} {}.", c.best_noun(), c.at(best),
                                 holds ? "as claimed;" : "not where it was claimed:", against);
  verdict.status = holds ? VerdictStatus::pass : VerdictStatus::fail;
  if (c.too_few(best) || c.too_few(rival)) too_few_seeds(c, verdict, test.pairs);
}

}  // namespace headroom::experiments
