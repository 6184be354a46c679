// Kinds of claim about values themselves: band, flat, less_than, bound_holds, within_percent, worse_than_best.
#include <cmath>

#include "experiments/studies/analysis/curve.h"
#include "tests/experiments/studies/claims/verdict.h"
#include "tests/support/catch.h"

namespace headroom::experiments {
namespace {

using namespace testing;

/// Two series of the same x: "narrow" has 1.0 and 1.2, "few" is worse by 0.2 and 0.3.
StudyResults two_series() {
  StudyResults r = study({1, 2}, {{1.0, 1.1, 0.9}, {1.2, 1.3, 1.1}});
  r.series = {"narrow", "few"};
  for (TrialRecord& t : r.trials) t.series = "narrow", t.id += "-narrow";
  for (const auto& [x, values] :
       std::vector<std::pair<double, std::vector<double>>>{{1, {1.2, 1.29, 1.11}}, {2, {1.5, 1.61, 1.41}}})
    for (size_t s = 0; s < values.size(); ++s) {
      r.trials.push_back(testing::trial(x, static_cast<int64_t>(s), values[s]));
      r.trials.back().series = "few";
    }
  r.planned = std::ssize(r.trials);
  return r;
}

ClaimConfig less(const std::string& series, const std::string& than) {
  ClaimConfig c = claim("less_than", {.than = {.series = than}});
  c.series = series;
  return c;
}

ClaimConfig within(double percent) {
  ClaimConfig c = claim("within_percent", {.percent = percent});
  return c;
}

}  // namespace

TEST_CASE("all means in a band") {
  ClaimConfig c = claim("band", {.limits = {.high = 2}});
  const Verdict v = verdict(u_curve(), c);
  CHECK(v.status == VerdictStatus::pass);
  CHECK(v.measured == Approx(3.1 / 3));
  CHECK(v.intervals.at(1).high < 2);
  CHECK(says(v, "The mse ranges from 0.0102 ["));
  CHECK(says(v, "; the claim needs ≤ 2."));
  c.keys.limits.high = 1.2;  // 1, 1.2 and 0.9 at the first x
  CHECK(verdict(u_curve(), c).status == VerdictStatus::undecided);
  c.keys.limits.high = 0.1;
  c.from = 16;
  CHECK(verdict(u_curve(), c).status == VerdictStatus::fail);
  CHECK(says(verdict(u_curve(), claim("band")), "band needs low, high or both"));
}

TEST_CASE("all computed values in a band") {
  ClaimConfig c = claim("band");
  c.deterministic = true;
  c.keys.limits.high = 1.2;
  CHECK(verdict(u_curve(), c).status == VerdictStatus::pass);
  CHECK(verdict(u_curve(), c).measured == 1.2);
  c.keys.limits.low = 0.01;  // one seed has 0.0095
  CHECK(verdict(u_curve(), c).status == VerdictStatus::fail);
  CHECK(says(verdict(u_curve(), c),
             "The mse ranges from 0.00950 with 4 heads to 1.20 with 1 head; the claim needs ≥ 0.01, ≤ 1.2."));
  c.to = 2;
  CHECK(verdict(u_curve(), c).status == VerdictStatus::pass);
}

TEST_CASE("a flat curve is one whose every two values are shown to be near") {
  const StudyResults r = study({1, 2, 4}, {{1.00, 1.02, 0.99}, {1.01, 1.02, 0.98}, {1.02, 1.03, 1.00}});
  ClaimConfig c = claim("flat", {.factor = 1.1});
  const Verdict v = verdict(r, c);
  CHECK(v.status == VerdictStatus::pass);
  CHECK(number(v, "largest_x") == 4);
  CHECK(v.intervals.at(0).method == "t on logs, Bonferroni over 6");
  CHECK(verdict(u_curve(), c).status == VerdictStatus::fail);
  // Not significantly different, and not shown to be alike.
  CHECK(verdict(study({1, 2}, {{1, 1.3, 0.9}, {1.2, 1, 1.1}}), c).status == VerdictStatus::undecided);
  CHECK(says(verdict(r, claim("flat")), "flat needs a factor above 1"));
  c.deterministic = true;
  c.keys.factor = 127;
  CHECK(verdict(u_curve(), c).status == VerdictStatus::pass);  // 1.2 / 0.0095 = 126.3
  c.keys.factor = 126;
  CHECK(verdict(u_curve(), c).status == VerdictStatus::fail);
}

TEST_CASE("one seed inside a band tells nothing, unless it is computed") {
  ClaimConfig c = claim("band", {.limits = {.high = 2}});
  CHECK(verdict(study({1, 2}, {{1}, {1}}), c).status == VerdictStatus::undecided);
  c.deterministic = true;
  CHECK(verdict(study({1, 2}, {{1}, {3}}), c).status == VerdictStatus::fail);
  CHECK(verdict(study({1, 2}, {{1}, {1}}), c).status == VerdictStatus::pass);
  CHECK(says(verdict(study({1, 2}, {{1}, {1}}), c), "The mse is 1.00 everywhere; the claim needs ≤ 2."));
}

TEST_CASE("one series is less than another at every x, paired by seed") {
  ClaimConfig differences = less("narrow", "few");
  differences.log_error = false;
  const Verdict v = verdict(two_series(), differences);
  CHECK(v.status == VerdictStatus::pass);
  CHECK(number(v, "pairs") == 2);
  CHECK(v.measured == Approx(1.0 / 1.2));
  // SciPy: ttest_rel([1.2, 1.29, 1.11], [1, 1.1, .9], alternative="greater") the larger of the two.
  CHECK(v.p == Approx(0.0004164064093487884).epsilon(1e-3));
  CHECK(verdict(two_series(), less("few", "narrow")).status == VerdictStatus::fail);
  ClaimConfig by = less("narrow", "few");
  by.keys.factor = 1.3;
  CHECK(verdict(two_series(), by).status == VerdictStatus::fail);
  CHECK(says(verdict(two_series(), by), " is 0.832× ["));
  CHECK(says(verdict(two_series(), by), "; the claim needs ≤ 0.769×."));
  by.keys.factor = 1.1;
  CHECK(verdict(two_series(), by).status == VerdictStatus::pass);
}

TEST_CASE("one x is less than another, one metric than another") {
  ClaimConfig c = claim("less_than", {.at = 4, .than = {.at = 2}});
  CHECK(verdict(u_curve(), c).status == VerdictStatus::pass);
  std::swap(*c.keys.at, *c.keys.than.at);
  CHECK(verdict(u_curve(), c).status == VerdictStatus::fail);
  c.keys.than.at = 3;
  CHECK(says(verdict(u_curve(), c), "there is no heads at which both were measured"));
  StudyResults r = u_curve();
  for (TrialRecord& t : r.trials) t.test["floor"] = t.test["mse"] * (0.9 + 0.001 * static_cast<double>(t.seed));
  ClaimConfig metrics = claim("less_than");
  metrics.metric = "floor";
  metrics.keys.than.metric = "mse";
  CHECK(verdict(r, metrics).status == VerdictStatus::pass);
}

TEST_CASE("a comparison with ties or one seed") {
  ClaimConfig c = claim("less_than", {.at = 1, .than = {.at = 2}});
  CHECK(verdict(study({1, 2}, {{1, 2}, {1, 2}}), c).status == VerdictStatus::undecided);
  CHECK(verdict(study({1, 2}, {{1, 2}, {1, 2}}), c).p == 1);
  CHECK(verdict(study({1, 2}, {{1}, {2}}), c).status == VerdictStatus::undecided);
  StudyResults r = study({1, 2}, {{1, 1}, {2, 2.5}});
  r.trials[0] = failed(r.trials[0]);
  CHECK(verdict(r, c).status == VerdictStatus::undecided);
}

TEST_CASE("a bound holds in every trial, or not") {
  StudyResults r = u_curve();
  for (TrialRecord& t : r.trials) t.test["bound"] = 2 * t.test["mse"];
  r.trials[0].test["bound"] = 1.25;  // against 1.0
  ClaimConfig c = claim("bound_holds", {.bound = "bound"});
  const Verdict v = verdict(r, c);
  CHECK(v.status == VerdictStatus::pass);
  CHECK(number(v, "trials") == 15);
  CHECK(v.measured == Approx(0.8));
  CHECK(number(v, "tightness_median") == Approx(0.5));
  r.trials[7].test["bound"] = 0.01;
  CHECK(verdict(r, c).status == VerdictStatus::fail);
  CHECK(says(verdict(r, c), "The bound is exceeded in 1 of 15 trials; mse reaches 1.10 of it at most ("));
  r.trials[7].test["bound"] = 2;
  r.trials[7].test["mse"] = INFINITY;  // above every finite bound
  CHECK(verdict(r, c).status == VerdictStatus::fail);
  r.trials[7].test["bound"] = INFINITY;  // which says nothing
  CHECK(verdict(r, c).status == VerdictStatus::pass);
  c.keys.bound = "other";
  CHECK(says(verdict(r, c), "no trial has both mse and other"));
}

TEST_CASE("a bound that is the overlay holds where the overlay has points") {
  StudyResults r = u_curve();
  ClaimConfig c = claim("bound_holds", {.bound = "overlay"});
  CHECK(says(verdict(r, c), "the series has no overlay"));
  r.report.overlays = {{"", "theory", {{1, 4.0}, {4, 0.5}}}};
  const Verdict v = verdict(r, c);
  CHECK(v.status == VerdictStatus::pass);
  CHECK(number(v, "trials") == 6);
  CHECK(v.measured == Approx(0.3));
  CHECK(v.notes == std::vector<std::string>{"9 trials lack a value or a bound and are not judged"});
  r.trials.back() = failed(r.trials.back());
  r.trials.front().test["mse"] = NAN;
  CHECK(number(verdict(r, c), "trials") == 5);
}

TEST_CASE("a value within a percentage of another metric's") {
  StudyResults r = study({1, 2}, {{1.01, 1.028}, {1.01, 1.012}});
  for (TrialRecord& t : r.trials) t.test["entropy_rate"] = 1;
  ClaimConfig c = within(2);
  c.keys.of = "entropy_rate";
  CHECK(verdict(r, c).status == VerdictStatus::undecided);
  c.deterministic = true;
  const Verdict v = verdict(r, c);
  CHECK(v.status == VerdictStatus::pass);
  CHECK(v.measured == Approx(1.9));
  CHECK(summary(v) == "1 head +1.90 % off 1.00");
  c.keys.percent = 1.5;
  CHECK(verdict(r, c).status == VerdictStatus::fail);
  c.keys.at = 2;
  CHECK(verdict(r, c).status == VerdictStatus::pass);
  c.keys.of = "missing";
  CHECK(says(verdict(r, c), "no test metric 'missing'"));
}

TEST_CASE("means are shown to be within a percentage") {
  const StudyResults r = study({1}, {{1.010, 1.012, 1.011}});
  ClaimConfig c = within(2);
  c.keys.value = 1.0;
  CHECK(verdict(r, c).status == VerdictStatus::pass);
  c.keys.value = -1.0;
  CHECK(verdict(r, c).status == VerdictStatus::fail);
  c.keys.value = 1.0;
  c.keys.percent = 0.5;
  CHECK(verdict(r, c).status == VerdictStatus::fail);
  c.keys.percent = 1.2;
  CHECK(verdict(r, c).status == VerdictStatus::undecided);
}

TEST_CASE("a value within a percentage of a number") {
  const StudyResults r = study({1, 2}, {{0.971}, {1.02}});
  ClaimConfig c = within(3);
  c.keys.value = 1.0;
  CHECK(verdict(r, c).status == VerdictStatus::undecided);
  c.deterministic = true;
  CHECK(verdict(r, c).status == VerdictStatus::pass);
  CHECK(verdict(r, c).measured == Approx(-2.9));
  c.keys.percent = 2.8;
  CHECK(verdict(r, c).status == VerdictStatus::fail);
  CHECK(says(verdict(r, within(1)), "needs of, value or reference"));
}

TEST_CASE("a curve within a percentage of the paper's column") {
  const PaperPath column = {"ngram-tradeoff",
                            "equal-width theory curve (H: objective, best integer split of H over M<=4 lags)"};
  ClaimConfig c = within(0.1);
  c.reference = column;
  c.deterministic = true;
  const Verdict v = verdict(study({8, 32, 3}, {{2.5743}, {0.6834}, {9}}), c);
  CHECK(v.status == VerdictStatus::pass);
  CHECK(number(v, "points") == 2);
  REQUIRE(v.beside.size() == 2);
  CHECK(v.beside[0].first.back() == "8");
  CHECK(v.beside[0].second == 2.5743);
  CHECK(paper_number(v.beside[1].first) == 0.6835);
}

TEST_CASE("a claim beside the paper's number") {
  ClaimConfig c = claim("optimum_at", {.among = {4}});
  c.reference = {"ngram-tradeoff", "optimum", "M"};
  const Verdict v = verdict(u_curve(), c);
  CHECK(v.paper == 4.0);
  CHECK(v.measured == 4);
  REQUIRE(v.beside.size() == 1);
  CHECK(v.beside[0].first == c.reference);
  c.reference.clear();
  c.paper_number = 32;
  CHECK(verdict(u_curve(), c).paper == 32.0);
  CHECK(verdict(u_curve(), c).beside.empty());
}

TEST_CASE("the end of a curve is worse than the best") {
  ClaimConfig c = claim("worse_than_best", {.at = 16, .factor = 10});
  CHECK(verdict(u_curve(), c).status == VerdictStatus::pass);
  CHECK(verdict(u_curve(), c).measured == Approx(std::cbrt(20 * 20 * 0.21 / 0.011)));
  c.keys.factor = 40;
  CHECK(verdict(u_curve(), c).status == VerdictStatus::fail);
  c.keys.factor = 1;
  c.keys.at = 4;
  CHECK(verdict(u_curve(), c).status == VerdictStatus::fail);
  CHECK(number(verdict(u_curve(), c), "best_x") == 8);
}

TEST_CASE("claims about a metric of which more is better") {
  StudyResults r = study({1, 2, 4}, {{0.50, 0.52, 0.51}, {0.80, 0.82, 0.81}, {0.60, 0.61, 0.62}});
  for (TrialRecord& t : r.trials) t.test["masked_accuracy"] = t.validation["masked_accuracy"] = t.test["mse"];
  const auto about = [&](ClaimConfig c) {
    c.metric = "masked_accuracy";
    return verdict(r, c);
  };
  const Verdict interior = about(claim("interior_optimum"));
  CHECK(interior.status == VerdictStatus::pass);
  CHECK(interior.measured == 2);
  CHECK(says(interior, "With 1 head the masked_accuracy is -37.0 % ["));
  ClaimConfig c = claim("interior_optimum", {.factor = 1.25});
  CHECK(about(c).status == VerdictStatus::pass);
  c.keys.factor = 1.5;
  CHECK(about(c).status == VerdictStatus::fail);
  c = claim("optimum_at", {.among = {2}});
  CHECK(about(c).status == VerdictStatus::pass);
  CHECK(says(about(c), " that with 2 heads, the best of the others and of those claimed"));
  c = claim("within_factor", {.at = 4, .factor = 1.5});
  CHECK(about(c).status == VerdictStatus::pass);
  c.keys.at = 1;
  CHECK(about(c).status == VerdictStatus::fail);
  c = claim("worse_than_best", {.at = 1, .factor = 1.5});
  CHECK(about(c).status == VerdictStatus::pass);
}

TEST_CASE("a choice is made on the report's metric, in its direction") {
  StudyResults r = study({}, {});
  for (double lr : {0.01, 0.02}) {
    TrialRecord t = testing::trial(1, 0, lr);  // mse prefers 0.01, accuracy 0.02
    t.id += std::to_string(lr);
    t.choice = {{"train.optimizer.lr", lr}};
    t.validation["accuracy"] = t.test["accuracy"] = 10 * lr;
    t.flops = 100 * lr;
    r.trials.push_back(t);
  }
  CHECK(curve(r, "", "accuracy").points.at(0).best == 0.1);
  CHECK(curve(r, "", "flops").points.at(0).mean == 1);
  r.report.y_metric = "accuracy";
  CHECK(curve(r, "").points.at(0).choice.at("train.optimizer.lr") == 0.02);
  CHECK(curve(r, "").larger_is_better);
  CHECK(curve(r, "", "mse").points.at(0).mean == 0.02);
}

}  // namespace headroom::experiments
